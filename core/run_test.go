package core_test

import (
	"testing"

	"github.com/reflectory/reflectory/core"
)

func TestRun_ResultComesFromItsLastNode(t *testing.T) {
	visit := func(node, result string) core.Visit {
		return core.Visit{Node: node, Result: []byte(result), Skipped: result == ""}
	}
	for name, test := range map[string]struct {
		visits []core.Visit
		want   string
	}{
		"no visit":               {nil, `{"run_id":"r","status":"passed"}`},
		"one node":               {[]core.Visit{visit("a", `{"z":1,"output":[2]}`)}, `{"run_id":"r","status":"passed","z":1,"output":[2]}`},
		"a result with a status": {[]core.Visit{visit("a", `{"run_id":"x","status":"error"}`)}, `{"run_id":"r","status":"passed"}`},
		"a skipped last node":    {[]core.Visit{visit("a", `{"z":1}`), visit("b", "")}, `{"run_id":"r","status":"passed","z":1}`},
		"several nodes, the newest of each": {[]core.Visit{visit("b", `{"z":1}`), visit("a", `{"z":2}`), visit("b", `{"z":3}`)},
			`{"run_id":"r","status":"passed","z":3,"nodes":{"a":{"z":2},"b":{"z":3}}}`},
		"a result that is no object": {[]core.Visit{visit("a", `7`)}, `{"run_id":"r","status":"passed"}`},
	} {
		t.Run(name, func(t *testing.T) {
			var results core.Results
			for i := range test.visits {
				results.Add(&test.visits[i])
			}
			if got := string(results.Run(&core.Run{ID: "r", Status: core.StatusPassed})); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
