package memory_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

// writers is how many reflect at once (spec of the store: 64).
const writers = 64

// quiet is a world whose subscribers note nothing, for many goroutines.
func quiet(t *testing.T, s core.Store) *world {
	return newWorld(t, s, func(o *memory.Options) { o.Subscribers = nil })
}

// TestManyReflectOnSharedSources: each writer reflects on sources that all share,
// in two namespaces, under titles that some share.
func TestManyReflectOnSharedSources(t *testing.T) {
	const rounds, titles = 4, 48
	onEngines(t, func(t *testing.T, s core.Store) {
		w := quiet(t, s)
		shallow, deep := w.chain(t, "a", 0), w.chain(t, "b", 2)
		var all sync.WaitGroup
		var made, taken atomic.Int64
		for i := range writers {
			all.Go(func() {
				for round := range rounds {
					n := (i*rounds + round) % titles
					sources, depth := []string{shallow}, 1
					if n%2 == 0 {
						sources, depth = []string{shallow, deep}, 3
					}
					r, err := w.Reflect(t.Context(), &core.ReflectRequest{
						SourceIDs: sources, Namespace: []string{"a", "b"}[n%2], Title: fmt.Sprint("t", n), Content: "c",
					})
					switch {
					case err == nil && r.ReflectionDepth == depth:
						made.Add(1)
					case sdk.ReasonOf(err) == "title_taken":
						taken.Add(1)
					default:
						t.Errorf("%+v, error %v", r, err)
					}
				}
			})
		}
		all.Wait()
		if made.Load() != titles || taken.Load() != writers*rounds-titles {
			t.Errorf("%d reflections and %d refusals, want %d of %d", made.Load(), taken.Load(), titles, writers*rounds)
		}
		w.whole(t, titles+4)
	})
}

// whole proves that a store is as it should be, with a number of memories.
func (w *world) whole(t *testing.T, memories int) {
	t.Helper()
	if list := w.problems(t); len(list) != 0 {
		t.Errorf("problems: %+v", list)
	}
	page, err := w.List(t.Context(), memory.ListFilter{Subtree: true, Limit: memory.MaxListLimit})
	if err != nil || len(page.Memories) != memories {
		t.Errorf("%d memories, want %d, error %v", len(page.Memories), memories, err)
	}
	wantJournalWhole(t, w.store)
}

// TestASourcePurgedInBetweenIsRefused: reflections and the purge of their source
// race. Each reflection came before the purge, and has its link, or is refused.
func TestASourcePurgedInBetweenIsRefused(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := quiet(t, s)
		id := w.chain(t, "a", 0)
		var all sync.WaitGroup
		var made atomic.Int64
		for i := range writers {
			all.Go(func() {
				if i == writers/2 {
					if err := w.Remove(t.Context(), id); err != nil {
						t.Error(err)
					}
					return
				}
				_, err := w.Reflect(t.Context(), &core.ReflectRequest{SourceIDs: []string{id}, Title: fmt.Sprint(i), Content: "c"})
				switch sdk.ReasonOf(err) {
				case "":
					made.Add(1)
				case "source_purged":
				default:
					t.Error(err)
				}
			})
		}
		all.Wait()
		page, err := w.List(t.Context(), memory.ListFilter{Namespace: "a"})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range page.Memories {
			from, _, err := w.Links(t.Context(), m.ID)
			if err != nil || len(from) != 1 || from[0].To != "purged:"+id {
				t.Errorf("links of %s: %v, error %v", m.ID, from, err)
			}
		}
		e, err := w.Explain(t.Context(), id)
		if err != nil || int64(len(e.LinksTo)) != 0 || made.Load() < int64(len(page.Memories)) {
			t.Errorf("explanation %+v, error %v", e, err)
		}
	})
}

// TestOneRequestIsCarriedOutOnce: of many with the same idempotency key one
// writes, and all get its outcome.
func TestOneRequestIsCarriedOutOnce(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := quiet(t, s)
		id := w.chain(t, "a", 0)
		var all sync.WaitGroup
		var outcomes sync.Map
		for range writers {
			all.Go(func() {
				r, err := w.Reflect(t.Context(), &core.ReflectRequest{SourceIDs: []string{id}, Title: "t", Content: "c", IdempotencyKey: "k"})
				if err != nil {
					t.Error(err)
					return
				}
				outcomes.Store(r.ID, true)
			})
		}
		all.Wait()
		n := 0
		outcomes.Range(func(_, _ any) bool { n++; return true })
		if n != 1 {
			t.Errorf("%d outcomes", n)
		}
		w.whole(t, 2)
	})
}

// TestLimitsHoldAgainstMany: many observe into a namespace with little room.
func TestLimitsHoldAgainstMany(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := quiet(t, s)
		w.governor["ns"] = core.Governance{Limits: core.NamespaceLimits{MaxMemories: 20}}
		var all sync.WaitGroup
		for range writers {
			all.Go(func() {
				_, err := w.Observe(t.Context(), &core.ObserveRequest{Namespace: "ns", Content: "c"})
				if err != nil && sdk.ReasonOf(err) != "namespace_full" {
					t.Error(err)
				}
			})
		}
		all.Wait()
		w.whole(t, 20)
	})
}

// TestTheSameCallsMakeTheSameStore: with a fixed clock and counted ids.
func TestTheSameCallsMakeTheSameStore(t *testing.T) {
	first, second := dump(t, full(t, empty(t)).store), dump(t, full(t, openPebble(t)).store)
	if diff := cmp.Diff(first, second); diff != "" || len(first) == 0 {
		t.Errorf("(-first +second):\n%s", diff)
	}
}
