package sdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/sdk"
)

// An evaluator is healthy only if it can be prepared and tells right from wrong.
func TestEvaluatorHealth(t *testing.T) {
	judge := func(valid func(output string) bool) func(string) (*sdk.EvaluateResponse, error) {
		return func(output string) (*sdk.EvaluateResponse, error) {
			return &sdk.EvaluateResponse{Verdict: sdk.Verdict{Valid: valid(output)}}, nil
		}
	}
	for name, tt := range map[string]struct {
		prepare error
		judge   func(output string) (*sdk.EvaluateResponse, error)
		want    string // part of the error, "" for none
	}{
		"right":                  {judge: judge(func(o string) bool { return o == "1" })},
		"not prepared":           {prepare: errors.New("no memory"), want: "no memory"},
		"no judgement":           {judge: func(string) (*sdk.EvaluateResponse, error) { return nil, errors.New("no memory") }, want: "no memory"},
		"accepts everything":     {judge: judge(func(string) bool { return true }), want: "the verdict of 2 is true"},
		"refuses everything":     {judge: judge(func(string) bool { return false }), want: "the verdict of 1 is false"},
		"the other way round":    {judge: judge(func(o string) bool { return o == "2" }), want: "the verdict of"},
		"fails at the right one": {judge: failsAt("1"), want: "broken"},
		"fails at the wrong one": {judge: failsAt("2"), want: "broken"},
	} {
		var configs []string
		check := sdk.EvaluatorHealth(func(_ context.Context, config json.RawMessage) (sdk.Evaluator, error) {
			configs = append(configs, string(config))
			return sdk.EvaluatorFunc(func(_ context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
				return tt.judge(string(req.Output))
			}), tt.prepare
		}, "{}", "1", "2")
		for range 2 {
			err := check(t.Context())
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if len(configs) != 2 || configs[0] != "{}" {
			t.Errorf("%s: prepared %q, want it prepared each time", name, configs)
		}
	}
}

func failsAt(output string) func(string) (*sdk.EvaluateResponse, error) {
	return func(o string) (*sdk.EvaluateResponse, error) {
		if o == output {
			return nil, errors.New("broken")
		}
		return &sdk.EvaluateResponse{Verdict: sdk.Verdict{Valid: o == "1"}}, nil
	}
}
