// Command word-limit is a plugin: an evaluator that refuses long texts. The
// guide for plugin authors, sdk/AUTHORING.md, shows it.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/process"
)

// wordLimit refuses texts with more words than its config allows.
func wordLimit(_ context.Context, config json.RawMessage) (sdk.Evaluator, error) {
	var c struct {
		Max int `json:"max"`
	}
	if err := json.Unmarshal(config, &c); err != nil || c.Max < 1 {
		return nil, sdk.Errorf(sdk.Invalid, "config_invalid", "word-limit needs max, a number of 1 or more").
			WithHint("write config: {max: 200}")
	}
	return sdk.EvaluatorFunc(func(_ context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
		var text string
		if err := json.Unmarshal(req.Output, &text); err != nil {
			return nil, sdk.Errorf(sdk.Invalid, "output_invalid", "word-limit judges texts, and this is none: %w", err)
		}
		words := len(strings.Fields(text))
		if words <= c.Max {
			return &sdk.EvaluateResponse{Verdict: sdk.Verdict{Valid: true, Score: 1}}, nil
		}
		return &sdk.EvaluateResponse{Verdict: sdk.Verdict{
			Score:  float64(c.Max) / float64(words),
			Errors: []sdk.Finding{{Message: fmt.Sprintf("%d words, at most %d are allowed", words, c.Max), Code: "too_long"}},
		}}, nil
	}), nil
}

func plugin() sdk.Plugin {
	return sdk.Plugin{
		Manifest:  sdk.Manifest{Name: "word-limit", Version: "1.0.0", Description: "refuses long texts"},
		Evaluator: wordLimit,
	}
}

func main() { process.Main(plugin()) }
