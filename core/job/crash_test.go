package job_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/sdk"
)

// mortal is a store whose process ends at a commit, before it is written or after, and never
// hears of it.
type mortal struct {
	core.Store
	left  int // commits until its end
	after bool
	dead  bool
}

func (m *mortal) Update(ctx context.Context, fn func(core.Tx) error) error {
	wrote := false
	err := m.Store.Update(ctx, func(tx core.Tx) error {
		spy := &spyTx{Tx: tx}
		err := fn(spy)
		if wrote = spy.wrote; err == nil && wrote && (m.dead || m.left == 1 && !m.after) {
			err = sdk.Errorf(sdk.Unavailable, "process_killed", "the process is gone")
		}
		return err
	})
	if wrote && m.left > 0 {
		if m.left--; m.left == 0 {
			m.dead = true
			return sdk.Errorf(sdk.Unavailable, "process_killed", "the process is gone")
		}
	}
	return err
}

// spyTx tells transactions that write from those that only look.
type spyTx struct {
	core.Tx
	wrote bool
}

func (s *spyTx) Put(key, value []byte) error { s.wrote = true; return s.Tx.Put(key, value) }
func (s *spyTx) Delete(key []byte) error     { s.wrote = true; return s.Tx.Delete(key) }

// worked is what a process pays for, by the job and the step.
type worked map[string]int

// process is a process's life: it takes over what the one before it held, queues what isn't
// queued yet and works until nothing waits. Jobs take a step and write an effect as they end;
// "twice" fails in its first attempt, "stop" is cancelled while it runs.
func process(ctx context.Context, b *board, paid worked) error {
	if _, err := b.Recover(ctx); err != nil {
		return err
	}
	for _, user := range []string{"plain", "twice", "stop"} {
		for _, typ := range []job.Type{job.Reflection, job.Workflow} {
			if _, err := b.Enqueue(ctx, &job.Request{UserID: user, Type: typ, Namespace: "n", IdempotencyKey: "k"}); err != nil {
				return err
			}
		}
	}
	for range 100 { // six jobs have a few starts each
		c, err := b.Claim(ctx, "h", job.Types())
		if err != nil {
			return err
		}
		due, err := b.NextDue(ctx)
		if err != nil {
			return err
		}
		if c == nil && due.IsZero() {
			_, err := b.Retain(ctx)
			return err
		}
		if c == nil {
			b.clock.Advance(time.Minute)
			continue
		}
		if err := workOn(ctx, b, c, paid); err != nil {
			return err
		}
	}
	list, _, err := b.List(ctx, job.ListFilter{})
	return errors.Join(fmt.Errorf("at %s the work hasn't ended after 100 looks: %+v", b.clock.Now(), list), err)
}

// workOn is what a handler and its pool do with a job.
func workOn(ctx context.Context, b *board, c *job.Claimed, paid worked) error {
	_, found, err := b.Step(ctx, c.Held, "ask")
	if err != nil {
		return err
	}
	if !found {
		paid[c.ID]++
		if err := b.SaveStep(ctx, c.Held, "ask", []byte(`"answer"`), []string{"m"}); err != nil {
			return err
		}
	}
	b.clock.Advance(time.Second)
	if err := b.Progress(ctx, c.Held, 0.5); err != nil {
		return err
	}
	switch {
	case c.UserID == "twice" && c.Attempts == 1:
		_, err := b.Retry(ctx, c.Held, &job.Outcome{Reason: "unavailable"})
		return err
	case c.UserID == "stop":
		if _, err := b.Cancel(ctx, c.ID, "stop"); err != nil {
			return err
		}
		return b.Cancelled(ctx, c.Held, &job.Outcome{})
	}
	return b.Complete(ctx, c.Held, &job.Outcome{Result: []byte(`{"memory_id":"m"}`), Effects: func(tx *journal.Tx) error {
		key := []byte("effect/" + c.ID)
		before, _, err := tx.Get(key)
		if err != nil {
			return err
		}
		return tx.Put(key, append(before, 'x'))
	}})
}

// TestJobs_SurviveAProcessThatEndsAtAnyCommit: before the commit or after, once or twice in a
// row.
func TestJobs_SurviveAProcessThatEndsAtAnyCommit(t *testing.T) {
	ends := 0
	for _, after := range []bool{false, true} {
		for commit := 1; ; commit++ {
			if commit > 200 {
				t.Fatal("the work never ends")
			}
			b := newBoard(t, job.Options{Exclusive: true, Random: func() float64 { return 0.5 }})
			inner := b.store
			paid := worked{}
			lives := 1
			for _, left := range []int{commit, 1 + commit%5, 0} {
				b.store = &mortal{Store: inner, left: left, after: after}
				b.restart(job.Options{Exclusive: true})
				err := process(t.Context(), b, paid)
				b.store = inner
				if err == nil {
					break
				}
				if sdk.ReasonOf(err) != "process_killed" {
					t.Fatalf("commit %d, after %t: %v", commit, after, err)
				}
				lives++
				b.restart(job.Options{})
				b.sound()
			}
			checkWork(t, b, paid, lives, fmt.Sprintf("commit %d, after %t", commit, after))
			if lives == 1 {
				break
			}
			ends++
		}
	}
	if ends < 60 {
		t.Errorf("a process ended at %d commits only", ends)
	}
}

// checkWork checks that each job ended once, with its effect, and paid for its step once
// for each life that it wasn't saved in.
func checkWork(t *testing.T, b *board, paid worked, lives int, when string) {
	t.Helper()
	b.restart(job.Options{})
	jobs, _, err := b.List(t.Context(), job.ListFilter{})
	must(t, err)
	if len(jobs) != 6 {
		t.Fatalf("%s: %d jobs", when, len(jobs))
	}
	ends := map[string]int{}
	for _, user := range []string{"plain", "twice", "stop"} {
		for _, event := range b.events(user) {
			if event == "completed" || event == "failed" || event == "cancelled" {
				ends[user]++
			}
		}
		if ends[user] != 2 {
			t.Errorf("%s: the jobs of %s have %d ends", when, user, ends[user])
		}
	}
	must(t, b.store.View(t.Context(), func(r core.Reader) error {
		for _, j := range jobs {
			effect, _, err := r.Get([]byte("effect/" + j.ID))
			if err != nil {
				return err
			}
			want := ""
			if j.Status == job.StatusCompleted {
				want = "x"
			}
			ended := j.Status == job.StatusCompleted || j.Status == job.StatusCancelled && j.UserID == "stop" ||
				j.Status == job.StatusFailed && lives > 2 // its attempts are used up
			if string(effect) != want || !ended {
				t.Errorf("%s: job %s of %s is %s (%s), with effect %q", when, j.ID, j.UserID, j.Status, j.Reason, effect)
			}
			if paid[j.ID] > lives {
				t.Errorf("%s: job %s paid %d times in %d lives", when, j.ID, paid[j.ID], lives)
			}
		}
		return nil
	}))
	b.sound()
}
