package peers

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/loop"
	"github.com/reflectory/reflectory/sdk"
)

// reflectory runs the steps in this project's loop, as examples/embed does.
type reflectory struct{ options loop.Options }

func newReflectory(w *work) *reflectory {
	return &reflectory{loop.Options{
		Generator: sdk.GeneratorFunc(func(context.Context, *sdk.GenerateRequest) (*sdk.GenerateResponse, error) {
			return &sdk.GenerateResponse{Output: w.generate()}, nil
		}),
		Evaluator: sdk.EvaluatorFunc(func(_ context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
			return &sdk.EvaluateResponse{Verdict: w.evaluate(req.Output)}, nil
		}),
		Corrector: sdk.CorrectorFunc(func(_ context.Context, req *sdk.CorrectRequest) (*sdk.CorrectResponse, error) {
			return &sdk.CorrectResponse{Output: w.correct(req.Output)}, nil
		}),
		Limits: loop.Limits{MaxIterations: maxIterations},
		State:  jsontext.MustEncode(map[string]string{"request": request}),
		RunID:  "run",
		Node:   "draft",
	}}
}

func (r *reflectory) run(ctx context.Context) (outcome, error) {
	result, err := loop.Run(ctx, &r.options)
	if err != nil {
		return outcome{}, err
	}
	return outcome{
		attempts: len(result.History),
		passed:   result.Status == core.StatusPassed,
		output:   string(result.Output),
	}, nil
}
