//go:build cgo && lua54

package luaeval_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/reflectory/reflectory/plugins/lua-eval/luaeval"
	"github.com/reflectory/reflectory/sdk"
)

// configOf makes a config from a script and pairs of additional keys and values.
func configOf(tb testing.TB, code string, more ...any) json.RawMessage {
	tb.Helper()
	m := map[string]any{"code": code}
	for i := 0; i < len(more); i += 2 {
		m[more[i].(string)] = more[i+1]
	}
	data, err := json.Marshal(m)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func evaluatorOf(tb testing.TB, code string, more ...any) sdk.Evaluator {
	tb.Helper()
	p := luaeval.Plugin()
	e, err := p.Evaluator(context.Background(), configOf(tb, code, more...))
	if err != nil {
		tb.Fatalf("prepare: %v", err)
	}
	return e
}

func generatorOf(tb testing.TB, code string, more ...any) sdk.Generator {
	tb.Helper()
	p := luaeval.Plugin()
	g, err := p.Generator(context.Background(), configOf(tb, code, more...))
	if err != nil {
		tb.Fatalf("prepare: %v", err)
	}
	return g
}

// judge evaluates one output with a script.
func judge(tb testing.TB, code, output string, more ...any) (*sdk.EvaluateResponse, error) {
	tb.Helper()
	return evaluatorOf(tb, code, more...).Evaluate(context.Background(), &sdk.EvaluateRequest{
		Call: sdk.Call{Iteration: 2}, Output: json.RawMessage(output),
	})
}

// generate runs a script and returns its output.
func generate(tb testing.TB, code, state string, more ...any) (string, error) {
	tb.Helper()
	resp, err := generatorOf(tb, code, more...).Generate(context.Background(), &sdk.GenerateRequest{
		Call: sdk.Call{Iteration: 2}, State: json.RawMessage(state),
	})
	if err != nil {
		return "", err
	}
	return string(resp.Output), nil
}

// mustGenerate is generate for scripts that can't fail.
func mustGenerate(tb testing.TB, code, state string) string {
	tb.Helper()
	out, err := generate(tb, code, state)
	if err != nil {
		tb.Fatalf("%s: %v", code, err)
	}
	return out
}

// wantError checks an error's class and reason.
func wantError(tb testing.TB, err error, code sdk.Code, reason string) {
	tb.Helper()
	if sdk.CodeOf(err) != code || sdk.ReasonOf(err) != reason {
		tb.Fatalf("error is %s/%s (%v), want %s/%s", sdk.CodeOf(err), sdk.ReasonOf(err), err, code, reason)
	}
}
