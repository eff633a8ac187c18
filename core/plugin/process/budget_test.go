package process_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/plugin/process"
	"github.com/reflectory/reflectory/sdk"
)

// TestBudget counts what a step of a plugin costs the host.
func TestBudget(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	i := start(t, process.Options{}, self(t, "serve"))
	config := do("pad")
	requests := []*sdk.EvaluateRequest{{Output: json.RawMessage(`"` + strings.Repeat("x", requestBytes) + `"`)}}
	coretest.Budget{Path: "a step of a plugin", Allocations: 48}.Check(t, func() {
		if _, err := i.Evaluate(t.Context(), config, requests); err != nil {
			t.Fatal(err)
		}
	})
}
