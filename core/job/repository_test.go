package job_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/sdk"
)

func TestJob_LivesFromQueueToEnd(t *testing.T) {
	b := newBoard(t, job.Options{})
	ctx := core.WithCaller(t.Context(), core.Caller{Subject: "alice", Scopes: []core.Scope{core.ScopeRun}, Namespaces: []string{"users/**"}, Label: "bot"})
	made, err := b.Enqueue(ctx, &job.Request{UserID: "alice", Type: job.Reflection, Namespace: "users/alice", Payload: []byte(`{"focus":"x"}`)})
	must(t, err)
	if j := b.wantStatus(made.ID, job.StatusQueued, ""); j.StartedAt != nil || j.Attempts != 0 || string(j.Payload) != `{"focus":"x"}` {
		t.Errorf("queued: %+v", j)
	}
	b.clock.Advance(3 * time.Second)
	c := b.claims("h")
	if c.ID != made.ID || string(c.Payload) != `{"focus":"x"}` || c.Held.Epoch != 1 {
		t.Fatalf("claimed %+v", c)
	}
	if diff := cmp.Diff(core.CallerOf(ctx), c.Caller); diff != "" {
		t.Errorf("the caller (-who asked +claimed):\n%s", diff)
	}
	if j := b.wantStatus(made.ID, job.StatusRunning, ""); j.StartedAt == nil || j.Attempts != 1 || j.Lease.Holder != "h" {
		t.Errorf("running: %+v", j)
	}
	must(t, b.Progress(ctx, c.Held, 0.25))
	if j := b.get(made.ID); j.Progress != 0.25 {
		t.Errorf("progress is %v", j.Progress)
	}
	b.clock.Advance(2 * time.Second)
	must(t, b.Complete(ctx, c.Held, &job.Outcome{Result: []byte(`{"n":1}`)}))
	j := b.wantStatus(made.ID, job.StatusCompleted, job.Done)
	if string(j.Result) != `{"n":1}` || j.Progress != 1 || j.CompletedAt == nil || j.CompletedAt.Sub(*j.StartedAt) != 2*time.Second || j.Lease != nil {
		t.Errorf("completed: %+v", j)
	}
	var entries []journal.Entry
	must(t, b.store.View(ctx, func(r core.Reader) error {
		return journal.Read(r, job.Stream("alice"), func(e journal.Entry) error { entries = append(entries, e); return nil })
	}))
	want := []string{
		`agent.job.queued alice {"job_id":"ID","type":"reflection","attempt":0,"latency_ms":0,"namespace":"users/alice"}`,
		`agent.job.started  {"job_id":"ID","type":"reflection","attempt":1,"latency_ms":3000,"epoch":1}`,
		`agent.job.completed alice {"job_id":"ID","type":"reflection","attempt":1,"latency_ms":2000,"reason":"done"}`,
	}
	for i, e := range entries {
		if got := strings.ReplaceAll(fmt.Sprintf("%s %s %s", e.Type, e.Subject, e.Data), made.ID, "ID"); i >= len(want) || got != want[i] {
			t.Errorf("event %d is %s", i, got)
		}
	}
	b.sound()
}

func TestEnqueue_FiftyAtOnceMakeOneJob(t *testing.T) {
	for name, s := range map[string]core.Store{"mem": newBoard(t, job.Options{}).store, "pebble": onDisk(t)} {
		t.Run(name, func(t *testing.T) {
			r, err := job.New(&journal.Writer{Store: s}, &core.SystemIDs{}, job.Options{})
			must(t, err)
			results := make([]*job.Enqueued, 50)
			var all sync.WaitGroup
			for i := range results {
				all.Go(func() {
					var err error
					if results[i], err = r.Enqueue(t.Context(), &job.Request{UserID: "u", Type: job.Reflection, Namespace: "n"}); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			made := 0
			for _, e := range results {
				if e.Made {
					made++
				}
				if e.ID != results[0].ID {
					t.Errorf("job %s, and %s", e.ID, results[0].ID)
				}
			}
			if made != 1 {
				t.Errorf("%d jobs were made", made)
			}
			jobs, _, err := r.List(t.Context(), job.ListFilter{UserID: "u"})
			if err != nil || len(jobs) != 1 {
				t.Errorf("%d jobs are listed, %v", len(jobs), err)
			}
		})
	}
}

func TestEnqueue_IdempotencyKeyOutlivesTheJob(t *testing.T) {
	b := newBoard(t, job.Options{})
	q := &job.Request{UserID: "u", Type: job.Workflow, Namespace: "n", IdempotencyKey: "k"}
	first, err := b.Enqueue(t.Context(), q)
	must(t, err)
	c := b.claims("h")
	must(t, b.Complete(t.Context(), c.Held, &job.Outcome{}))
	again, err := b.Enqueue(t.Context(), q)
	must(t, err)
	if again.Made || again.ID != first.ID || again.Status != job.StatusCompleted {
		t.Errorf("the second request came to %+v", again)
	}
	q.IdempotencyKey = "other"
	if other, err := b.Enqueue(t.Context(), q); err != nil || !other.Made {
		t.Errorf("another key: %+v, %v", other, err)
	}
}

func TestEnqueue_RefusesWhatNoJobCanBe(t *testing.T) {
	b := newBoard(t, job.Options{})
	good := job.Request{UserID: "u", Type: job.Reflection, Namespace: "n"}
	for field, change := range map[string]func(*job.Request){
		"user_id":         func(q *job.Request) { q.UserID = "a/b" },
		"user_id ":        func(q *job.Request) { q.UserID = "." },
		"namespace":       func(q *job.Request) { q.Namespace = "a//b" },
		"type":            func(q *job.Request) { q.Type = "other" },
		"idempotency_key": func(q *job.Request) { q.Type = job.Workflow },
		"payload":         func(q *job.Request) { q.Payload = []byte("{") },
		"payload ":        func(q *job.Request) { q.Payload = make([]byte, job.MaxPayloadBytes+1) },
		"memories":        func(q *job.Request) { q.Memories = []string{"a b"} },
	} {
		q := good
		change(&q)
		_, err := b.Enqueue(t.Context(), &q)
		if sdk.CodeOf(err) != sdk.Invalid || sdk.AsError(err).Details["field"] != strings.TrimSpace(field) {
			t.Errorf("%s: %v, %v", field, err, sdk.AsError(err).Details)
		}
	}
	if len(dump(t, b.store)) > 0 {
		t.Error("something was written")
	}
}

func TestEnqueue_QueuesAreBounded(t *testing.T) {
	b := newBoard(t, job.Options{QueuePerUser: 3, QueueTotal: 5, WorkflowsPerUser: 1})
	for i := range 3 {
		b.add("u", job.Reflection, fmt.Sprint("n", i))
	}
	full := func(user string, typ job.Type, code sdk.Code, limit int) {
		t.Helper()
		_, err := b.Enqueue(t.Context(), &job.Request{UserID: user, Type: typ, Namespace: "more", IdempotencyKey: "more"})
		wantReason(t, err, job.QueueFull)
		if e := sdk.AsError(err); e.Code != code || e.Details["limit"] != limit {
			t.Errorf("%s of %s: %v %v", typ, user, e, e.Details)
		}
	}
	full("u", job.Dream, sdk.Exhausted, 3)
	b.claims("h") // what runs doesn't wait
	b.add("u", job.Dream, "more")
	b.add("v", job.Workflow, "n")
	full("v", job.Workflow, sdk.Exhausted, 1)
	b.add("w", job.Workflow, "n")
	full("x", job.Reflection, sdk.Unavailable, 5)
	b.sound()
}

func TestEnqueue_ForcedJobsAreLimitedByASlidingWindow(t *testing.T) {
	b := newBoard(t, job.Options{})
	force := func() (*job.Enqueued, error) {
		return b.Enqueue(t.Context(), &job.Request{UserID: "u", Type: job.Reflection, Namespace: "n", Forced: true})
	}
	for range 3 {
		made, err := force()
		must(t, err)
		if again, err := force(); err != nil || again.Made || again.ID != made.ID { // which isn't counted
			t.Fatalf("while one is active: %+v, %v", again, err)
		}
		must(t, b.Complete(t.Context(), b.claims("h").Held, &job.Outcome{}))
		b.clock.Advance(10*time.Minute + time.Nanosecond)
	}
	retryAfter := func(want int) {
		t.Helper()
		_, err := force()
		wantReason(t, err, job.RateLimited)
		if got := sdk.AsError(err).Details["retry_after_seconds"]; got != want {
			t.Errorf("retry after %v s, want %d", got, want)
		}
	}
	retryAfter(1800) // a nanosecond less than half an hour and 3 ns are rounded up
	b.clock.Advance(-5 * time.Hour)
	retryAfter(3600) // a clock that went back makes nobody wait for longer
	b.clock.Advance(5*time.Hour + 30*time.Minute)
	made, err := force()
	must(t, err)
	if !made.Made || !made.Forced {
		t.Errorf("after the window: %+v", made)
	}
	if _, err := b.Enqueue(t.Context(), &job.Request{UserID: "other", Type: job.Reflection, Namespace: "n", Forced: true}); err != nil {
		t.Errorf("another user: %v", err)
	}
	b.sound()
}

func TestEnqueue_InAnotherPartsTransaction(t *testing.T) {
	b := newBoard(t, job.Options{})
	failure := fmt.Errorf("the observation fails")
	var told []string
	w := &journal.Writer{Store: b.store, Clock: b.clock, Subscribers: []journal.Subscriber{func(stream string, e journal.Entry) { told = append(told, stream+" "+e.Type) }}}
	enqueue := func(after error) error {
		return w.Update(t.Context(), func(tx *journal.Tx) error {
			if _, err := b.EnqueueTx(t.Context(), tx, &job.Request{UserID: "u", Type: job.Reflection, Namespace: "n"}); err != nil {
				return err
			}
			return after
		})
	}
	if err := enqueue(failure); err != failure {
		t.Fatal(err)
	}
	if len(dump(t, b.store)) > 0 || len(told) > 0 {
		t.Error("a transaction that failed left something")
	}
	must(t, enqueue(nil))
	if !slices.Equal(told, []string{"job/u agent.job.queued"}) {
		t.Errorf("told %v", told)
	}
	// A plain transaction can do it too.
	must(t, b.store.Update(t.Context(), func(tx core.Tx) error {
		_, err := b.EnqueueTx(t.Context(), tx, &job.Request{UserID: "u", Type: job.Dream, Namespace: "n"})
		return err
	}))
	if got := b.events("u"); !slices.Equal(got, []string{"queued", "queued"}) {
		t.Errorf("events %v", got)
	}
	b.sound()
}

func TestPostpone_MovesOnlyWhatHasNotBegun(t *testing.T) {
	b := newBoard(t, job.Options{})
	start := b.clock.Now()
	made, err := b.Enqueue(t.Context(), &job.Request{UserID: "u", Type: job.Reflection, Namespace: "n", NotBefore: start.Add(time.Minute)})
	must(t, err)
	postpone := func(until time.Duration) (moved bool) {
		t.Helper()
		must(t, b.store.Update(t.Context(), func(tx core.Tx) (err error) {
			moved, err = b.PostponeTx(t.Context(), tx, made.ID, start.Add(until), start.Add(3*time.Minute))
			return err
		}))
		return moved
	}
	for _, step := range []struct {
		until time.Duration
		moved bool
		at    time.Duration
	}{{2 * time.Minute, true, 2 * time.Minute}, {time.Minute, false, 2 * time.Minute}, {time.Hour, true, 3 * time.Minute}, {time.Hour, false, 3 * time.Minute}} {
		if moved := postpone(step.until); moved != step.moved || !b.get(made.ID).NotBefore.Equal(start.Add(step.at)) {
			t.Errorf("to %s: moved %t, %v", step.until, moved, b.get(made.ID).NotBefore)
		}
		b.sound()
	}
	if b.claim("h") != nil {
		t.Error("it may run before its time")
	}
	b.clock.Advance(3 * time.Minute)
	c := b.claims("h")
	_, err = b.Snooze(t.Context(), c.Held, time.Second, &job.Outcome{Reason: "later"})
	must(t, err)
	if postpone(10 * time.Minute) {
		t.Error("a job that has begun was postponed")
	}
}

func TestClaim_OneOfAUserAtATimeInOrder(t *testing.T) {
	b := newBoard(t, job.Options{})
	first, second := b.add("u", job.Dream, "n"), b.add("u", job.Reflection, "n")
	other := b.add("v", job.Reflection, "n")
	c := b.claims("h")
	if c.ID != first {
		t.Errorf("claimed %s first", c.ID)
	}
	if next := b.claims("h"); next.ID != other {
		t.Errorf("claimed %s second", next.ID)
	}
	if next := b.claim("h"); next != nil {
		t.Errorf("claimed %s while another of the user runs", next.ID)
	}
	must(t, b.Complete(t.Context(), c.Held, &job.Outcome{}))
	if next := b.claims("h"); next.ID != second {
		t.Errorf("claimed %s last", next.ID)
	}
	b.sound()
}

func TestClaim_SystemHasAQueueForEachNamespace(t *testing.T) {
	b := newBoard(t, job.Options{})
	one, _, two := b.add(job.SystemUser, job.Dream, "a"), b.add(job.SystemUser, job.Reembed, "a"), b.add(job.SystemUser, job.Dream, "b")
	got := []string{b.claims("h").ID, b.claims("h").ID}
	if !slices.Equal(got, []string{one, two}) || b.claim("h") != nil {
		t.Errorf("claimed %v", got)
	}
	b.sound()
}

func TestClaim_ServesWhoWaitedLongest(t *testing.T) {
	b := newBoard(t, job.Options{})
	for i := range 4 {
		for _, user := range []string{"a", "b", "c"} {
			b.add(user, job.Reflection, fmt.Sprint("n/", i))
		}
	}
	var order strings.Builder
	for range 12 {
		c := b.claims("h")
		order.WriteString(c.UserID)
		must(t, b.Complete(t.Context(), c.Held, &job.Outcome{}))
		b.clock.Advance(-time.Hour) // no order follows from the clock
	}
	if order.String() != "abcabcabcabc" {
		t.Errorf("served %s", order.String())
	}
	// Who comes back isn't new.
	b.add("a", job.Reflection, "n")
	b.add("b", job.Reflection, "n")
	b.add("b", job.Dream, "n")
	b.add("d", job.Dream, "n")
	order.Reset()
	for range 4 {
		c := b.claims("h")
		order.WriteString(c.UserID)
		must(t, b.Complete(t.Context(), c.Held, &job.Outcome{}))
	}
	if order.String() != "dabb" {
		t.Errorf("served %s", order.String())
	}
	b.sound()
}

func TestClaim_WaitingJobBlocksItsUserOnly(t *testing.T) {
	b := newBoard(t, job.Options{})
	slow, behind, other := b.add("u", job.Dream, "n"), b.add("u", job.Reflection, "n"), b.add("v", job.Dream, "n")
	c := b.claims("h")
	again, err := b.Retry(t.Context(), c.Held, &job.Outcome{Reason: "unavailable"})
	must(t, err)
	j := b.wantStatus(slow, job.StatusQueued, "unavailable")
	if !again || j.NotBefore.Sub(b.clock.Now()) != 5*time.Second || j.StartedAt != nil {
		t.Fatalf("again %t: %+v", again, j)
	}
	if next := b.claims("h"); next.ID != other || b.claim("h") != nil {
		t.Errorf("claimed %s", next.ID)
	}
	due, err := b.NextDue(t.Context())
	if err != nil || !due.Equal(*j.NotBefore) {
		t.Errorf("due at %v, %v", due, err)
	}
	b.clock.Advance(5 * time.Second)
	c = b.claims("h")
	if c.ID != slow || c.Attempts != 2 || c.Held.Epoch != 2 {
		t.Errorf("claimed %+v", c)
	}
	must(t, b.Fail(t.Context(), c.Held, &job.Outcome{Reason: "broken"}))
	if next := b.claims("h"); next.ID != behind {
		t.Errorf("claimed %s", next.ID)
	}
	b.sound()
}

// TestClaim_ClockThatWentBackStrandsNobody: a job that was postponed by a clock that was
// days ahead runs once the clock is right.
func TestClaim_ClockThatWentBackStrandsNobody(t *testing.T) {
	b := newBoard(t, job.Options{})
	id := b.add("u", job.Dream, "n")
	c := b.claims("h")
	b.clock.Advance(72 * time.Hour)
	_, err := b.Retry(t.Context(), c.Held, &job.Outcome{Reason: "unavailable"})
	must(t, err)
	for range 200 { // more than one transaction makes ready
		b.add(fmt.Sprint("u", len(dump(t, b.store))), job.Dream, "n")
		c := b.claims("h")
		_, err := b.Retry(t.Context(), c.Held, &job.Outcome{Reason: "unavailable"})
		must(t, err)
	}
	if b.claim("h") != nil {
		t.Error("it may run at once")
	}
	b.clock.Advance(-72 * time.Hour)
	if c := b.claims("h"); c.ID != id && c.Attempts != 2 {
		t.Errorf("claimed %+v", c)
	}
	for range 200 {
		b.claims("h")
	}
	b.sound()
}

// TestClaim_ClockThatWentBackWhileAJobWasBehindAnother: it isn't among those that wait for a
// time until it comes first.
func TestClaim_ClockThatWentBackWhileAJobWasBehindAnother(t *testing.T) {
	b := newBoard(t, job.Options{})
	b.clock.Advance(72 * time.Hour)
	b.add("u", job.Dream, "n")
	first := b.claims("h")
	made, err := b.Enqueue(t.Context(), &job.Request{UserID: "u", Type: job.Reflection, Namespace: "n", NotBefore: b.clock.Now().Add(time.Minute)})
	must(t, err)
	b.clock.Advance(-72 * time.Hour)
	if c := b.claim("h"); c != nil {
		t.Fatalf("%s runs while another of its user does", c.ID)
	}
	must(t, b.Complete(t.Context(), first.Held, &job.Outcome{}))
	if c := b.claims("h"); c.ID != made.ID || b.get(made.ID).NotBefore != nil {
		t.Errorf("claimed %+v", c)
	}
	b.sound()
}

func TestLease_OldEpochWritesNothing(t *testing.T) {
	b := newBoard(t, job.Options{})
	id := b.add("u", job.Reflection, "n")
	old := b.claims("old").Held
	if n, err := b.TakeOver(t.Context(), "old"); err != nil || n != 1 {
		t.Fatalf("took over %d, %v", n, err)
	}
	b.wantStatus(id, job.StatusQueued, job.ProcessEnded)
	ctx := t.Context()
	refused := func() {
		t.Helper()
		before := dump(t, b.store)
		for name, write := range map[string]func() error{
			"complete": func() error {
				return b.Complete(ctx, old, &job.Outcome{Effects: func(tx *journal.Tx) error { return tx.Put([]byte("job-effect"), nil) }})
			},
			"fail":      func() error { return b.Fail(ctx, old, &job.Outcome{}) },
			"cancelled": func() error { return b.Cancelled(ctx, old, &job.Outcome{}) },
			"retry":     func() error { _, err := b.Retry(ctx, old, &job.Outcome{}); return err },
			"snooze":    func() error { _, err := b.Snooze(ctx, old, 0, &job.Outcome{}); return err },
			"release":   func() error { return b.Release(ctx, old) },
			"progress":  func() error { return b.Progress(ctx, old, 0.5) },
			"step":      func() error { return b.SaveStep(ctx, old, "s", []byte("1"), nil) },
			"read step": func() error { _, _, err := b.Step(ctx, old, "s"); return err },
			"renew":     func() error { _, err := b.Renew(ctx, old); return err },
			"update": func() error {
				return b.Update(ctx, old, func(tx *journal.Tx) error { return tx.Put([]byte("job-x"), nil) })
			},
			"store": func() error {
				return b.Store(old).Update(ctx, func(tx core.Tx) error { return tx.Put([]byte("job-x"), nil) })
			},
		} {
			err := write()
			if sdk.ReasonOf(err) != job.LeaseLost || sdk.CodeOf(err) != sdk.Conflict {
				t.Errorf("%s: %v", name, err)
			}
		}
		if diff := cmp.Diff(before, dump(t, b.store)); diff != "" {
			t.Errorf("(-before +after):\n%s", diff)
		}
	}
	refused() // queued again
	c := b.claims("old")
	refused() // held by one of the same name in a later epoch
	must(t, b.Update(ctx, c.Held, func(tx *journal.Tx) error { return tx.Put([]byte("job-x"), nil) }))
	must(t, b.store.Update(ctx, func(tx core.Tx) error { return tx.Delete([]byte("job-x")) }))
	must(t, b.Complete(ctx, c.Held, &job.Outcome{}))
	refused() // ended
	b.sound()
}

func TestComplete_EffectsAndEndAreOneCommit(t *testing.T) {
	var notified []string
	full := false
	b := newBoard(t, job.Options{Notify: func(tx *journal.Tx, n job.Notification) error {
		if full {
			if err := tx.Put([]byte("job-half"), nil); err != nil {
				return err
			}
			return sdk.Errorf(sdk.Denied, "namespace_full", "no room")
		}
		notified = append(notified, n.Title+" "+string(n.Result))
		return nil
	}})
	ctx := t.Context()
	id := b.add("u", job.Reflection, "n")
	c := b.claims("h")
	failure := sdk.Errorf(sdk.Denied, "veto", "not that")
	before := dump(t, b.store)
	err := b.Complete(ctx, c.Held, &job.Outcome{Effects: func(tx *journal.Tx) error {
		if err := tx.Put([]byte("job-effect"), nil); err != nil {
			return err
		}
		return failure
	}})
	wantReason(t, err, "veto")
	if diff := cmp.Diff(before, dump(t, b.store)); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
	must(t, b.Complete(ctx, c.Held, &job.Outcome{Result: []byte(`{"n":1}`), Effects: func(tx *journal.Tx) error { return tx.Put([]byte("job-effect"), nil) }}))
	b.wantStatus(id, job.StatusCompleted, job.Done)
	if _, there := dump(t, b.store)["job-effect"]; !there {
		t.Error("the effects aren't there")
	}
	wantReason(t, b.Complete(ctx, c.Held, &job.Outcome{}), job.LeaseLost)

	// Of other ends, only failures of reflections and dreams are notified.
	b.add("u", job.Dream, "n")
	must(t, b.Fail(ctx, b.claims("h").Held, &job.Outcome{Reason: "no_generator"}))
	for _, quiet := range []job.Type{job.Revalidate, job.Reembed, job.Compact, job.Workflow} {
		b.add("u", quiet, "n")
		must(t, b.Complete(ctx, b.claims("h").Held, &job.Outcome{}))
	}
	b.add("u", job.Reflection, "n")
	must(t, b.Cancelled(ctx, b.claims("h").Held, &job.Outcome{}))
	if want := []string{`reflection completed {"n":1}`, "dream failed: no_generator "}; !slices.Equal(notified, want) {
		t.Errorf("notified %q", notified)
	}

	// A namespace without room doesn't keep a job from ending.
	full = true
	id = b.add("u", job.Reflection, "n")
	must(t, b.Complete(ctx, b.claims("h").Held, &job.Outcome{}))
	if j := b.wantStatus(id, job.StatusCompleted, job.Done); j.NotificationFailure != "namespace_full" {
		t.Errorf("notification failure %q", j.NotificationFailure)
	}
	if _, there := dump(t, b.store)["job-half"]; there {
		t.Error("half a notification is there")
	}
	must(t, b.store.Update(ctx, func(tx core.Tx) error { return tx.Delete([]byte("job-effect")) }))
	b.sound()
}

func TestRetry_BacksOffAndEnds(t *testing.T) {
	jitter := 0.0
	b := newBoard(t, job.Options{Random: func() float64 { return jitter }})
	id := b.add("u", job.Dream, "n")
	for _, step := range []struct {
		jitter float64
		wait   time.Duration
	}{{0, 4 * time.Second}, {0.999999, 24 * time.Second}} {
		jitter = step.jitter
		again, err := b.Retry(t.Context(), b.claims("h").Held, &job.Outcome{Reason: "unavailable"})
		must(t, err)
		j := b.get(id)
		if wait := j.NotBefore.Sub(b.clock.Now()); !again || (wait-step.wait).Abs() > time.Millisecond {
			t.Errorf("again %t after %s, want %s", again, wait, step.wait)
		}
		b.clock.Advance(step.wait)
	}
	again, err := b.Retry(t.Context(), b.claims("h").Held, &job.Outcome{Reason: "unavailable", Message: "down"})
	must(t, err)
	if j := b.wantStatus(id, job.StatusFailed, "unavailable"); again || j.Attempts != 3 || j.Message != "down" {
		t.Errorf("again %t: %+v", again, j)
	}
	if got := b.events("u"); !slices.Equal(got, []string{"queued", "started", "retried", "started", "retried", "started", "failed"}) {
		t.Errorf("events %v", got)
	}
	b.sound()
}

func TestSnooze_UsesNoAttemptTenTimes(t *testing.T) {
	b := newBoard(t, job.Options{})
	id := b.add("u", job.Dream, "n")
	for i := range 10 {
		again, err := b.Snooze(t.Context(), b.claims("h").Held, 48*time.Hour, &job.Outcome{Reason: "rate_limited"})
		must(t, err)
		if j := b.get(id); !again || j.Attempts != 0 || j.Snoozes != i+1 || j.NotBefore.Sub(b.clock.Now()) != 24*time.Hour {
			t.Fatalf("snooze %d: again %t, %+v", i, again, j)
		}
		b.clock.Advance(24 * time.Hour)
	}
	for attempt := range 3 {
		again, err := b.Snooze(t.Context(), b.claims("h").Held, time.Minute, &job.Outcome{Reason: "rate_limited"})
		must(t, err)
		if j := b.get(id); j.Attempts != attempt+1 || again != (attempt < 2) {
			t.Fatalf("attempt %d: again %t, %+v", attempt, again, j)
		}
		b.clock.Advance(time.Hour)
	}
	b.wantStatus(id, job.StatusFailed, "rate_limited")
	b.sound()
}

func TestTakeOver_CancelledJobsEnd(t *testing.T) {
	b := newBoard(t, job.Options{})
	asked := b.add("v", job.Dream, "n")
	b.claims("h")
	done, err := b.Cancel(t.Context(), asked, "changed_mind")
	must(t, err)
	if !done.Changed || done.Status != job.StatusRunning || !done.CancelRequested {
		t.Errorf("cancel: %+v", done)
	}
	_, err = b.TakeOver(t.Context(), "h")
	must(t, err)
	b.wantStatus(asked, job.StatusCancelled, "changed_mind")
	b.sound()
}

func TestRecover_ExclusiveStoreFreesWhatOthersHeld(t *testing.T) {
	b := newBoard(t, job.Options{Exclusive: true})
	id := b.add("u", job.Dream, "n")
	b.claims("another")
	b.restart(job.Options{})
	if n, err := b.Recover(t.Context()); n != 0 || err != nil {
		t.Errorf("a store that several open: %d, %v", n, err)
	}
	b.restart(job.Options{Exclusive: true})
	if n, err := b.Recover(t.Context()); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	b.wantStatus(id, job.StatusQueued, job.ProcessEnded)
	b.sound()
}

func TestCancel_Statuses(t *testing.T) {
	b := newBoard(t, job.Options{})
	id := b.add("u", job.Dream, "n")
	done, err := b.Cancel(t.Context(), id, "")
	must(t, err)
	if !done.Changed || done.Status != job.StatusCancelled {
		t.Errorf("queued: %+v", done)
	}
	b.wantStatus(id, job.StatusCancelled, job.CancelledByRequest)
	done, err = b.Cancel(t.Context(), id, "later")
	must(t, err)
	if done.Changed || done.Status != job.StatusCancelled || done.Reason != job.CancelledByRequest {
		t.Errorf("ended: %+v", done)
	}
	id = b.add("u", job.Dream, "n") // the namespace is free again
	c := b.claims("h")
	for _, changed := range []bool{true, false} {
		if done, err = b.Cancel(t.Context(), id, "stop"); err != nil || done.Changed != changed || done.Status != job.StatusRunning {
			t.Errorf("running: %+v, %v", done, err)
		}
	}
	if asked, err := b.Renew(t.Context(), c.Held); err != nil || !asked {
		t.Errorf("renew: %t, %v", asked, err)
	}
	must(t, b.Cancelled(t.Context(), c.Held, &job.Outcome{Result: []byte(`{"done":2}`)}))
	if j := b.wantStatus(id, job.StatusCancelled, "stop"); string(j.Result) != `{"done":2}` {
		t.Errorf("result %s", j.Result)
	}
	_, err = b.Cancel(t.Context(), "nothing", "")
	wantReason(t, err, job.NotFound)
	b.sound()
}

func TestProgress_OnceASecondAndNeverBack(t *testing.T) {
	b := newBoard(t, job.Options{})
	id := b.add("u", job.Dream, "n")
	c := b.claims("h")
	for i, step := range []struct {
		progress float64
		after    time.Duration
		want     float64
	}{
		{0.2, 0, 0.2}, {0.3, 999 * time.Millisecond, 0.2}, {0.3, time.Millisecond, 0.3}, {0.1, time.Second, 0.3}, {0.5, 0, 0.5},
		{0.6, -time.Hour, 0.6}, {1, time.Second, 1},
	} {
		b.clock.Advance(step.after)
		must(t, b.Progress(t.Context(), c.Held, step.progress))
		if got := b.get(id).Progress; got != step.want {
			t.Errorf("step %d: progress is %v, want %v", i, got, step.want)
		}
	}
	for _, bad := range []float64{-0.1, 1.1} {
		wantReason(t, b.Progress(t.Context(), c.Held, bad), "progress_invalid")
	}
	b.sound()
}

func TestStep_IsKeptUntilTheEnd(t *testing.T) {
	b := newBoard(t, job.Options{})
	ctx := t.Context()
	b.add("u", job.Reflection, "n")
	c := b.claims("h")
	must(t, b.SaveStep(ctx, c.Held, "answer-1", []byte(`{"paid":true}`), []string{"m1", "m2"}))
	wantReason(t, b.SaveStep(ctx, c.Held, "answer-1", []byte(`2`), nil), "step_taken")
	wantReason(t, b.SaveStep(ctx, c.Held, "a/b", []byte(`2`), nil), "step_invalid")
	wantReason(t, b.SaveStep(ctx, c.Held, "a", []byte(`{`), nil), "step_invalid")
	wantReason(t, b.SaveStep(ctx, c.Held, "big", []byte(`"`+strings.Repeat("x", job.MaxStepBytes)+`"`), nil), "steps_too_large")
	b.sound()
	_, err := b.TakeOver(ctx, "h")
	must(t, err)
	c = b.claims("h")
	data, found, err := b.Step(ctx, c.Held, "answer-1")
	if err != nil || !found || string(data) != `{"paid":true}` {
		t.Errorf("step %s, %t, %v", data, found, err)
	}
	if _, found, err = b.Step(ctx, c.Held, "answer-2"); found || err != nil {
		t.Errorf("a step that wasn't saved: %t, %v", found, err)
	}
	must(t, b.Complete(ctx, c.Held, &job.Outcome{}))
	for key := range dump(t, b.store) {
		if strings.HasPrefix(key, "job-step/") || strings.HasPrefix(key, "job-memory/") {
			t.Errorf("%s is left", key)
		}
	}
	b.sound()
}

func TestForget_TakesAMemoryOutOfPayloadsStepsAndResults(t *testing.T) {
	purged := map[string]bool{}
	b := newBoard(t, job.Options{Purged: func(_ core.Reader, id string) (bool, error) { return purged[id], nil }})
	ctx := t.Context()
	forget := func(id string) {
		t.Helper()
		must(t, b.store.Update(ctx, func(tx core.Tx) error {
			runs, err := (job.Memories{}).Forget(tx, id)
			if len(runs) > 0 {
				t.Errorf("runs %v", runs)
			}
			purged[id] = true
			return err
		}))
		b.sound()
	}
	made, err := b.Enqueue(ctx, &job.Request{
		UserID: "u", Type: job.Reflection, Namespace: "n", Memories: []string{"given"},
		Payload: []byte(`{"about":{"memory_id":"named","title":"secret","n":2},"keep":"this"}`),
	})
	must(t, err)
	c := b.claims("h")
	must(t, b.SaveStep(ctx, c.Held, "both", []byte(`"secret words"`), []string{"named", "other"}))
	must(t, b.SaveStep(ctx, c.Held, "other", []byte(`"words"`), []string{"other"}))
	forget("named")
	if got := string(b.get(made.ID).Payload); got != `{"about":{"memory_id":"named","n":2,"title":"[purged]"},"keep":"this"}` {
		t.Errorf("payload %s", got)
	}
	if _, found, err := b.Step(ctx, c.Held, "both"); found || err != nil {
		t.Errorf("the step of a purged memory is there: %t, %v", found, err)
	}
	if _, found, err := b.Step(ctx, c.Held, "other"); !found || err != nil {
		t.Errorf("the other step is gone: %v", err)
	}
	wantReason(t, b.SaveStep(ctx, c.Held, "late", []byte(`1`), []string{"named"}), "memory_purged")
	must(t, b.Complete(ctx, c.Held, &job.Outcome{Result: []byte(
		`{"insights":[{"memory_id":"i1","content":"secret","importance":0.7,"sources":["a"],"steps":["x"]},{"memory_id":"named","content":"secret"},{"memory_id":"i2","content":"stays"}]}`)}))
	forget("i1")
	want := `{"insights":[{"content":"[purged]","importance":0.7,"memory_id":"i1","sources":["a"],"steps":["[purged]"]},{"content":"[purged]","memory_id":"named"},{"content":"stays","memory_id":"i2"}]}`
	if got := string(b.get(made.ID).Result); got != want {
		t.Errorf("result %s", got)
	}
	forget("given") // nobody can tell which words are its own
	if got := string(b.get(made.ID).Payload); got != `"[purged]"` {
		t.Errorf("payload %s", got)
	}
}

// TestForget_TakesAMemoryOutOfMessages: a failure's message may quote what the job was given
// or saved, whether the memory is purged after its end or before.
func TestForget_TakesAMemoryOutOfMessages(t *testing.T) {
	for _, memory := range []string{"given", "saved", "told"} {
		for _, before := range []bool{false, true} {
			purged := map[string]bool{}
			b := newBoard(t, job.Options{Purged: func(_ core.Reader, id string) (bool, error) { return purged[id], nil }})
			forget := func() {
				t.Helper()
				must(t, b.store.Update(t.Context(), func(tx core.Tx) error {
					_, err := (job.Memories{}).Forget(tx, memory)
					purged[memory] = true
					return err
				}))
				b.sound()
			}
			made, err := b.Enqueue(t.Context(), &job.Request{UserID: "u", Type: job.Reflection, Namespace: "n", Payload: []byte(`"secret"`), Memories: []string{"given"}})
			must(t, err)
			c := b.claims("h")
			must(t, b.SaveStep(t.Context(), c.Held, "s", []byte(`"secret"`), []string{"saved"}))
			if before {
				forget()
			}
			must(t, b.Fail(t.Context(), c.Held, &job.Outcome{
				Reason: "r", Message: "can't make sense of: secret", Result: []byte(`{"done":1}`), Memories: []string{"told"},
				Failure: job.NewFailure(sdk.Errorf(sdk.Invalid, "r", "can't make sense of: secret").WithHint("leave out secret").WithDetail("said", "secret")),
			}))
			b.sound()
			if !before {
				got := b.get(made.ID)
				if e := sdk.AsError(got.Failure.Err()); got.Message != "can't make sense of: secret" || e.Message != got.Message || e.Hint != "leave out secret" || e.Details["said"] != "secret" {
					t.Errorf("%s: message %q, %+v", memory, got.Message, e)
				}
				forget()
			}
			j := b.get(made.ID)
			if j.Message != "[purged]" {
				t.Errorf("%s, purged before the end %t: message %q", memory, before, j.Message)
			}
			if e := sdk.AsError(j.Failure.Err()); e.Code != sdk.Invalid || e.Reason != "r" || strings.Contains(string(jsontext.MustEncode(j.Failure)), "secret") {
				t.Errorf("%s, purged before the end %t: %+v", memory, before, e)
			}
			if want := memory != "told"; (string(j.Result) == `{"done":1}`) != want {
				t.Errorf("%s, purged before the end %t: result %s", memory, before, j.Result)
			}
		}
	}
}

// TestClaim_SetsADamagedJobAside: it delays no other user, is reported once, and comes back
// with a rebuild once it can be read.
func TestClaim_SetsADamagedJobAside(t *testing.T) {
	for name, key := range map[string]func(id string) []byte{
		"record": job.JobKey, "payload": job.ContentKey, "queue": func(string) []byte { return job.QueueKey("bad") },
	} {
		for _, waits := range []bool{false, true} {
			b := newBoard(t, job.Options{})
			q := job.Request{UserID: "bad", Type: job.Reflection, Namespace: "n"}
			if waits {
				q.NotBefore = b.clock.Now().Add(time.Minute)
			}
			made, err := b.Enqueue(t.Context(), &q)
			must(t, err)
			good := b.add("good", job.Reflection, "n")
			whole := b.swap(key(made.ID), []byte("{"))
			b.clock.Advance(time.Hour)
			c, err := b.Claim(t.Context(), "h", job.Types())
			wantReason(t, err, "record_corrupt")
			if c == nil || c.ID != good {
				t.Fatalf("%s, waits %t: started %+v", name, waits, c)
			}
			must(t, b.Complete(t.Context(), c.Held, &job.Outcome{}))
			if b.claim("h") != nil {
				t.Fatal("a damaged job is started")
			}
			b.swap(key(made.ID), whole)
			must(t, store.Rebuild(t.Context(), b.store, parts()))
			b.sound()
			if c := b.claims("h"); c.ID != made.ID {
				t.Errorf("%s, waits %t: started %s", name, waits, c.ID)
			}
		}
	}
}

// TestClaim_ThatFailsLooksAtTheClockAgain: a clock that went back isn't forgotten with the
// transaction that was to take it in.
func TestClaim_ThatFailsLooksAtTheClockAgain(t *testing.T) {
	b := newBoard(t, job.Options{})
	if b.claim("h") != nil {
		t.Fatal("there is a job")
	}
	q := job.Request{UserID: "u", Type: job.Reflection, Namespace: "n", NotBefore: b.clock.Now().Add(time.Minute)}
	_, err := b.Enqueue(t.Context(), &q)
	must(t, err)
	b.clock.Advance(-time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Claim(ctx, "h", job.Types()); err == nil {
		t.Fatal("a claim without a transaction succeeds")
	}
	b.claims("h")
}

func TestRetain_KeepsWhatItMust(t *testing.T) {
	b := newBoard(t, job.Options{KeepPerUser: 2})
	ctx := t.Context()
	end := func(user string) string {
		t.Helper()
		made, err := b.Enqueue(ctx, &job.Request{UserID: user, Type: job.Reflection, Namespace: "n", IdempotencyKey: b.ids.NewID(), Memories: []string{"m"}})
		must(t, err)
		must(t, b.Complete(ctx, b.claims("h").Held, &job.Outcome{Result: []byte(`{"memory_id":"r"}`)}))
		return made.ID
	}
	retain := func(want int) {
		t.Helper()
		if n, err := b.Retain(ctx); err != nil || n != want {
			t.Errorf("removed %d, %v, want %d", n, err, want)
		}
		b.sound()
	}
	first := end("u")
	for range 3 {
		end("u")
	}
	old := end("v")
	retain(0) // all are of the last 24 h
	b.clock.Advance(24*time.Hour + time.Second)
	retain(2)
	_, err := b.Get(ctx, first)
	wantReason(t, err, job.NotFound)
	b.get(old)
	b.clock.Advance(29 * 24 * time.Hour)
	active := b.add("u", job.Reflection, "n")
	retain(3)
	b.get(active)
	b.claims("h")
	must(t, b.Complete(ctx, job.Lease{JobID: active, Holder: "h", Epoch: 1}, &job.Outcome{}))
	b.clock.Advance(31 * 24 * time.Hour)
	retain(1)
	for key := range dump(t, b.store) {
		if !strings.HasPrefix(key, "job-sequence/") {
			t.Errorf("%q is left", key)
		}
	}
}

func TestFind_ListGetAndETA(t *testing.T) {
	b := newBoard(t, job.Options{})
	ctx := t.Context()
	var ids []string
	for i := range 5 {
		ids = append(ids, b.add("u", job.Reflection, fmt.Sprint("n", i)))
	}
	other := b.add("v", job.Dream, "n0")
	slices.Reverse(ids)
	var pages []string
	f := job.ListFilter{UserID: "u", Limit: 2}
	for {
		jobs, next, err := b.List(ctx, f)
		must(t, err)
		for _, j := range jobs {
			pages = append(pages, j.ID)
		}
		if f.After = next; next == "" {
			break
		}
	}
	if !slices.Equal(pages, ids) {
		t.Errorf("listed %v, want %v", pages, ids)
	}
	for name, c := range map[string]struct {
		f    job.ListFilter
		want int
	}{
		"all": {job.ListFilter{}, 6}, "type": {job.ListFilter{Type: job.Dream}, 1}, "status": {job.ListFilter{Status: job.StatusRunning}, 0},
		"namespace": {job.ListFilter{May: func(user, n string) bool { return user != "" && n == "n0" }}, 2}, "nobody": {job.ListFilter{UserID: "a/b"}, 0},
	} {
		if jobs, _, err := b.List(ctx, c.f); err != nil || len(jobs) != c.want {
			t.Errorf("%s: %d jobs, %v, want %d", name, len(jobs), err, c.want)
		}
	}
	_, _, err := b.List(ctx, job.ListFilter{After: "x"})
	wantReason(t, err, "place_invalid")
	if j, err := b.Find(ctx, other); err != nil || j.ID != other {
		t.Errorf("find %v, %v", j, err)
	}
	_, err = b.Find(ctx, other[:8])
	wantReason(t, err, "job_ambiguous")
	_, err = b.Find(ctx, other[:4])
	wantReason(t, err, "job_not_found")
	_, err = b.Find(ctx, "ffffffff")
	wantReason(t, err, job.NotFound)
	eta := func(id string, want time.Duration) {
		t.Helper()
		if got, err := b.ETA(ctx, id); err != nil || got != want {
			t.Errorf("ETA %s, %v, want %s", got, err, want)
		}
	}
	eta(ids[2], 3*30*time.Second)
	for _, took := range []time.Duration{1500 * time.Millisecond, 4 * time.Second} {
		c, err := b.Claim(ctx, "h", []job.Type{job.Reflection})
		must(t, err)
		b.clock.Advance(took)
		must(t, b.Complete(ctx, c.Held, &job.Outcome{}))
	}
	eta(ids[1], 6*time.Second) // 2 × 2.75 s
	eta(ids[4], 0)
	counts, err := b.Counts(ctx)
	must(t, err)
	if counts[0] != (job.Count{Type: job.Reflection, Queued: 3}) || counts[2].Queued != 1 {
		t.Errorf("counts %+v", counts)
	}
	b.sound()
}

func TestOptions_ReportAllProblems(t *testing.T) {
	_, err := job.New(&journal.Writer{}, &coretest.IDs{}, job.Options{QueuePerUser: -1, Keep: -1, Timeouts: map[job.Type]time.Duration{"x": 1}})
	wantReason(t, err, "job_options_invalid")
	for _, want := range []string{"queue per user is -1", "time to keep is -1ns", `timeout of "x"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q isn't in: %v", want, err)
		}
	}
	_, err = job.NewPool(newBoard(t, job.Options{}).Repository, job.PoolOptions{Workers: -1, Holder: "a/b", Handlers: map[job.Type]job.Handler{job.Dream: nil}})
	wantReason(t, err, "job_options_invalid")
}
