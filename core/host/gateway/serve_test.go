package gateway_test

import (
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/gateway"
)

// TestServe_RecallsAndPutsBack: a turn is given what the namespace remembers, and in the next request
// the same text stands where it was.
func TestServe_RecallsAndPutsBack(t *testing.T) {
	w := newWorld(t)
	w.observe("team/a", "The deploy command of the billing service is make ship-billing.")
	w.observe("team/a", "The staging database listens on port 6543.")
	m := gateway.Model{Name: "coder", Upstream: "gpt-x", Namespace: "team/a", Recall: gateway.Recall{MaxTokens: 400}, Check: gateway.Check{Tools: true}, Learn: true}
	ann := caller("ann", "team/**")
	up := says("Run make ship-billing.")
	first := user("What is the deploy command of the billing service?")
	out := w.serve(ann, m, &gateway.Request{Model: "coder", Messages: []gateway.Message{first}}, up)
	if out.Turn.Number != 1 || out.Turn.Session == "" || out.Turn.Snapshot == "" || out.Verdict != "passed" && !strings.HasPrefix(out.Verdict, "unchecked") {
		t.Errorf("%+v", out)
	}
	given := up.asked[0].Edits.Context[0]
	if up.asked[0].Edits.Model != "gpt-x" || !strings.HasPrefix(given, `<context source="reflectory">`) || !strings.Contains(given, "make ship-billing") {
		t.Errorf("%+v", up.asked[0].Edits)
	}
	up2 := says("It is 6543.")
	next := w.serve(ann, m, &gateway.Request{Model: "coder", Messages: []gateway.Message{first, assistant(text("Run make ship-billing.")), user("And which port does the staging database listen on?")}}, up2)
	if next.Turn.Number != 2 || next.Turn.Session != out.Turn.Session {
		t.Errorf("%+v after %+v", next.Turn, out.Turn)
	}
	edits := up2.asked[0].Edits
	if edits.Context[0] != given || !strings.Contains(edits.Context[2], "6543") {
		t.Errorf("%+v", edits)
	}
	if err := w.gate.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx := core.WithCaller(t.Context(), core.Operator("ada"))
	run, err := w.host.Runs.Get(ctx, out.Turn.Run)
	if err != nil || run.Status != core.StatusPassed || run.Workflow != "gateway/coder" || run.Usage.TokensIn != 10 {
		t.Errorf("%+v %v", run, err)
	}
}
