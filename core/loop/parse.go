package loop

import (
	"context"
	"encoding/json"

	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/modeltext"
)

// Parsed makes an evaluator judge the JSON value in a text, if the attempt is a text.
// From then on the value is the attempt's output. A text without a JSON value is a bad
// attempt, not a failure to judge it.
func Parsed(evaluator sdk.Evaluator) sdk.Evaluator { return parsing{evaluator} }

type parsing struct{ sdk.Evaluator }

// Evaluate implements sdk.Evaluator.
func (p parsing) Evaluate(ctx context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
	var text *string // stays nil for null
	if json.Unmarshal(req.Output, &text) != nil || text == nil {
		return p.Evaluator.Evaluate(ctx, req)
	}
	value, _, err := modeltext.Value(*text, nil)
	if err != nil {
		return &sdk.EvaluateResponse{Verdict: sdk.Verdict{
			Errors: []sdk.Finding{{Message: "the text is not JSON: " + err.Error(), Code: sdk.ReasonOf(err)}},
		}}, nil
	}
	parsed, err := withOutput(req, value)
	if err != nil {
		return nil, err
	}
	resp, err := p.Evaluator.Evaluate(ctx, parsed)
	if err != nil {
		return nil, err
	}
	out := *resp
	out.Verdict.Output = firstSet(out.Verdict.Output, value)
	return &out, nil
}

// withOutput is a request with another output, which is in the state too.
func withOutput(req *sdk.EvaluateRequest, output json.RawMessage) (*sdk.EvaluateRequest, error) {
	out := *req
	out.Output = output
	if len(req.State) == 0 {
		return &out, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(req.State, &members); err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "state_invalid", "the state is not a JSON object: %w", err)
	}
	if _, shown := members[keyOutput]; shown {
		members[keyOutput] = output
		out.State = jsontext.MustEncode(members)
	}
	return &out, nil
}
