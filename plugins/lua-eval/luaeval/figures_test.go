//go:build bench && cgo && lua54

package luaeval_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/plugins/lua-eval/luaeval"
	"github.com/reflectory/reflectory/sdk"
)

// TestFigures measures a warm evaluation in the plugin, from request to verdict.
func TestFigures(t *testing.T) {
	p := luaeval.Plugin()
	e, err := p.Evaluator(t.Context(), seedConfig(t))
	if err != nil {
		t.Fatal(err)
	}
	var took coretest.Samples
	for range 20 {
		took = append(took, coretest.Interleave(1, 1000, func() {
			if resp, err := e.Evaluate(t.Context(), seedRequest); err != nil || !resp.Verdict.Valid {
				t.Error(resp, err)
			}
		})[0]...)
	}
	coretest.Figure{Name: "Lua evaluation, warm", Value: took.Micros(0.5), Unit: "µs", Target: 10}.Print(os.Stdout)
	overtime(t)
}

// overtime measures how long after its deadline an attack ends: a garbage collection of
// its memory may be running.
func overtime(t *testing.T) {
	var worst time.Duration
	var name string
	for _, a := range attacks {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		g := generatorOf(t, a.code, "instructions", 1_000_000_000_000)
		if _, err := g.Generate(ctx, &sdk.GenerateRequest{}); err == nil {
			t.Errorf("%s passed", a.name)
		}
		deadline, _ := ctx.Deadline()
		if late := time.Since(deadline); late > worst {
			worst, name = late, a.name
		}
		cancel()
	}
	coretest.Figure{Name: "Lua attacks, longest past a deadline", Value: worst.Seconds() * 1e3, Unit: "ms", Target: 2000, Note: name}.Print(os.Stdout)
}
