//go:build cgo && lua54

package luaeval_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/reflectory/reflectory/plugins/lua-eval/luaeval"
	"github.com/reflectory/reflectory/sdk"
)

// seedScript is a typical first evaluator of a user.
const seedScript = `
local output = state.reflection_output
local valid = output.name ~= nil and #output.name > 0
local errors = {}
if not valid then table.insert(errors, "name is required") end
return { valid = valid, score = valid and 1.0 or 0.0, errors = errors }
`

var seedRequest = &sdk.EvaluateRequest{
	State: json.RawMessage(`{"request":"Ada Lovelace, ada@example.org","reflection_iteration":1,"reflection_history":[],` +
		`"reflection_output":{"name":"Ada Lovelace","email":"ada@example.org"}}`),
	Output: json.RawMessage(`{"name":"Ada Lovelace","email":"ada@example.org"}`),
	Call:   sdk.Call{Iteration: 1},
}

func seedConfig(b testing.TB) json.RawMessage {
	config, err := json.Marshal(map[string]any{"code": seedScript})
	if err != nil {
		b.Fatal(err)
	}
	return config
}

// BenchmarkEvaluateWarm is an evaluation with a prepared config, from request to
// verdict, under a deadline. The target is 10 µs.
func BenchmarkEvaluateWarm(b *testing.B) {
	p := luaeval.Plugin()
	e, err := p.Evaluator(context.Background(), seedConfig(b))
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b.ReportAllocs()
	for b.Loop() {
		if resp, err := e.Evaluate(ctx, seedRequest); err != nil || !resp.Verdict.Valid {
			b.Fatal(resp, err)
		}
	}
}

// BenchmarkEvaluateParallel does the same from as many goroutines as there are
// processors.
func BenchmarkEvaluateParallel(b *testing.B) {
	p := luaeval.Plugin()
	e, err := p.Evaluator(context.Background(), seedConfig(b))
	if err != nil {
		b.Fatal(err)
	}
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := e.Evaluate(context.Background(), seedRequest); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// BenchmarkPrepare makes a fresh state and compiles the script.
func BenchmarkPrepare(b *testing.B) {
	p, config := luaeval.Plugin(), seedConfig(b)
	for b.Loop() {
		if _, err := p.Evaluator(context.Background(), config); err != nil {
			b.Fatal(err)
		}
	}
}
