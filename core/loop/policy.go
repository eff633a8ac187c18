package loop

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/sdk"
)

// Policy decides whether an attempt passes, and whether a loop gives up.
type Policy interface {
	Loop(ctx context.Context, in *policypoint.LoopInput) policypoint.LoopOutcome
}

// applyRuling applies the ruling on the last attempt, and the decision of the loop's policy on
// it. If the policy fails, it isn't known whether the attempt passes. The attempt then
// stays unjudged, and the run ends with status error.
func (d *driver) applyRuling(ctx context.Context, r ruling) error {
	before, attempt := d.engine, *d.engine.last()
	d.engine.judged(&r.Verdict, r.Usage, r.accepted)
	if d.o.Policy == nil {
		return nil
	}
	out := d.policyOutcome(ctx)
	d.engine.stop = out.Stop
	if r.failed { // an attempt that nobody judged can't pass
		return nil
	}
	if out.Decision.Failure != nil {
		d.engine = before
		*d.engine.last() = attempt
		d.engine.addUsage(r.Usage)
		return policyFailed(&out.Decision)
	}
	d.engine.last().Accepted = out.Accept
	return nil
}

// askToStop asks the policy whether the loop gives up after the last attempt. That
// attempt wasn't judged, or its verdict is already recorded. If the policy fails, the
// loop stops.
func (d *driver) askToStop(ctx context.Context) {
	if d.o.Policy != nil && !d.engine.last().Accepted {
		d.engine.stop = d.policyOutcome(ctx).Stop
	}
}

// policyOutcome asks the policy about the last attempt as it was judged.
func (d *driver) policyOutcome(ctx context.Context) policypoint.LoopOutcome {
	e, last := &d.engine, d.engine.last()
	return d.o.Policy.Loop(ctx, &policypoint.LoopInput{
		Namespace: d.o.Namespace, Workflow: d.o.Workflow, Valid: last.Valid, Accepted: last.Accepted,
		Score: last.Score, BestScore: e.attempts[e.best].Score, Iteration: int64(last.Iteration),
		Errors: last.Errors, Output: last.Output, History: e.history,
		Usage: core.RunUsage{Usage: e.usage, WallMillis: d.active.millis()},
	})
}

func policyFailed(d *policypoint.Decision) error {
	f := d.Failure
	err := sdk.Errorf(sdk.Invalid, f.Code, "the loop policy %s failed: %s", d.File, f.Message)
	return err.WithHint("fix the policy, then resume the run; see how the policy decides").
		WithAction("policy explain", "point", string(policypoint.Loop)).
		WithDetail("file", d.File).WithDetail("path", d.Path)
}
