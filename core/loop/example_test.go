package loop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/loop"
	"github.com/reflectory/reflectory/sdk"
)

// A loop generates, evaluates and corrects until an attempt is valid or a limit stops it.
func ExampleRun() {
	result, err := loop.Run(context.Background(), &loop.Options{
		Generator: sdk.GeneratorFunc(func(context.Context, *sdk.GenerateRequest) (*sdk.GenerateResponse, error) {
			return &sdk.GenerateResponse{Output: jsontext.MustEncode("hello wrld")}, nil
		}),
		Evaluator: sdk.EvaluatorFunc(func(_ context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
			if strings.Contains(string(req.Output), "wrld") {
				return &sdk.EvaluateResponse{Verdict: sdk.Verdict{Score: .5, Errors: []sdk.Finding{{Message: "wrld is misspelt"}}}}, nil
			}
			return &sdk.EvaluateResponse{Verdict: sdk.Verdict{Valid: true, Score: 1}}, nil
		}),
		Corrector: sdk.CorrectorFunc(func(_ context.Context, req *sdk.CorrectRequest) (*sdk.CorrectResponse, error) {
			return &sdk.CorrectResponse{Output: json.RawMessage(strings.ReplaceAll(string(req.Output), "wrld", "world"))}, nil
		}),
	})
	if err != nil { // the options were wrong: nothing ran
		fmt.Println(err)
		return
	}
	fmt.Println(result.Status, result.Iteration, string(result.Output))
	// Output: passed 2 "hello world"
}
