package operation_test

import (
	"encoding/json"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/sdk"
)

func TestEvidenceIsRecorded(t *testing.T) {
	w := newWorld(t)
	id := w.Memory()
	for _, want := range []gate.ToolsRecorded{{Recorded: 1}, {Duplicates: 1}} {
		if got := try[gate.ToolsRecorded](w, "evidence_tool", w.Outcome(id)); *got != want {
			t.Errorf("outcomes give %+v, not %+v", *got, want)
		}
	}
	if got := try[gate.OmegaRecorded](w, "evidence_omega", w.Known(id)); got.MemoryID != id || got.Seq != 1 {
		t.Errorf("factors give %+v", got)
	}
	got := try[gate.DAGRecorded](w, "evidence_dag", &operation.EvidenceDAG{WorkflowDAG: w.Graph("no-such-memory")})
	if got.Nodes != 4 || len(got.Unknown) != 1 {
		t.Errorf("a graph gives %+v", got)
	}
}

// TestEvidenceNamesMemoriesThatTheCallerReaches has one of two memories elsewhere: nothing
// is recorded, and it is refused like one that isn't there.
func TestEvidenceNamesMemoriesThatTheCallerReaches(t *testing.T) {
	w := newWorld(t)
	own, foreign := w.Memory(), "memory-elsewhere"
	in := w.Outcome(own)
	in.Outcomes = append(in.Outcomes, in.Outcomes[0])
	in.Outcomes[1].MemoryID = foreign
	c := core.Caller{Subject: "one", Scopes: []core.Scope{core.ScopeMemoryWrite}, Namespaces: []string{here}}
	absent := answer(w.Do(c, "evidence_tool", in))
	_, err := w.Host.Memories.Observe(w.Ctx, &core.ObserveRequest{ID: foreign, Namespace: elsewhere, Content: "a secret"})
	w.Must(err)
	out, err := w.Do(c, "evidence_tool", in)
	w.Refused(err, sdk.NotFound, "memory_not_found")
	if got := answer(out, err); got != absent {
		t.Errorf("answered\n%s\nand where it isn't\n%s", got, absent)
	}
	if got := try[gate.ToolsRecorded](w, "evidence_tool", in); got.Recorded != 2 {
		t.Errorf("%d of 2 outcomes are new", got.Recorded)
	}
}

// TestEvidenceInJSONIsReadByTheGate is for what a struct alone would accept: keys that
// aren't known, and outcomes that don't say how they were.
func TestEvidenceInJSONIsReadByTheGate(t *testing.T) {
	for _, c := range []struct {
		text string
		into any
	}{
		{`{"outcomes": [{"memory_id": "m", "session": "s", "turn": 1, "tool": "t", "ref": "r"}]}`, &operation.EvidenceTool{}},
		{`{"outcomes": [{"memory_id": "m", "session": "s", "turn": 1, "tool": "t", "ok": true, "ref": "r", "okay": 1}]}`, &operation.EvidenceTool{}},
	} {
		if err := json.Unmarshal([]byte(c.text), c.into); sdk.ReasonOf(err) != "evidence_invalid" {
			t.Errorf("%s: %v", c.text, err)
		}
	}
}
