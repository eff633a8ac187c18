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
	result, err := loop.Run(context.Background(), &loop.Options{
		Generator: sdk.GeneratorFunc(func(_ context.Context, req *sdk.GenerateRequest) (*sdk.GenerateResponse, error) {
			return &sdk.GenerateResponse{Output: core.MustJSON(map[string]int{"guess": 3 * req.Iteration})}, nil
		}),
		Evaluator: sdk.EvaluatorFunc(func(_ context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
			good := string(req.Output) == `{"guess":6}`
			return &sdk.EvaluateResponse{Verdict: sdk.Verdict{Valid: good}}, nil
		}),
	})
	if err != nil { // the options were wrong, and nothing ran
		fmt.Println(err)
		return
	}
	fmt.Println(result.Status, string(result.Output))
}
