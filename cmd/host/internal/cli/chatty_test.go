package cli

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"

	"github.com/reflectory/reflectory/sdk"
)

// chatty is a plugin that logs in every way, including its key, and passes an output if the
// host's model says yes. It takes the config {"asks": boolean}.
func chatty() sdk.Plugin {
	return sdk.Plugin{
		Manifest: sdk.Manifest{
			Name: "chatty", Version: "1.0.0",
			ConfigSchema: json.RawMessage(`{"additionalProperties": false, "properties": {"asks": {"type": "boolean"}}}`),
		},
		Evaluator: func(_ context.Context, config json.RawMessage) (sdk.Evaluator, error) {
			var c struct{ Asks bool }
			err := json.Unmarshal(config, &c)
			return sdk.EvaluatorFunc(func(ctx context.Context, _ *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
				return chat(ctx, c.Asks)
			}), err
		},
	}
}

func chat(ctx context.Context, asks bool) (*sdk.EvaluateResponse, error) {
	slog.InfoContext(ctx, "judging", "key", os.Getenv("CHATTY_KEY"))
	if !asks {
		return &sdk.EvaluateResponse{Verdict: sdk.Verdict{Valid: true, Score: 1}}, nil
	}
	r, err := sdk.Complete(ctx, &sdk.LLMRequest{Prompt: "Is it good? Say yes or no."})
	if err != nil {
		return nil, err
	}
	if err := sdk.Log(ctx, &sdk.LogRequest{Level: "debug", Message: "the model says " + r.Text()}); err != nil {
		return nil, err
	}
	return &sdk.EvaluateResponse{
		Verdict: sdk.Verdict{Valid: r.Text() == "yes", Score: 1}, Usage: sdk.Usage{TokensOut: 1},
	}, nil
}
