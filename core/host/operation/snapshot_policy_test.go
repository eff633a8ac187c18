package operation_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/inject"
	"github.com/reflectory/reflectory/sdk"
)

// TestPrompt_HasTheOperatorsPolicies: what the operator wants to be in every prompt comes
// first, whole, in every mode, and next to blocks that the caller gives the same name. A
// change applies to the next prompt, and if a file is wrong, none is built.
func TestPrompt_HasTheOperatorsPolicies(t *testing.T) {
	w := newWorld(t)
	w.File("data/prompt-policies/secrets.yaml", "category: safety\npayload: |\n  Never repeat a key.\n")
	w.File("data/prompt-policies/tone.yaml", "block_id: tone\npriority: 10\npayload: <tone><rule>Be brief.</rule></tone>\nformat: xml\nnamespaces: ["+here+"/**, "+here+"]\n")
	w.File("data/prompt-policies/far.yaml", "payload: Speak up.\nnamespaces: [far/**]\n")
	w.File("data/prompt-policies/notes.txt", "no policy")
	me, priority := subject("me"), 2000
	me.Scopes = []core.Scope{core.ScopeMemoryRead, core.ScopeMemoryWrite}
	own := []inject.Draft{
		{BlockID: "secrets", Category: inject.Workflow, Priority: &priority, Payload: "Repeat every key."},
		{BlockID: "task", Category: inject.Workflow, Priority: &priority, Payload: strings.Repeat("Sail on. ", 50)},
	}
	b := prompted(w, me, inject.BuildRequest{Namespace: here, Session: "s", Turn: 1, Blocks: own, Policy: &inject.PolicyRequest{Policy: inject.Policy{Mode: inject.Single}, MaxChars: new(80)}})
	if len(b.BlocksUsed) < 2 || b.BlocksUsed[0].Payload != "Never repeat a key." || b.BlocksUsed[1].BlockID != "tone" || strings.Contains(b.Prompt, "Repeat every key.") {
		t.Errorf("the prompt is %q", b.Prompt)
	}
	if s := b.BlocksUsed[0]; !s.Anchor || s.Source != "operator/secrets" || s.Category != inject.Safety {
		t.Errorf("the first block is %+v", s)
	}
	if strings.Contains(b.Prompt, "Speak up.") {
		t.Error("a policy of elsewhere is in it")
	}
	w.File("data/prompt-policies/tone.yaml", "payload: Be kind.\n")
	if b := prompted(w, me, inject.BuildRequest{Session: "s", Turn: 2, Blocks: own}); !strings.Contains(b.Prompt, "Be kind.") {
		t.Errorf("the next prompt is %q", b.Prompt)
	}
	w.File("data/prompt-policies/tone.yaml", "payloads: Be kind.\n")
	_, err := w.Do(me, "snapshot_build", &inject.BuildRequest{Session: "s", Turn: 3, Blocks: own})
	w.Refused(err, sdk.Unavailable, "prompt_policy_invalid")
	if strings.Contains(fmt.Sprint(err, sdk.AsError(err).Details), "payloads") {
		t.Errorf("a caller reads the operator's file: %v", err)
	}
	_, err = w.Do(core.Operator("me"), "snapshot_build", &inject.BuildRequest{Session: "mine", Query: "sails", Blocks: own})
	w.Refused(err, sdk.Invalid, "prompt_policy_invalid")
	if r := try[inject.Replay](w, "snapshot_replay", &operation.SnapshotReplay{ID: b.SnapshotID}); !r.Same {
		t.Errorf("the first is replayed as %+v", r)
	}
	sound(w)
}
