// Module secrets is a WASM plugin: an evaluator that refuses outputs that contain
// private keys, tokens or passwords.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/guest"
)

// config is what a workflow says under config.
type config struct {
	// MinEntropy is the entropy, in bits per byte, from which a value named like a
	// password or key counts as a secret. Words have less than 3.2, and 16 random
	// letters and digits have more than 3.5.
	MinEntropy float64 `json:"min_entropy"`
}

const configSchema = `{
	"type": "object", "additionalProperties": false,
	"properties": {"min_entropy": {"type": "number", "minimum": 0, "maximum": 8, "default": 3.5}}
}`

// prepare checks a config once.
func prepare(_ context.Context, raw json.RawMessage) (sdk.Evaluator, error) {
	c := config{MinEntropy: 3.5}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&c); err != nil || c.MinEntropy < 0 || c.MinEntropy > 8 {
		return nil, sdk.Errorf(sdk.Invalid, "config_invalid", "secrets takes min_entropy, a number from 0 to 8, and nothing else").
			WithHint("leave config out, or write config: {min_entropy: 3.5}")
	}
	s := &scanner{rules: rules(), minEntropy: c.MinEntropy}
	return sdk.EvaluatorFunc(s.evaluate), nil
}

// evaluate judges one output: any JSON value. It searches every text in it.
func (s *scanner) evaluate(_ context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
	var output any
	if err := json.Unmarshal(req.Output, &output); err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "output_invalid", "the output can't be read: %w", err)
	}
	v := sdk.Verdict{Valid: true, Score: 1}
	each(output, "", func(path, text string) {
		for _, h := range s.scan(text) {
			if len(v.Errors) == maxFindings {
				return
			}
			v.Valid, v.Score = false, 0
			v.Errors = append(v.Errors, sdk.Finding{Path: path, Code: h.code, Message: "there is " + h.message})
		}
	})
	if !v.Valid {
		v.Feedback = fmt.Sprintf("Remove the %d secrets, and name where each is kept instead.", len(v.Errors))
	}
	return &sdk.EvaluateResponse{Verdict: v}, nil
}

// each calls f with every text of a value, and a JSON Pointer to it.
func each(value any, path string, f func(path, text string)) {
	switch v := value.(type) {
	case string:
		f(path, v)
	case []any:
		for i, item := range v {
			each(item, fmt.Sprintf("%s/%d", path, i), f)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			f(path, key)
			each(v[key], path+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(key), f)
		}
	}
}

func plugin() sdk.Plugin {
	return sdk.Plugin{
		Manifest: sdk.Manifest{
			Name: "secrets", Version: "1.0.0", Description: "refuses outputs with keys, tokens and passwords",
			ConfigSchema: json.RawMessage(configSchema),
		},
		Evaluator: prepare,
	}
}

// A module is registered when the host loads it; main isn't called.
func init() { guest.Register(plugin()) }

func main() {}
