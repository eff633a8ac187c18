package services

import (
	"context"
	"encoding/json"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

// complete answers llm.complete with the generator of the model in the call's scope, and
// charges its usage to the call of the asking plugin. The generator is called under the
// same scope, and so with that scope's key.
func (h *Host) complete(ctx context.Context, r plugin.ServiceRequest, q *sdk.LLMRequest) (*sdk.LLMResponse, error) {
	target, err := model(ctx, r, q)
	if err != nil {
		return nil, err
	}
	// The request has no idempotency key: the calling step's key stands for that step's own output.
	request := &sdk.GenerateRequest{Call: sdk.Call{RunID: r.RunID, Role: sdk.RoleGenerate}, State: json.RawMessage(`{}`)}
	response, err := core.PluginGenerator(r.Plugins, target).Generate(ctx, request)
	if err != nil {
		plugin.Charge(ctx, spentBefore(err))
		return nil, err
	}
	plugin.Charge(ctx, response.Usage)
	return &sdk.LLMResponse{Output: response.Output, Usage: response.Usage, Metadata: response.Metadata}, nil
}

// model returns the generator that asks the model.
func model(ctx context.Context, r plugin.ServiceRequest, q *sdk.LLMRequest) (core.Target, error) {
	target := plugin.ScopeOf(ctx).LLM
	if r.Plugins == nil || target.Plugin == "" {
		return target, sdk.Errorf(sdk.Invalid, "llm_not_configured", "plugin %s asks for a language model, and the host has none", r.Plugin).
			WithHint(`write in the workflow: settings: {llm: {provider: ollama, base_url: "http://127.0.0.1:11434", model: "llama3.2"}}`)
	}
	if r.Plugin == target.Plugin {
		return target, sdk.Errorf(sdk.Denied, "service_recursion", "plugin %s answers %s itself, and can't ask for it", r.Plugin, r.Service).
			WithHint("call the model directly")
	}
	config, err := merge(target.Config, q)
	if err != nil {
		return target, invalid(r, "%w", err)
	}
	target.Config, target.Digest = config, ""
	if deadline, ok := ctx.Deadline(); ok && target.Timeout == 0 {
		target.Timeout = modelTime(time.Until(deadline))
	}
	return target, nil
}

// modelTime is how much of a call's time the model gets, by default: all but a tenth. In
// that tenth the plugin can still use a late answer or handle a missing one.
func modelTime(left time.Duration) time.Duration { return left - left/10 }

// merge adds a question to the endpoint's config. The config's own keys win: no plugin
// chooses where an API key is sent.
func merge(base json.RawMessage, q *sdk.LLMRequest) (json.RawMessage, error) {
	question, err := jsontext.Encode(q)
	if err != nil {
		return nil, err
	}
	config := map[string]json.RawMessage{}
	for _, part := range []json.RawMessage{question, base} {
		if len(part) == 0 {
			continue
		}
		if err := json.Unmarshal(part, &config); err != nil {
			return nil, err
		}
	}
	return jsontext.Encode(config)
}

// spentBefore is the usage in an error's details.
func spentBefore(err error) sdk.Usage {
	var u sdk.Usage
	encoded, encodeErr := json.Marshal(sdk.AsError(err).Details["usage"])
	if encodeErr != nil || json.Unmarshal(encoded, &u) != nil || u.TokensIn < 0 || u.TokensOut < 0 || u.CostUSD < 0 {
		return sdk.Usage{}
	}
	return u
}
