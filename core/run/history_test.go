package run_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	corerun "github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/sdk"
)

// marker is in every output, so that the copies of outputs can be counted.
const marker = "a-large-output"

// loopAttempts are the attempts of a loop as they are recorded. The corrector
// failed after the first, and the loop ended before the last was judged.
func loopAttempts() []core.Attempt {
	var list []core.Attempt
	for i := 1; i <= 4; i++ {
		a := *judged(i)
		a.Output = jsontext.MustEncode(fmt.Sprintf("%s <%d>", marker, i))
		list = append(list, a)
	}
	list[1].Raw, list[1].Errors, list[1].Feedback = jsontext.MustEncode("raw"), nil, "no <good>"
	list[1].CorrectorError = &sdk.Finding{Message: "no idea", Type: sdk.TypeCorrectorError}
	list[3].Judged, list[3].Score, list[3].Errors = false, 0, nil
	return list
}

// loopResult is what the loop of these attempts returns.
func loopResult(s core.Status, attempts []core.Attempt) json.RawMessage {
	r := core.LoopResult{RunID: runID, Status: s, Score: 0.5, Output: attempts[0].Output, Errors: []sdk.Finding{}}
	for i := range attempts {
		r.History = append(r.History, attempts[i].HistoryEntry())
	}
	r.History[0].Errors = append(r.History[0].Errors, *attempts[1].CorrectorError)
	r.History[3].Errors = []sdk.Finding{{Message: "not evaluated"}}
	return jsontext.MustEncode(r)
}

// recordLoop records the attempts of a visit and returns its result.
func (b *bench) recordLoop(rec core.RunRecorder, visit int, node string, s core.Status) *core.Visit {
	b.t.Helper()
	loop, attempts := rec.Attempts(visit, node), loopAttempts()
	for i := range attempts {
		if a := &attempts[i]; a.Judged {
			b.must(loop.RecordVerdict(b.ctx, a))
		} else {
			b.must(loop.RecordOutput(b.ctx, a))
		}
	}
	return &core.Visit{Number: visit, Node: node, Result: loopResult(s, attempts)}
}

func runResult(s core.Status, visits ...core.Visit) json.RawMessage {
	var results core.Results
	for i := range visits {
		results.Add(&visits[i])
	}
	return results.Run(&core.Run{ID: runID, Status: s})
}

// copies counts how often the outputs of the attempts are stored, in all values.
func (b *bench) copies() (n int) {
	b.t.Helper()
	b.must(b.store.View(b.ctx, func(r core.Reader) error {
		return r.Scan(nil, nil, func(_, value []byte) (bool, error) {
			n += bytes.Count(value, []byte(marker))
			return true, nil
		})
	}))
	return n
}

// lastDigest is the digest of a result that the newest event holds.
func (b *bench) lastDigest() (digest string) {
	b.t.Helper()
	b.must(b.store.View(b.ctx, func(r core.Reader) error {
		return journal.Read(r, corerun.Stream(runID), func(e journal.Entry) error {
			var data struct{ Result string }
			err := json.Unmarshal(e.Data, &data)
			digest = data.Result
			return err
		})
	}))
	return digest
}

func TestAHistoryIsStoredOnceAndReadWhole(t *testing.T) {
	for _, s := range []core.Status{core.StatusExhausted, core.StatusCancelled} {
		t.Run(string(s), func(t *testing.T) {
			b := newBench(t)
			rec := b.runs.Recorder(b.run)
			call := core.Visit{Number: 1, Node: "call", Result: []byte(`{"output":"x","history":[1,2]}`), Next: "first"}
			b.must(rec.RecordVisit(b.ctx, &call))
			first := b.recordLoop(rec, 2, "first", core.StatusExhausted)
			first.Next = "second"
			b.must(rec.RecordVisit(b.ctx, first))
			second := b.recordLoop(rec, 3, "second", s)
			want := []core.Visit{call, *first}
			open := second
			if !s.Resumable() {
				b.must(rec.RecordVisit(b.ctx, second))
				want, open = append(want, *second), nil
			}
			result := runResult(s, call, *first, *second)
			b.must(rec.RecordEnd(b.ctx, &core.Run{ID: runID, Status: s, Result: result}, open))

			if n, attempts := b.copies(), 2*len(loopAttempts()); n != attempts+2*2 { // and each result's output and newest entry
				t.Errorf("the outputs of %d attempts are stored %d times", attempts, n)
			}
			visits, err := b.runs.Visits(b.ctx, runID)
			b.must(err)
			if diff := cmp.Diff(want, visits); diff != "" {
				t.Errorf("Visits (-want +got):\n%s", diff)
			}
			run, err := b.runs.Get(b.ctx, runID)
			b.must(err)
			if string(run.Result) != string(result) || b.lastDigest() != core.Digest(run.Result) {
				t.Errorf("the run's result is\n%s, want\n%s", run.Result, result)
			}
			if !s.Resumable() {
				return
			}
			if run, err = corerun.NewRepository(b.store, &tick{}).Resume(b.ctx, runID); err != nil || run.Result != nil {
				t.Errorf("resumed with result %s, error %v", run.Result, err)
			}
			progress, err := b.runs.Progress(b.ctx, runID)
			b.must(err)
			if diff := cmp.Diff(core.Progress{Visits: want, Attempts: loopAttempts()}, progress); diff != "" {
				t.Errorf("Progress (-want +got):\n%s", diff)
			}
		})
	}
}

func TestARunThatEndedByAnErrorHasNoResult(t *testing.T) {
	b := newBench(t)
	rec := b.runs.Recorder(b.run)
	b.must(rec.RecordVisit(b.ctx, &core.Visit{Number: 1, Node: "call", Result: []byte(`{}`), Next: "next"}))
	b.must(rec.RecordEnd(b.ctx, &core.Run{ID: runID, Status: core.StatusError, Error: &core.ErrorInfo{Code: "x"}}, nil))
	run, err := b.runs.Get(b.ctx, runID)
	b.must(err)
	if run.Result != nil || run.Error == nil {
		t.Errorf("result %s, error %+v", run.Result, run.Error)
	}
}

// rewrite changes a stored value.
func (b *bench) rewrite(key []byte, change func(value []byte) []byte) {
	b.t.Helper()
	b.must(b.store.Update(b.ctx, func(tx core.Tx) error {
		value, _, err := tx.Get(key)
		if err != nil {
			return err
		}
		return tx.Put(key, change(value))
	}))
}

// TestResultsThatHoldTheirHistoryAreReadAsTheyAre reads records as they were
// written before histories were left out of results.
func TestResultsThatHoldTheirHistoryAreReadAsTheyAre(t *testing.T) {
	b := newBench(t)
	rec := b.runs.Recorder(b.run)
	visit := b.recordLoop(rec, 1, "first", core.StatusExhausted)
	b.must(rec.RecordVisit(b.ctx, visit))
	b.must(rec.RecordEnd(b.ctx, &core.Run{ID: runID, Status: core.StatusExhausted}, nil))
	b.rewrite(corerun.VisitKey(runID, 1), func([]byte) []byte { return jsontext.MustEncode(visit) })
	b.rewrite(corerun.ResultKey(runID), func([]byte) []byte { return []byte(`{"result":{"as":"it was"}}`) })
	visits, err := b.runs.Visits(b.ctx, runID)
	b.must(err)
	if diff := cmp.Diff([]core.Visit{*visit}, visits); diff != "" {
		t.Errorf("Visits (-want +got):\n%s", diff)
	}
	run, err := b.runs.Get(b.ctx, runID)
	b.must(err)
	if string(run.Result) != `{"as":"it was"}` {
		t.Errorf("the run's result is %s", run.Result)
	}
}

func TestAHistoryThatDoesNotFitTheAttemptsIsCorrupt(t *testing.T) {
	for _, iteration := range []string{`{"iteration":9`, `{"iteration":0`, `{"iteration":"x"`} {
		b := newBench(t)
		rec := b.runs.Recorder(b.run)
		b.must(rec.RecordVisit(b.ctx, b.recordLoop(rec, 1, "first", core.StatusExhausted)))
		b.rewrite(corerun.VisitKey(runID, 1), func(value []byte) []byte {
			return []byte(strings.Replace(string(value), `{"iteration":4`, iteration, 1))
		})
		_, err := b.runs.Progress(b.ctx, runID)
		b.wantReason(err, "record_corrupt")
	}
}
