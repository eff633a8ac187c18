package host

import (
	"context"
	"encoding/json"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/loop"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

// Act has plugins do one action outside a run: an evaluation or a correction of one
// output. State is a JSON object that they see; nil is an empty one.
func (h *Host) Act(ctx context.Context, need Need, action core.Action, state json.RawMessage) (any, error) {
	plugins, err := h.Plugins()
	if err != nil {
		return nil, err
	}
	scope, err := h.Scope(need)
	if err != nil {
		return nil, err
	}
	ctx = plugin.WithScope(ctx, scope)
	actions := &loop.Actions{Plugins: plugins, Clock: h.config.Clock}
	h.config.Activity(StartingPlugins)
	defer h.config.Activity("")
	refused, broken := actions.Prepare(ctx, action)
	if err := core.Together(append(refused, broken...)...); err != nil {
		return nil, err
	}
	h.config.Activity(CallingPlugins)
	result, err := actions.Act(ctx, &core.ActionRequest{Visit: 1, Action: action, State: state})
	return result, stepFailed(err)
}

// stepFailed is the failure of an evaluator, a corrector or a generator. It is never this
// host's own refusal: an endpoint that denies a key forbids nothing here.
func stepFailed(err error) error {
	if sdk.CodeOf(err) != sdk.Denied {
		return err
	}
	failure := *sdk.AsError(err)
	failure.Code = sdk.Unavailable
	return &failure
}
