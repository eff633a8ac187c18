package sdktest_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/sdktest"
)

// The kit checks a plugin against the contract, and against fixtures with expected
// answers.
func ExampleCheck() {
	yes := sdk.Plugin{
		Manifest: sdk.Manifest{Name: "yes", Version: "1.0.0"},
		Evaluator: func(context.Context, json.RawMessage) (sdk.Evaluator, error) {
			return sdk.EvaluatorFunc(func(context.Context, *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
				return &sdk.EvaluateResponse{Verdict: sdk.Verdict{Valid: true, Score: 1}}, nil
			}), nil
		},
	}
	no := false
	fixtures := []sdktest.Fixture{{
		Name: "tests/empty.json", Request: &sdktest.Request{Output: json.RawMessage(`""`)}, Want: sdktest.Want{Valid: &no},
	}}
	for _, result := range sdktest.Check(context.Background(), sdktest.InProcess(yes), fixtures, sdktest.Options{}) {
		if result.Status == sdktest.Failed {
			fmt.Println(result.Case, result.Detail)
		}
	}
	// Output: tests/empty.json valid is true, want false
}
