package run_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	corerun "github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/sdk"
)

// TestManyRunsAtOnce records 16 runs at the same time, and finds each whole.
func TestManyRunsAtOnce(t *testing.T) {
	const many, attempts = 16, 3
	onEngines(t, func(t *testing.T, s core.Store) {
		var ids coretest.IDs
		runs := corerun.NewRepository(s, &coretest.Clock{})
		var all sync.WaitGroup
		for range many {
			run := &core.Run{ID: ids.NewID(), Workflow: "w", State: jsontext.MustEncode(map[string]any{})}
			all.Go(func() {
				if err := recordRun(t, runs, run, attempts); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		listed, _, err := runs.List(t.Context(), corerun.ListFilter{Status: core.StatusPassed})
		if err != nil || len(listed) != many {
			t.Fatalf("%d runs are listed, error %v", len(listed), err)
		}
		for _, run := range listed {
			loops, err := runs.Attempts(t.Context(), run.ID)
			if err != nil || len(loops) != 1 || len(loops[0].Attempts) != attempts {
				t.Errorf("run %s: %d loops, error %v", run.ID, len(loops), err)
			}
			if n := verified(t, s, corerun.Stream(run.ID)); n != 2*attempts+3 {
				t.Errorf("run %s: %d events", run.ID, n)
			}
		}
	})
}

// verified proves that a stream is whole, and returns how many entries it has.
func verified(t *testing.T, s core.Store, stream string) (entries int) {
	t.Helper()
	err := s.View(t.Context(), func(r core.Reader) error {
		if _, err := (&journal.Audit{}).Verify(t.Context(), r); err != nil {
			return err
		}
		return journal.Read(r, stream, func(journal.Entry) error { entries++; return nil })
	})
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// TestOneStreamTakesManyWriters: all append to the same chain, which stays whole.
func TestOneStreamTakesManyWriters(t *testing.T) {
	const writers, rounds = 16, 5
	onEngines(t, func(t *testing.T, s core.Store) {
		var all sync.WaitGroup
		for range writers {
			all.Go(func() {
				for i := range rounds {
					err := s.Update(t.Context(), func(tx core.Tx) error {
						return journal.Append(t.Context(), tx, "shared", coretest.Epoch(), journal.RunResumed{Epoch: i}, journal.RunResumed{Epoch: i})
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		if n := verified(t, s, "shared"); n != 2*writers*rounds {
			t.Errorf("%d entries, want %d", n, 2*writers*rounds)
		}
	})
}

// TestOneOfManyResumes: of several hosts that find a run abandoned, the last one
// to resume it continues and the others get an error.
func TestOneOfManyResumes(t *testing.T) {
	const hosts = 8
	onEngines(t, func(t *testing.T, s core.Store) {
		run := &core.Run{ID: runID, Workflow: "w", State: jsontext.MustEncode(map[string]any{})}
		if err := corerun.NewRepository(s, &coretest.Clock{}).Create(t.Context(), run); err != nil {
			t.Fatal(err)
		}
		recorders := make([]core.RunRecorder, hosts)
		var all sync.WaitGroup
		for i := range hosts {
			all.Go(func() {
				runs := corerun.NewRepository(s, &coretest.Clock{})
				resumed, err := runs.Resume(t.Context(), runID)
				if err != nil {
					t.Error(err)
					return
				}
				recorders[i] = runs.Recorder(resumed)
			})
		}
		all.Wait()
		reasons := map[string]int{}
		for _, r := range recorders {
			err := r.Attempts(1, "loop").RecordOutput(t.Context(), output(1))
			reasons[sdk.ReasonOf(err)]++
		}
		if fmt.Sprint(reasons) != fmt.Sprint(map[string]int{"": 1, "run_taken_over": hosts - 1}) {
			t.Errorf("the hosts' records end with %v", reasons)
		}
		verified(t, s, corerun.Stream(runID))
	})
}

// TestRecordsBreakNothingWhenTheyFail: a record that is refused leaves no trace.
func TestRecordsBreakNothingWhenTheyFail(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		runs := corerun.NewRepository(s, &coretest.Clock{})
		run := &core.Run{ID: runID, Workflow: "w", State: jsontext.MustEncode(map[string]any{})}
		if err := runs.Create(t.Context(), run); err != nil {
			t.Fatal(err)
		}
		loop := runs.Recorder(run).Attempts(1, "loop")
		broken := output(1)
		broken.Output = []byte("{")
		if err := loop.RecordOutput(t.Context(), broken); sdk.ReasonOf(err) != "record_invalid" {
			t.Errorf("an output that isn't JSON: %v", err)
		}
		huge := output(1)
		huge.Feedback = string(make([]byte, 4<<20)) // each byte takes 6 in JSON, and the rest is over the limit
		if err := loop.RecordOutput(t.Context(), huge); sdk.ReasonOf(err) != "attempt_too_large" || !strings.Contains(err.Error(), "attempt 1 of node loop") {
			t.Errorf("a record that is too large: %v", err)
		}
		if n := verified(t, s, corerun.Stream(runID)); n != 1 {
			t.Errorf("%d events, want the start only", n)
		}
		if err := loop.RecordOutput(t.Context(), output(1)); err != nil {
			t.Errorf("the record after the refused ones: %v", err)
		}
	})
}
