package loop

import (
	"context"
	"encoding/json"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// ReplayOptions is a recorded loop to judge again.
type ReplayOptions struct {
	// Evaluator judges; it may differ from the recorded one.
	Evaluator sdk.Evaluator
	// Limits are the loop's limits. A replay uses only the ones for judging: Accept,
	// HistoryLimit, EvaluatorRetries and OnEvaluatorError.
	Limits Limits
	// Policy, Namespace and Workflow are as in [Options].
	Policy              Policy
	Namespace, Workflow string
	// State is the state at the loop's start.
	State json.RawMessage
	// Attempts are the recorded attempts.
	Attempts []core.Attempt
	// Node names the loop in requests. There is no run id, so that no plugin repeats its
	// first answer.
	Node string
}

// Replayed is one attempt, as it was judged and as it is judged now.
type Replayed struct {
	Iteration int      `json:"iteration"`
	Was       Judgment `json:"was"`
	Now       Judgment `json:"now"`
	// Changed is whether the attempt passes now but didn't before, or the reverse, or has a
	// different score or different errors.
	Changed bool `json:"changed"`
}

// Judgment is a verdict and whether the attempt passed.
type Judgment struct {
	Valid    bool          `json:"valid"`
	Accepted bool          `json:"accepted"`
	Score    float64       `json:"score"`
	Errors   []sdk.Finding `json:"errors"`
}

// Replay judges recorded attempts again, each with the history that it had. It calls no
// generator or corrector, and records nothing. Attempts whose generator failed are
// unchanged.
func Replay(ctx context.Context, o *ReplayOptions) ([]Replayed, error) {
	d, err := newDriver(&Options{
		State: o.State, Node: o.Node,
		Limits: Limits{
			Accept: o.Limits.Accept, HistoryLimit: o.Limits.HistoryLimit,
			EvaluatorRetries: o.Limits.EvaluatorRetries, OnEvaluatorError: o.Limits.OnEvaluatorError,
		},
		Evaluator: o.Evaluator, Policy: o.Policy, Namespace: o.Namespace, Workflow: o.Workflow,
	})
	if err != nil {
		return nil, err
	}
	var out []Replayed
	for _, a := range o.Attempts {
		now, err := d.rejudge(ctx, a)
		if err != nil {
			return out, err
		}
		if !a.Judged {
			break
		}
		if err := d.engine.replay([]core.Attempt{a}); err != nil {
			return out, err
		}
		was := judgment(&a)
		out = append(out, Replayed{Iteration: a.Iteration, Was: was, Now: now, Changed: changed(a, now)})
	}
	return out, nil
}

// rejudge gets a new verdict on an attempt, and then removes the attempt from the engine.
func (d *driver) rejudge(ctx context.Context, a core.Attempt) (Judgment, error) {
	if a.GeneratorFailed() || !a.Judged {
		return judgment(&a), nil
	}
	if len(a.Raw) > 0 {
		a.Output = a.Raw
	}
	before := d.engine
	defer func() { d.engine = before }()
	d.engine.add(a)
	r, err := d.verdict(ctx)
	if err == nil {
		err = d.applyRuling(ctx, r)
	}
	if err != nil {
		return Judgment{}, err
	}
	v := r.Verdict
	return Judgment{Valid: v.Valid, Accepted: d.engine.last().Accepted, Score: v.Score, Errors: nonNil(v.Errors)}, nil
}

func judgment(a *core.Attempt) Judgment {
	return Judgment{Valid: a.Valid, Accepted: a.Accepted, Score: a.Score, Errors: nonNil(a.Errors)}
}

func changed(was core.Attempt, now Judgment) bool {
	then := core.Attempt{Errors: now.Errors}
	return was.Valid != now.Valid || was.Accepted != now.Accepted || was.Score != now.Score ||
		errorsKey(&was) != errorsKey(&then)
}

// nonNil is a list that JSON shows as [], not as null.
func nonNil(findings []sdk.Finding) []sdk.Finding {
	if findings == nil {
		return []sdk.Finding{}
	}
	return findings
}
