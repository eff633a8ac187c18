package operation_test

import (
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/governance"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

// TestVersions_ChangeWithWhatIsShown: a result with other bytes has another version.
func TestVersions_ChangeWithWhatIsShown(t *testing.T) {
	w := newWorld(t)
	id, other := w.Memory(), w.Memory()
	shown := func() string {
		return operation.EntityVersion(try[operation.Memory](w, "memory_get", &operation.MemoryGet{ID: id}))
	}
	first := shown()
	if first == "" || shown() != first {
		t.Errorf("a memory that is as it was has the versions %q and %q", first, shown())
	}
	_, err := w.Host.Memories.Link(w.Ctx, &memory.LinkRequest{From: other, Relation: "supports", To: id})
	w.Must(err)
	linked := shown()
	_, err = w.Host.Memories.Recall(w.Ctx, w.Recall(id, w.Session()))
	w.Must(err)
	if linked == first || shown() == linked {
		t.Errorf("the versions are %s, %s with a link, %s once it was recalled", first, linked, shown())
	}
	before := w.PromoteAnother()
	after := try[core.Knowledge](w, "knowledge_supersede", &operation.KnowledgeSupersede{ID: before.ID, By: w.PromoteAnother().ID})
	if after.SupersededBy == "" || operation.EntityVersion(before) == operation.EntityVersion(after) {
		t.Errorf("a superseded entry has the version %s", operation.EntityVersion(after))
	}
	if v := operation.EntityVersion(&operation.Audited{}); v != "" {
		t.Errorf("what has no version has %s", v)
	}
}

// TestGovernance_IsChangedIfItIsAsSeen: if two callers change what both have seen, one of
// them has to look again. What changes nothing is refused too.
func TestGovernance_IsChangedIfItIsAsSeen(t *testing.T) {
	w := newWorld(t)
	seen := operation.EntityVersion(try[governance.Record](w, "governance_get", &operation.GovernanceGet{Namespace: here}))
	set := &operation.GovernanceSet{Namespace: here, Assignments: []string{"max_reflection_depth=2"}, IfVersion: seen}
	after := operation.EntityVersion(try[governance.Record](w, "governance_set", set))
	if again := operation.EntityVersion(try[governance.Record](w, "governance_get", &operation.GovernanceGet{Namespace: here})); again != after || after == seen {
		t.Errorf("the versions are %s, %s, %s", seen, after, again)
	}
	for name, in := range map[string]any{
		"governance_set":   set,
		"governance_unset": &operation.GovernanceUnset{Namespace: here, IfVersion: seen},
	} {
		_, err := w.Do(core.Operator(""), name, in)
		w.Refused(err, sdk.Conflict, "precondition_failed")
		if got := sdk.AsError(err).Details["version"]; got != after {
			t.Errorf("%s names the version %v", name, got)
		}
	}
	_, err := w.Do(core.Operator(""), "governance_unset", &operation.GovernanceUnset{Namespace: here, Fields: []string{"max_reflection_depth"}, IfVersion: seen})
	w.Refused(err, sdk.Conflict, "precondition_failed")
	try[governance.Record](w, "governance_unset", &operation.GovernanceUnset{Namespace: here, IfVersion: after})
	if v := operation.EntityVersion(try[governance.Record](w, "governance_get", &operation.GovernanceGet{Namespace: here})); v != seen {
		t.Errorf("as at first, it has the version %s, not %s", v, seen)
	}
}
