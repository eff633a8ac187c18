package workflow

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// outcome is what the results of all actions have to say to the run. A result
// without a field leaves it zero.
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

// finish takes a visit's result into the state and the run, and says whether
// the run ends with it.
func (w *walk) finish(node *Node, v *core.Visit) (ended bool, err error) {
	w.visits, w.trail, w.run.Open = v.Number, append(w.trail, v.Node), core.RunUsage{}
	if v.Skipped {
		return false, nil
	}
	var o outcome
	if err := json.Unmarshal(v.Result, &o); err != nil {
		return false, sdk.Errorf(sdk.Internal, "result_invalid", "the result of node %q: %w", v.Node, err)
	}
	w.state.set(v.Node, v.Result)
	w.results.Add(v)
	w.turns.take(node, v, &o)

	run := w.run
	run.Status, run.StopReason, run.Error = core.StatusPassed, o.StopReason, o.Error
	switch node.Action.(type) {
	case *core.LoopSpec:
		run.Status, run.Score, run.Iterations = o.Status, o.Score, len(o.History)
		if o.Status.Resumable() {
			run.Open = o.Usage
		}
	case *core.EvaluateSpec:
		run.Score = o.Score
		if !o.Valid {
			run.Status = core.StatusExhausted
		}
	}
	run.Usage.TokensIn += o.Usage.TokensIn
	run.Usage.TokensOut += o.Usage.TokensOut
	run.Usage.CostUSD += o.Usage.CostUSD
	run.Usage.WallMillis += o.Usage.WallMillis + w.calls.Milliseconds()
	w.calls = 0
	return run.Status != core.StatusPassed && run.Status != core.StatusExhausted, nil
}

// state is a run's state, encoded and decoded once per change.
type state struct {
	members map[string]json.RawMessage
	encoded json.RawMessage
	decoded map[string]any
}

func newState(object json.RawMessage) (state, error) {
	members, err := decodeObject(object)
	if err != nil {
		return state{}, err
	}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		if err := checkKey(key); err != nil {
			return state{}, err
		}
	}
	return state{members: members}, nil
}

func (s *state) set(key string, value json.RawMessage) {
	s.members[key] = value
	s.encoded, s.decoded = nil, nil
}

func (s *state) json() json.RawMessage {
	if s.encoded == nil {
		s.encoded = encodeObject(s.members)
	}
	return s.encoded
}

// vars are the variables of core.PointWhen.
func (s *state) vars() (map[string]any, error) {
	if s.decoded == nil {
		v, err := core.DecodeJSON(s.json())
		if err != nil {
			return nil, sdk.Wrap("read the state", err)
		}
		s.decoded = map[string]any{"state": v}
	}
	return s.decoded, nil
}
