package main

import (
	"context"
	"encoding/json"
	"os"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// tally is a plugin that notes each generation and correction in a file before
// it answers, so that a test can count what was paid for. Its attempts pass at
// the iteration that its config names.
func tally() sdk.Plugin {
	return sdk.Plugin{
		Manifest: sdk.Manifest{Name: "tally", Version: "1.0.0"},
		Generator: func(_ context.Context, config json.RawMessage) (sdk.Generator, error) {
			t, err := newTallyman(config)
			return sdk.GeneratorFunc(func(_ context.Context, req *sdk.GenerateRequest) (*sdk.GenerateResponse, error) {
				return &sdk.GenerateResponse{Output: core.MustJSON(req.IdempotencyKey)}, t.note(req.IdempotencyKey)
			}), err
		},
		Corrector: func(_ context.Context, config json.RawMessage) (sdk.Corrector, error) {
			t, err := newTallyman(config)
			return sdk.CorrectorFunc(func(_ context.Context, req *sdk.CorrectRequest) (*sdk.CorrectResponse, error) {
				return &sdk.CorrectResponse{Output: core.MustJSON(req.IdempotencyKey)}, t.note(req.IdempotencyKey)
			}), err
		},
		Evaluator: func(_ context.Context, config json.RawMessage) (sdk.Evaluator, error) {
			t, err := newTallyman(config)
			return sdk.EvaluatorFunc(func(_ context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
				t.work()
				if t.Fails {
					return nil, sdk.Errorf(sdk.Invalid, "broken", "the evaluator can't judge this")
				}
				v := sdk.Verdict{Valid: req.Iteration >= t.Passes, Score: float64(req.Iteration) / float64(t.Passes)}
				return &sdk.EvaluateResponse{Verdict: v}, nil
			}), err
		},
	}
}

type tallyman struct {
	File   string        `json:"file"`
	Passes int           `json:"passes"`
	Works  time.Duration `json:"works"`
	Fails  bool          `json:"fails"`
}

func newTallyman(config json.RawMessage) (t tallyman, err error) {
	return t, json.Unmarshal(config, &t)
}

func (t *tallyman) work() { <-time.After(t.Works) }

func (t *tallyman) note(key string) error {
	f, err := os.OpenFile(t.File, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(key + "\n"); err != nil {
		return err
	}
	t.work()
	return f.Close()
}
