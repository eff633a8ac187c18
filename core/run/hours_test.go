package run_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/sdk"
)

// ended stores a run of a workflow that ended.
func ended(t *testing.T, runs *run.Repository, r *core.Run, status core.Status) {
	t.Helper()
	if err := runs.Create(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	end(t, runs, r, status)
}

func end(t *testing.T, runs *run.Repository, r *core.Run, status core.Status) {
	t.Helper()
	r.Status = status
	if err := runs.Recorder(r).RecordEnd(t.Context(), r, nil); err != nil {
		t.Error(err)
	}
}

// hours are the counts of all hours, with their parts together.
func hours(t *testing.T, runs *run.Repository, since, until time.Time) map[string]run.Counts {
	t.Helper()
	all := map[string]run.Counts{}
	err := runs.Hours(t.Context(), since, until, func(namespace string) bool { return namespace != "hidden" }, func(h *run.HourCounts) {
		at := fmt.Sprint(h.Hour.Format("02T15 "), h.Namespace, " ", h.Workflow)
		sum := all[at]
		sum.Add(&h.Counts)
		all[at] = sum
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestHours_CountWhatEnded: by the hour of the start, namespace and workflow, without what
// was resumed since, and as often as it is there.
func TestHours_CountWhatEnded(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		clock := &coretest.Clock{}
		runs := run.NewRepository(s, clock)
		n := 0
		next := func(namespace string, iterations int) *core.Run {
			n++
			return &core.Run{
				ID: fmt.Sprint("run-", n), Workflow: "w", Namespace: namespace, StartedAt: clock.Now(), Iterations: iterations,
				Usage: core.RunUsage{Usage: sdk.Usage{TokensIn: 3, TokensOut: 2, CostUSD: 0.001}},
			}
		}
		first := clock.Now()
		ended(t, runs, next("a", 1), core.StatusPassed)
		ended(t, runs, next("a", 3), core.StatusPassed)
		ended(t, runs, next("a", 3), core.StatusExhausted)
		ended(t, runs, next("a", 0), core.StatusCancelled)
		ended(t, runs, next("hidden", 1), core.StatusPassed)
		failed := next("b", 1)
		ended(t, runs, failed, core.StatusError)
		clock.Advance(time.Hour)
		ended(t, runs, next("a", 200), core.StatusPassed)
		h0, h1 := first.UTC().Format("02T15"), clock.Now().UTC().Format("02T15")
		taught := next("c", 1)
		taught.Recalled, taught.Used = 5, 2
		ended(t, runs, taught, core.StatusPassed)
		many := make([]int64, 64)
		many[63] = 1
		want := map[string]run.Counts{
			h0 + " a w": {Passed: 2, Exhausted: 1, PassedBy: []int64{1, 0, 1}, Attempts: 4, Tokens: 15, CostNanos: 3e6},
			h0 + " b w": {Failed: 1, Tokens: 5, CostNanos: 1e6},
			h1 + " a w": {Passed: 1, PassedBy: many, Attempts: 200, Tokens: 5, CostNanos: 1e6},
			h1 + " c w": {Passed: 1, PassedBy: []int64{1}, Attempts: 1, Tokens: 5, CostNanos: 1e6, Recalled: 5, Used: 2},
		}
		if diff := cmp.Diff(want, hours(t, runs, first, clock.Now())); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if got := hours(t, runs, clock.Now(), clock.Now()); len(got) != 2 {
			t.Errorf("the newest hour: %v", got)
		}
		if found := problems(t, s); len(found) > 0 {
			t.Errorf("%v", found)
		}
		if _, err := runs.Resume(t.Context(), failed.ID); err != nil {
			t.Fatal(err)
		}
		if got := hours(t, runs, first, clock.Now()); len(got) != 3 {
			t.Errorf("a run that goes on is counted: %v", got)
		}
		end(t, runs, failed, core.StatusPassed)
		if got := hours(t, runs, first, clock.Now())[h0+" b w"]; got.Passed != 1 || got.Failed != 0 {
			t.Errorf("%+v", got)
		}
		if found := problems(t, s); len(found) > 0 {
			t.Errorf("%v", found)
		}
	})
}

// TestHours_AreReadAsTheyAreWritten, with any names.
func TestHours_AreReadAsTheyAreWritten(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		clock := &coretest.Clock{}
		runs := run.NewRepository(s, clock)
		names := []string{"plain", `quo"te`, "back\\slash", "new\nline", "\u2028", "<b>", "", "ü", `","passed":7`}
		for i, name := range names {
			ended(t, runs, &core.Run{ID: fmt.Sprint("run-", i), Workflow: name, Namespace: "a", StartedAt: clock.Now(), Iterations: i}, core.StatusPassed)
		}
		got := hours(t, runs, clock.Now(), clock.Now())
		for _, name := range names {
			if c := got[clock.Now().UTC().Format("02T15")+" a "+name]; c.Passed != 1 {
				t.Errorf("%q: %+v", name, c)
			}
		}
		if len(got) != len(names) {
			t.Errorf("%v", got)
		}
	})
}

// TestHours_AreMadeAgain from the runs: wrong, stray and missing counts are found.
func TestHours_AreMadeAgain(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		runs := run.NewRepository(s, &coretest.Clock{})
		for i := range 40 {
			started := coretest.Epoch().Add(time.Duration(i) * 10 * time.Minute)
			ended(t, runs, &core.Run{ID: fmt.Sprint("run-", i), Workflow: strings.Repeat("w", i%3), StartedAt: started, Iterations: 1}, core.StatusPassed)
		}
		before := dump(t, s)
		var keys [][]byte
		change(t, s, func(tx core.Tx) error {
			keys = nil
			err := core.ScanPrefix(tx, []byte(run.HourPrefix), func(key, _ []byte) (bool, error) {
				keys = append(keys, append([]byte(nil), key...))
				return true, nil
			})
			if err != nil {
				return err
			}
			stray := append(append([]byte(nil), run.HoursKey(time.Hour.Nanoseconds())...), "stray"...)
			return core.JoinErrors(tx.Delete(keys[0]), tx.Put(keys[1], []byte(`{`)), tx.Put(keys[2], []byte(`{"passed":9}`)), tx.Put(stray, []byte(`{}`)))
		})
		found := problems(t, s)
		if len(found) != 4 || !found[0].Rebuildable {
			t.Errorf("found %v", found)
		}
		ended(t, runs, &core.Run{ID: "another", Workflow: "another"}, core.StatusPassed)
		for range 2 {
			if err := store.Rebuild(t.Context(), s, parts()); err != nil {
				t.Fatal(err)
			}
		}
		if found := problems(t, s); len(found) > 0 {
			t.Errorf("%v", found)
		}
		for _, key := range keys {
			if value := dump(t, s)[string(key)]; value != before[string(key)] {
				t.Errorf("%q is %q, was %q", key, value, before[string(key)])
			}
		}
	})
}

// TestHours_CountRunsThatEndAtOnce: none is lost.
func TestHours_CountRunsThatEndAtOnce(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		clock := &coretest.Clock{}
		runs := run.NewRepository(s, clock)
		var all sync.WaitGroup
		for i := range 100 {
			r := &core.Run{ID: fmt.Sprint("run-", i), Workflow: "w", StartedAt: clock.Now()}
			if err := runs.Create(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			all.Go(func() { end(t, runs, r, core.StatusPassed) })
		}
		all.Wait()
		for at, got := range hours(t, runs, clock.Now(), clock.Now()) {
			if got.Passed != 100 {
				t.Errorf("%s: %+v", at, got)
			}
		}
	})
}

// TestHours_AfterAPruning: the counts are the counts of the runs that are left.
func TestHours_AfterAPruning(t *testing.T) {
	s, clock := empty(t), &coretest.Clock{}
	runs := run.NewRepository(s, clock)
	first := clock.Now()
	for i, status := range []core.Status{core.StatusPassed, core.StatusExhausted} {
		clock.Advance(time.Minute)
		for n := range 8 { // some of both are in the same part of the count
			r := &core.Run{ID: fmt.Sprintf("run-%d-%d", i, n), Workflow: "w", StartedAt: clock.Now(), Iterations: 1, State: []byte("{}")}
			ended(t, runs, r, status)
		}
	}
	done, err := store.Prune(t.Context(), &journal.Writer{Store: s, Clock: clock}, store.PruneOptions{
		Parts: []store.PrunePart{{Name: "runs", Pruner: &run.Pruner{Before: clock.Now()}}}, Dir: t.TempDir(),
	})
	if err != nil || done[0].Streams != 8 {
		t.Fatalf("%+v, %v", done, err)
	}
	for at, got := range hours(t, runs, first, clock.Now()) {
		if got.Passed != 0 || got.Exhausted != 8 {
			t.Errorf("%s: %+v", at, got)
		}
	}
	if found := problems(t, s); len(found) > 0 {
		t.Errorf("%v", found)
	}
}
