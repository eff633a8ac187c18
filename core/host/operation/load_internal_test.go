package operation

import (
	"testing"

	"github.com/reflectory/reflectory/sdk"
)

// TestLoad_ReadsARequestOnceForACall: what its check read is what the operation uses, and another
// call reads again.
func TestLoad_ReadsARequestOnceForACall(t *testing.T) {
	const lua, broken = "type: lua\ncode: return true\n", "}"
	start := &RunStart{Workflow: "nodes: [{name: n, action: reflection.evaluate, with: {evaluator: {run: return true}, data: 1}}]"}
	judge, repair := &Evaluate{Evaluator: lua, Output: []byte("1")}, &Correct{Corrector: "type: lua\ncode: return 1\n", Output: []byte("1")}
	replay := &RunReplay{ID: "r", Evaluator: lua, Accept: "valid"}
	for name, c := range map[string]struct {
		in   loads
		text *string
		use  func(c *Call) error
	}{
		"run_start":  {start, &start.Workflow, func(c *Call) error { _, err := loaded(c, start); return err }},
		"its nodes":  {start, &start.Workflow, func(c *Call) error { return missing(c.nodes(t.Context(), start) == 1) }},
		"evaluate":   {judge, &judge.Evaluator, func(c *Call) error { _, err := loaded(c, judge); return err }},
		"correct":    {repair, &repair.Corrector, func(c *Call) error { _, err := loaded(c, repair); return err }},
		"run_replay": {replay, &replay.Evaluator, func(c *Call) error { _, err := loaded(c, replay); return err }},
	} {
		call, was := &Call{}, *c.text
		if err := c.in.loadFor(call); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		*c.text = broken
		if err := c.use(call); err != nil {
			t.Errorf("%s was read again: %v", name, err)
		}
		if err := c.use(&Call{}); err == nil {
			t.Errorf("%s: another call uses what an earlier one read", name)
		}
		*c.text = was
		if err := c.use(&Call{}); err != nil {
			t.Errorf("%s after a failure: %v", name, err)
		}
	}
}

func missing(found bool) error {
	if found {
		return nil
	}
	return sdk.Errorf(sdk.NotFound, "missing", "it isn't there")
}
