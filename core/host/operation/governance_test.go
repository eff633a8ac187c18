package operation_test

import (
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/governance"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/sdk"
)

func TestALevelIsSetExplainedAndUnset(t *testing.T) {
	w := newWorld(t)
	if got := try[governance.Record](w, "governance_get", &operation.GovernanceGet{Namespace: here}); got.Namespace != here || len(got.Values()) != 0 {
		t.Errorf("at first it sets %+v", got)
	}
	set := &operation.GovernanceSet{Namespace: here, Assignments: []string{"max_reflection_depth=2", "limits.max_memories=7"}}
	if got := try[governance.Record](w, "governance_set", set); len(got.Values()) != 2 {
		t.Errorf("a change gives %+v", got)
	}
	if got := try[governance.Explanation](w, "governance_explain", &operation.GovernanceExplain{Namespace: here + "/below"}); len(got.Fields) != len(governance.Fields()) {
		t.Errorf("what holds is explained as %+v", got)
	}
	if got := try[governance.Record](w, "governance_unset", &operation.GovernanceUnset{Namespace: here, Fields: []string{"limits.max_memories"}}); len(got.Values()) != 1 {
		t.Errorf("without a field it sets %+v", got)
	}
	if got := try[governance.Record](w, "governance_unset", &operation.GovernanceUnset{Namespace: here}); len(got.Values()) != 0 {
		t.Errorf("without all it sets %+v", got)
	}
}

func TestAChangeThatCantBeIsRefused(t *testing.T) {
	w := newWorld(t)
	try[governance.Record](w, "governance_set", &operation.GovernanceSet{Namespace: core.EveryNamespace, Assignments: []string{"locked=limits"}})
	_, err := w.Do(core.Operator(""), "governance_set", &operation.GovernanceSet{Namespace: here, Assignments: []string{"limits.max_memories=7"}})
	w.Refused(err, sdk.Denied, "field_locked")
	for _, in := range []*operation.GovernanceSet{
		{Namespace: here}, {Namespace: here, Assignments: []string{"max_depth=2"}}, {Namespace: "no namespace", Assignments: []string{"max_reflection_depth=2"}},
	} {
		if _, err := w.Do(core.Operator(""), "governance_set", in); sdk.CodeOf(err) != sdk.Invalid {
			t.Errorf("%+v: %v", in, err)
		}
	}
}

// TestALevelIsChangedByWhoReachesAllBelow is for callers that reach a namespace, and not all
// in which it sets what holds.
func TestALevelIsChangedByWhoReachesAllBelow(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		pattern, level     string
		mayLook, mayChange bool
	}{
		{here, here, true, false},
		{here + "/**", here, true, true},
		{here + "/**", "team", false, false},
		{here + "/**", core.EveryNamespace, false, false},
		{"**", core.EveryNamespace, true, true},
	} {
		who := core.Caller{Subject: "one", Scopes: core.Scopes(), Namespaces: []string{c.pattern}}
		_, looked := w.Do(who, "governance_get", &operation.GovernanceGet{Namespace: c.level})
		_, explained := w.Do(who, "governance_explain", &operation.GovernanceExplain{Namespace: c.level})
		_, set := w.Do(who, "governance_set", &operation.GovernanceSet{Namespace: c.level, Assignments: []string{"max_reflection_depth=2"}})
		_, unset := w.Do(who, "governance_unset", &operation.GovernanceUnset{Namespace: c.level})
		for what, may := range map[string]bool{"looks": (looked == nil && explained == nil) == c.mayLook, "changes": (set == nil && unset == nil) == c.mayChange} {
			if !may {
				t.Errorf("who reaches %s %s %s: %v, %v, %v, %v", c.pattern, what, c.level, looked, explained, set, unset)
			}
		}
	}
}
