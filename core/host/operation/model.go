package operation

import (
	"context"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// ModelAsk is asking a model through the gateway, which isn't in the table: its requests have the shapes
// that model clients send. It gives the right to that, and does nothing.
func ModelAsk() Operation {
	return define(Operation{
		Name: "model_ask", Method: "POST", Path: "/openai/v1, /anthropic/v1", Scope: core.ScopeModel,
		Doc: "Ask a model through the gateway.",
	}, func(_ context.Context, c *Call, in *ModelRequest) (place, error) {
		if in.Model != "" && !c.caller.Grant.MayAsk(in.Model) {
			return place{}, sdk.Errorf(sdk.Denied, "model_denied", "the token isn't for the model %s", core.Cut(in.Model)).
				WithHint("it is for %s", strings.Join(c.caller.Grant.Models, ", ")).WithDetail("model", core.Cut(in.Model))
		}
		if in.Namespace == "" {
			in.Namespace = home(c)
		}
		return place{namespaces: []string{in.Namespace}}, nil
	}, func(context.Context, *Call, *ModelRequest) (*ModelRequest, error) { return nil, nil })
}

// ModelRequest is which model is asked, and where.
type ModelRequest struct {
	// Model is the model's name as the client writes it; "" asks only which models there are.
	Model string
	// Namespace is where the request is recorded; "" becomes the caller's own.
	Namespace string
}
