package host

import (
	"context"
	"encoding/json"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/workflow/action"
	"github.com/reflectory/reflectory/sdk"
)

// Act lets plugins do one action outside a run: the evaluation or correction of one
// output. state is a JSON object that they see; nil is an empty one.
func (r *Runner) Act(ctx context.Context, need Need, spec action.Spec, state json.RawMessage) (any, error) {
	plugins, ctx, release, err := r.plugins.scoped(ctx, need)
	if err != nil {
		return nil, err
	}
	defer release()
	actions := &action.Actions{Plugins: plugins, Clock: r.config.Clock}
	r.config.Activity(StartingPlugins)
	defer r.config.Activity("")
	refused, broken := actions.Prepare(ctx, spec)
	if err := core.JoinErrors(append(refused, broken...)...); err != nil {
		return nil, err
	}
	r.config.Activity(CallingPlugins)
	result, err := actions.Act(ctx, &action.Request{Visit: 1, Action: spec, State: state})
	return result, stepFailed(err)
}

// stepFailed is the error of an evaluator, a corrector or a generator that failed. It
// never counts as a refusal by this host, even if an endpoint denied a key: then the step's
// settings are wrong, and another try can't help.
func stepFailed(err error) error {
	if sdk.CodeOf(err) != sdk.Denied {
		return err
	}
	failure := *sdk.AsError(err)
	failure.Code = sdk.Invalid
	return &failure
}
