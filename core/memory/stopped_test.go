package memory_test

import (
	"context"
	"errors"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

var errStopped = errors.New("stopped")

// stopping is a store whose host goes away before a commit.
type stopping struct {
	core.Store
	commits int
}

// Update implements [core.Store].
func (s *stopping) Update(ctx context.Context, fn func(core.Tx) error) error {
	if s.commits == 0 {
		return errStopped
	}
	s.commits--
	return s.Store.Update(ctx, fn)
}

// failThrice is a script of calls that can be made again after it was stopped.
func failThrice(ctx context.Context, w *world) error {
	m, err := w.Observe(ctx, &core.ObserveRequest{ID: "m", Namespace: "ns", Content: "c"})
	if sdk.ReasonOf(err) == "id_taken" {
		if m, err = w.Get(ctx, "m"); sdk.ReasonOf(err) == "memory_purged" {
			m, err = &core.Memory{ID: "m"}, nil
		}
	}
	if err != nil {
		return err
	}
	for turn := range int64(3) {
		if err := w.RecordTurn(ctx, "s", turn, []core.Recalled{{Memory: m, Score: 1}}); err != nil &&
			sdk.ReasonOf(err) != "turn_closed" && sdk.ReasonOf(err) != "turn_out_of_order" {
			return err
		}
		r := &core.FeedbackRequest{Session: "s", Turn: turn, Outcome: core.OutcomeFailure, Used: []string{m.ID}}
		if _, err := w.Feedback(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// TestStoppedBeforeAnyCommitNothingIsHalf stops a host before each of its
// commits, checks what is stored, and lets another host continue with the same
// calls: it reaches the same end.
func TestStoppedBeforeAnyCommitNothingIsHalf(t *testing.T) {
	for next, ended := range map[string]core.MemoryState{
		verdict.NextPurge: core.StatePurged, verdict.NextPromote: core.StatePromoted, verdict.NextRetain: core.StateCooling,
	} {
		commits := 0
		for ; ; commits++ {
			s := &stopping{Store: empty(t), commits: commits}
			err := failThrice(t.Context(), living(t, s, decides(next, .9), nil))
			if err == nil {
				break
			}
			if !errors.Is(err, errStopped) {
				t.Fatalf("%s, before commit %d: %v", next, commits+1, err)
			}
			w := living(t, s.Store, decides(next, .9), func(o *memory.Options) { o.IDs = &core.SystemIDs{} })
			if list := w.problems(t); len(list) != 0 {
				t.Errorf("%s, stopped before commit %d: %+v", next, commits+1, list)
			}
			if err := failThrice(t.Context(), w); err != nil {
				t.Fatalf("%s, after commit %d: %v", next, commits, err)
			}
			e, err := w.Explain(t.Context(), "m")
			if err != nil || e.State != ended || len(e.Decisions) != 1 || len(w.problems(t)) != 0 {
				t.Errorf("%s, stopped before commit %d, then ended as %+v, %v; problems %+v", next, commits+1, e, err, w.problems(t))
			}
		}
		if commits != 8 { // the memory, three times a recall and a feedback, and the gate
			t.Errorf("%s took %d commits", next, commits)
		}
	}
}
