package workflow

import (
	"encoding/json"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/workflow/action"
	"github.com/reflectory/reflectory/sdk"
)

// A run's status is the worst of what its loops came to, each at its newest visit, so that
// a node after a loop that was exhausted can't make the run pass. The workflow may say of a
// loop that it may be exhausted (on_exhausted: continue).

// outcome has the fields that the results of all actions may have for the run. A field
// that a result doesn't have stays zero.
type outcome struct {
	Status     core.Status     `json:"status"`
	StopReason core.StopReason `json:"stop_reason"`
	Valid      bool            `json:"valid"`
	Score      float64         `json:"score"`
	Iteration  int             `json:"iteration"`
	Best       core.Best       `json:"best"`
	History    []struct{}      `json:"history"`
	Usage      core.RunUsage   `json:"usage"`
	Error      *core.ErrorInfo `json:"error"`
}

// finish puts a visit's result into the state and the run, and reports whether the run
// ends with it.
func (w *walk) finish(node *Node, v *core.Visit) (ended bool, err error) {
	w.visits, w.trail, w.run.Open = v.Number, append(w.trail, v.Node), core.RunUsage{}
	if v.Skipped {
		return false, nil
	}
	var o outcome
	if err := json.Unmarshal(v.Result, &o); err != nil {
		return false, sdk.Errorf(sdk.Internal, "result_invalid", "the result of node %q: %w", v.Node, err)
	}
	w.state.Set(v.Node, v.Result)
	w.results.Add(v)
	w.turns.addVisit(node, v, &o)

	run := w.run
	run.Status, run.StopReason, run.Error = core.StatusPassed, o.StopReason, o.Error
	w.turns.best = o.Best.Score
	switch s := node.Action.(type) {
	case *action.LoopSpec:
		run.Status, run.Score, run.Iterations = o.Status, o.Score, len(o.History)
		if s.Continues && o.Status == core.StatusExhausted {
			run.Status, run.Error = core.StatusPassed, nil
		}
		if o.Status.Resumable() {
			run.Open = o.Usage
		}
	case *action.EvaluateSpec:
		run.Score, w.turns.best = o.Score, o.Score
		if !o.Valid {
			run.Status = core.StatusExhausted
		}
	}
	ended = run.Status != core.StatusPassed && run.Status != core.StatusExhausted
	w.conclude(ended)
	run.Usage.TokensIn += o.Usage.TokensIn
	run.Usage.TokensOut += o.Usage.TokensOut
	run.Usage.CostUSD += o.Usage.CostUSD
	run.Usage.WallMillis += o.Usage.WallMillis + w.calls.Milliseconds()
	w.calls = 0
	return ended, nil
}

// conclude notes which loops are exhausted, and lets the worst of them decide a run that a
// loop hasn't ended.
func (w *walk) conclude(ended bool) {
	run, worst := w.run, (*judged)(nil)
	run.ExhaustedLoops = nil
	for i := range w.turns.newest {
		l := &w.turns.newest[i]
		if l.outcome.Status != core.StatusExhausted {
			continue
		}
		run.ExhaustedLoops = append(run.ExhaustedLoops, l.node)
		if !l.continues && (worst == nil || l.outcome.Best.Score < worst.outcome.Best.Score) {
			worst = l
		}
	}
	if worst == nil || ended {
		return
	}
	o := &worst.outcome
	run.Status, run.StopReason, run.Error = core.StatusExhausted, o.StopReason, o.Error
	run.Score, run.Iterations, w.turns.best = o.Score, len(o.History), o.Best.Score
}
