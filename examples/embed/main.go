// Command embed is an agent in Go that checks and corrects its own work in process:
// no plugin, no store, no workflow file.
package main

import (
	"context"
	"fmt"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/loop"
	"github.com/reflectory/reflectory/sdk"
)

func main() {
	fmt.Println(improve(&loop.Options{
		Generator: sdk.GeneratorFunc(func(_ context.Context, req *sdk.GenerateRequest) (*sdk.GenerateResponse, error) {
			return &sdk.GenerateResponse{Output: core.MustJSON(map[string]int{"guess": 3 * req.Iteration})}, nil
		}),
		Evaluator: sdk.EvaluatorFunc(func(_ context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
			good := string(req.Output) == `{"guess":6}`
			return &sdk.EvaluateResponse{Verdict: sdk.Verdict{Valid: good}}, nil
		}),
	}))
}

// improve runs a loop and says how it ended. Where the options are wrong, nothing runs,
// and there is no result.
func improve(o *loop.Options) string {
	result, err := loop.Run(context.Background(), o)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(result.Status, " ", string(result.Output))
}
