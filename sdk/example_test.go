package sdk_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/reflectory/reflectory/sdk"
)

// An evaluator is a function from a request to a verdict; its config is prepared once.
func ExamplePlugin() {
	plugin := sdk.Plugin{
		Manifest: sdk.Manifest{Name: "not-empty", Version: "1.0.0"},
		Evaluator: func(context.Context, json.RawMessage) (sdk.Evaluator, error) {
			return sdk.EvaluatorFunc(func(_ context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
				if string(req.Output) == `""` {
					return &sdk.EvaluateResponse{Verdict: sdk.Verdict{Errors: []sdk.Finding{{Message: "the text is empty"}}}}, nil
				}
				return &sdk.EvaluateResponse{Verdict: sdk.Verdict{Valid: true, Score: 1}}, nil
			}), nil
		},
	}
	evaluator, err := plugin.Evaluator(context.Background(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	answer, err := evaluator.Evaluate(context.Background(), &sdk.EvaluateRequest{Output: json.RawMessage(`""`)})
	fmt.Println(answer.Verdict.Valid, answer.Verdict.Errors[0].Message, err)
	// Output: false the text is empty <nil>
}

// An error has a class, a stable reason and, if it is known, a hint. They survive every
// boundary.
func ExampleErrorf() {
	err := sdk.Errorf(sdk.Invalid, "config_invalid", "max is %d, not 1 or more", 0).WithHint("write config: {max: 200}")
	wrapped := sdk.Wrap("prepare word-limit", err)
	fmt.Println(wrapped)
	fmt.Println(sdk.CodeOf(wrapped), sdk.ReasonOf(wrapped), sdk.AsError(wrapped).Hint)
	// Output:
	// prepare word-limit: max is 0, not 1 or more
	// invalid config_invalid write config: {max: 200}
}
