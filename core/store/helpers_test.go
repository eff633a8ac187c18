package store_test

import (
	"testing"

	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/run"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/core/store/pebble"
	"github.com/reflectory/reflectory/sdk"
)

// onEngines runs a test on an empty store of each engine.
func onEngines(t *testing.T, test func(t *testing.T, s core.Store)) {
	t.Run("mem", func(t *testing.T) { test(t, mem.Open()) })
	t.Run("pebble", func(t *testing.T) {
		s, err := pebble.Open(t.Context(), pebble.Options{Dir: t.TempDir(), Durability: pebble.Relaxed})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		test(t, s)
	})
}

// recordRun records a run of one loop from its creation to its end.
func recordRun(t *testing.T, runs *run.Repository, run *core.Run, attempts int) error {
	ctx := t.Context()
	if err := runs.Create(ctx, run); err != nil {
		return err
	}
	rec := runs.Recorder(run)
	loop := rec.Attempts(1, "loop")
	for i := 1; i <= attempts; i++ {
		if err := loop.RecordOutput(ctx, output(i)); err != nil {
			return err
		}
		if err := loop.RecordVerdict(ctx, judged(i)); err != nil {
			return err
		}
	}
	if err := rec.RecordVisit(ctx, &core.Visit{Number: 1, Node: "loop"}); err != nil {
		return err
	}
	run.Status = core.StatusPassed
	return rec.RecordEnd(ctx, run, nil)
}

// parts are the parts of a store in this package's tests.
func parts() []core.Checker { return []core.Checker{journal.Checker{}, run.Checker{}} }

// change writes behind the repository's back.
func change(t *testing.T, s core.Store, fn func(core.Tx) error) {
	t.Helper()
	if err := s.Update(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

// someRuns records three runs: one passed, one in the middle of a loop, one that
// only began.
func someRuns(t *testing.T, s core.Store) []string {
	t.Helper()
	if err := store.Prepare(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	ids := []string{runID[:35] + "1", runID[:35] + "2", runID[:35] + "3"}
	runs := run.NewRepository(s, &coretest.Clock{})
	runOf := func(i int) *core.Run {
		return &core.Run{ID: ids[i], Workflow: "w", State: jsontext.MustEncode(map[string]any{})}
	}
	if err := recordRun(t, runs, runOf(0), 3); err != nil {
		t.Fatal(err)
	}
	open := runOf(1)
	for _, err := range []error{
		runs.Create(t.Context(), open),
		runs.Recorder(open).Attempts(1, "loop").RecordOutput(t.Context(), output(1)),
		runs.Recorder(open).Attempts(1, "loop").RecordVerdict(t.Context(), judged(1)),
		runs.Recorder(open).Attempts(1, "loop").RecordOutput(t.Context(), output(2)),
		runs.Create(t.Context(), runOf(2)),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return ids
}

// dump is all that a store holds.
func dump(t *testing.T, s core.Store) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := s.View(t.Context(), func(r core.Reader) error {
		return r.Scan(nil, nil, func(key, value []byte) (bool, error) {
			all[string(key)] = string(value)
			return true, nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

const runID = "0193f2a0-0000-7000-8000-000000000001"

func output(i int) *core.Attempt {
	return &core.Attempt{Iteration: i, Role: sdk.RoleGenerate, Output: jsontext.MustEncode(i), Usage: sdk.Usage{TokensIn: 1}}
}

func judged(i int) *core.Attempt {
	a := output(i)
	a.Judged, a.Score, a.Errors = true, 0.5, []sdk.Finding{{Message: "bad"}}
	return a
}
