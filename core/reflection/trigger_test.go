package reflection_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/reflection"
	"github.com/reflectory/reflectory/sdk"
)

func TestTriggers_AreCheckedInOrder(t *testing.T) {
	b := newBench(t)
	expect := func(due bool, reason string) {
		t.Helper()
		if d := b.due("ns"); d.Due != due || d.Reason != reason {
			t.Errorf("%+v, want %v: %s", d, due, reason)
		}
	}
	expect(false, "no trigger conditions met")
	b.clock.Advance(100 * time.Hour)
	expect(false, "no trigger conditions met") // nothing was ever observed
	for range 15 {
		b.observe("ns", "x", 0.99)
	}
	expect(false, "no trigger conditions met")
	b.observe("ns", "x", 0.15)
	expect(true, "accumulated_importance (150.0) >= threshold (150.0)")
	b.observe("ns", "x", 1)
	expect(true, "accumulated_importance (160.0) >= threshold (150.0)")
	b.set("ns", "reflection.importance=0")
	expect(false, "no trigger conditions met")
	b.set("ns", "reflection.observations=17")
	expect(true, "observations_since (17) >= threshold (17)")
	b.set("ns", "reflection.observations=0")
	b.clock.Advance(24*time.Hour - 17*time.Second)
	expect(false, "no trigger conditions met")
	b.clock.Advance(17 * time.Second)
	expect(true, "hours_since_last (24.0) >= threshold (24)")
	b.set("ns", "reflection.hours=0")
	expect(false, "no trigger conditions met")
	b.set("ns", "reflection.hours=12.5")
	expect(true, "hours_since_last (24.0) >= threshold (12.5)")
}

func TestTriggers_CountWhatWasObservedOnly(t *testing.T) {
	b := newBench(t)
	source := b.observe("ns", "a source", 0.5)
	observe := func(kind core.MemoryKind) {
		one := 1.0
		if _, err := b.memories.Observe(t.Context(), &core.ObserveRequest{Namespace: "ns", Content: "x", Kind: kind, Attributes: core.Attributes{Importance: &one}, IdempotencyKey: string(kind)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range []core.MemoryKind{core.KindSemantic, core.KindProcedural, core.KindNotification, core.KindSemantic} {
		observe(kind) // the last one is a repetition
	}
	if _, err := b.memories.Reflect(t.Context(), &core.ReflectRequest{SourceIDs: []string{source.ID}, Title: "r", Content: "r", Kind: core.KindSemantic}); err != nil {
		t.Fatal(err)
	}
	if d := b.due("ns"); d.Observations != 3 || d.Importance != 25 {
		t.Errorf("%+v", d)
	}
	if p := b.problems(); len(p) > 0 {
		t.Error(p)
	}
}

func TestTriggers_QueueWhenDue(t *testing.T) {
	b := newBench(t)
	b.set("*", "reflection.observations=2")
	b.observe("users/anna", "one", 0)
	if len(b.queue.namespaces) > 0 {
		t.Fatal("queued too early")
	}
	b.triggers.Ready = func() bool { return false }
	b.observe("users/anna", "two", 0)
	if len(b.queue.namespaces) > 0 {
		t.Fatal("queued without a generator")
	}
	b.triggers.Ready = func() bool { return true }
	b.observe("users/anna", "three", 0)
	if got := fmt.Sprint(b.queue.namespaces); got != "[users/anna]" {
		t.Fatal(got)
	}
	if err := b.store.Update(t.Context(), func(tx core.Tx) error { return reflection.Failed(tx, "users/anna", b.clock.Now()) }); err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(10*time.Minute - 2*time.Second)
	b.observe("users/anna", "four", 0)
	if len(b.queue.namespaces) != 1 {
		t.Error("queued while it rests")
	}
	b.observe("users/anna", "five", 0)
	if len(b.queue.namespaces) != 2 {
		t.Error("not queued after the rest")
	}
}

func TestTriggers_RestDoublesUpToADay(t *testing.T) {
	b := newBench(t)
	want := 10 * time.Minute
	for range 12 {
		var s reflection.State
		err := b.store.Update(t.Context(), func(tx core.Tx) (err error) {
			if err = reflection.Failed(tx, "ns", b.clock.Now()); err == nil {
				s, err = reflection.ReadState(tx, "ns")
			}
			return err
		})
		if err != nil || s.RestUntil.Sub(b.clock.Now()) != want {
			t.Fatalf("after %d failures it rests %s, want %s: %v", s.Failures, s.RestUntil.Sub(b.clock.Now()), want, err)
		}
		want = min(2*want, 24*time.Hour)
	}
}

func TestTriggers_Debounce(t *testing.T) {
	b := newBench(t)
	b.triggers.Debounce = time.Minute
	b.set("*", "reflection.observations=1")
	b.observe("ns", "one", 0)
	first := b.clock.Now()
	if !b.queue.at[0].Equal(first.Add(time.Minute)) {
		t.Fatalf("it waits until %s", b.queue.at[0])
	}
	b.queue.active = true
	for range 30 {
		b.clock.Advance(29 * time.Second)
		b.observe("ns", "more", 0)
	}
	last := b.queue.postponed[len(b.queue.postponed)-1]
	if !b.queue.postponed[0].Equal(first.Add(90*time.Second)) || !last.Equal(first.Add(10*time.Minute)) {
		t.Errorf("it is put off to %s, and at last to %s", b.queue.postponed[0], last)
	}
}

// A queue that fails fails the observation, which then isn't counted.
func TestTriggers_AreInTheObservationsCommit(t *testing.T) {
	b := newBench(t)
	b.set("*", "reflection.observations=1")
	b.triggers.Queue = broken{}
	_, err := b.memories.Observe(t.Context(), &core.ObserveRequest{Namespace: "ns", Content: "x"})
	if sdk.ReasonOf(err) != "broken" {
		t.Fatal(err)
	}
	if d := b.due("ns"); d.Observations != 0 {
		t.Errorf("%+v", d)
	}
}

type broken struct{}

func (broken) Queue(context.Context, core.Tx, string, time.Time) (string, error) {
	return "", sdk.Errorf(sdk.Internal, "broken", "it is broken")
}
func (broken) Postpone(context.Context, core.Tx, string, time.Time, time.Time) error { return nil }

// Sums are the same in any order, and follow from the events: also where some were there
// before anybody counted.
func TestCount_FollowsFromTheEvents(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newBench(t)
		old := rapid.IntRange(0, 3).Draw(rt, "old")
		want := 0.0
		n := int64(0)
		for i := range old + rapid.IntRange(1, 20).Draw(rt, "new") {
			importance := float64(rapid.IntRange(0, 10_000).Draw(rt, "importance")) / 10_000
			if i < old {
				b.uncounted("a", "x", importance)
				continue
			}
			b.observe("a", "x", importance)
			want += 10 * importance
			n++
		}
		if d := b.due("a"); d.Observations != n || d.Importance-want > 1e-6 || want-d.Importance > 1e-6 {
			rt.Fatalf("%+v, want %v of %d", d, want, n)
		}
		if p := b.problems(); len(p) > 0 {
			rt.Fatal(p)
		}
	})
}

// uncounted stores a memory as a program does that counts nothing.
func (b *bench) uncounted(namespace, content string, importance float64) {
	b.Helper()
	plain, err := memory.New(memory.Options{Store: b.store, Clock: b.clock})
	if err != nil {
		b.Fatal(err)
	}
	defer plain.Close()
	if _, err := plain.Observe(b.Context(), &core.ObserveRequest{Namespace: namespace, Content: content, Attributes: core.Attributes{Importance: &importance}}); err != nil {
		b.Fatal(err)
	}
}

// TestState_OutOfItsBoundsShows forges the state of a namespace's reflections.
func TestState_OutOfItsBoundsShows(t *testing.T) {
	b := newBench(t)
	b.observe("a", "x", .5)
	for state, wrong := range map[string]bool{
		`{}`: false, `{"from":1,"failures":2}`: false,
		`{"from":1000}`: true, `{"failures":-1}`: true, `{"seen":-1}`: true, `{"taken":{"importance":-1,"observations":0}}`: true,
		`{"seen":2}`: true, `{"job_id":"a b"}`: true, `{"x":1}`: true,
	} {
		err := b.store.Update(t.Context(), func(tx core.Tx) error { return tx.Put([]byte("reflection-state/a"), []byte(state)) })
		if err != nil {
			t.Fatal(err)
		}
		found := b.problems()
		named := slices.ContainsFunc(found, func(p core.Problem) bool { return p.Key == "reflection-state/a" })
		if named != wrong {
			t.Errorf("%s: %+v", state, found)
		}
	}
}

func TestCount_IsRebuilt(t *testing.T) {
	b := newBench(t)
	for i := range 5 {
		b.observe("a", "x", float64(i)/10)
		b.observe("b/c", "x", 1)
	}
	before := []*reflection.Due{b.due("a"), b.due("b/c")}
	for _, damage := range []func(tx core.Tx) error{
		func(tx core.Tx) error { return tx.Delete([]byte("reflection-count/a")) },
		func(tx core.Tx) error { return tx.Put([]byte("reflection-count/a"), []byte(`{"importance":1}`)) },
		func(tx core.Tx) error { return tx.Put([]byte("reflection-count/a"), []byte(`{`)) },
		func(tx core.Tx) error { return tx.Put([]byte("reflection-count/none"), []byte(`{"importance":1}`)) },
	} {
		if err := b.store.Update(t.Context(), damage); err != nil {
			t.Fatal(err)
		}
		if err := (reflection.Checker{}).Rebuild(t.Context(), b.store); err != nil {
			t.Fatal(err)
		}
		if p := b.problems(); len(p) > 0 {
			t.Error(p)
		}
		if a := b.due("a"); *a != *before[0] || *b.due("b/c") != *before[1] {
			t.Errorf("%+v", a)
		}
	}
	if err := b.store.Update(t.Context(), func(tx core.Tx) error { return tx.Put([]byte("reflection-count/a"), []byte(`{"importance":1}`)) }); err != nil {
		t.Fatal(err)
	}
	if p := b.problems(); len(p) != 1 || p[0].Key != "reflection-count/a" || !p[0].Rebuildable {
		t.Error(p)
	}
}

func TestUserOf(t *testing.T) {
	for namespace, want := range map[string]string{"users/anna": "anna", "users/anna/notes": "", "users": "", "users/": "", "team": "", "users/a b": ""} {
		if got := reflection.UserOf(namespace); got != want {
			t.Errorf("%q is %q's", namespace, got)
		}
	}
}
