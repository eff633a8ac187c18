//go:build bench && cgo && lua54

package luaeval_test

import (
	"os"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/plugins/lua-eval/luaeval"
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
}
