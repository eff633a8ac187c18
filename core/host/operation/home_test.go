package operation_test

import (
	"slices"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/sdk"
)

// TestHome_ATokensFirstCall: a caller that doesn't reach the configured namespace works in its own without
// naming it, and a refusal says which namespaces it may name.
func TestHome_ATokensFirstCall(t *testing.T) {
	w := newWorld(t)
	scopes := []core.Scope{core.ScopeMemoryRead, core.ScopeMemoryWrite, core.ScopeOperate}
	for _, c := range []struct {
		patterns   []string
		home, want string
	}{
		{[]string{"team/**"}, "", "team"}, {[]string{"team"}, "", "team"}, {[]string{"a/b/**", "team/**"}, "", "a/b"}, {[]string{"a/b"}, "", "a/b"},
		{[]string{"team/**"}, "team/x", "team/x"}, {[]string{"default", "team/**"}, "", "default"}, {[]string{"team/**", "default/**"}, "", "default"},
		{[]string{"team/**", "default/**"}, "team/y", "team/y"}, {[]string{"**"}, "", "default"}, {[]string{"**"}, "team/z", "team/z"},
	} {
		caller := core.Caller{Subject: "bot", Scopes: scopes, Namespaces: c.patterns, Home: c.home}
		if got := caller.Default("default"); got != c.want {
			t.Errorf("%v, %q: %s, not %s", c.patterns, c.home, got, c.want)
			continue
		}
		out, err := w.Do(caller, "memory_observe", &core.ObserveRequest{Content: "x"})
		w.Must(err)
		if m := out.(*core.Memory); m.Namespace != caller.Default(w.Host.Config.Settings.Namespace.Value) {
			t.Errorf("%v observes in %s", c.patterns, m.Namespace)
		}
	}
	bot := core.Caller{Subject: "bot", Scopes: scopes, Namespaces: []string{"team/**"}}
	_, err := w.Do(bot, "memory_observe", &core.ObserveRequest{Content: "x", Namespace: "secret"})
	if e := sdk.AsError(err); e.Reason != "namespace_denied" || e.Hint != "use one of team/**, or leave it out for team" {
		t.Errorf("a foreign namespace: %v (%s)", err, e.Hint)
	}
}

// TestObserve_Supersedes: a corrected fact takes the place of the old one in recall and in the list of
// what is current, in one step, and where the old one is.
func TestObserve_Supersedes(t *testing.T) {
	w := newWorld(t)
	bot := core.Caller{Subject: "bot", Scopes: []core.Scope{core.ScopeMemoryRead, core.ScopeMemoryWrite}, Namespaces: []string{"team/x/**"}}
	observe := func(in *core.ObserveRequest) *core.Memory {
		t.Helper()
		out, err := w.Do(bot, "memory_observe", in)
		w.Must(err)
		return out.(*core.Memory)
	}
	wrong := observe(&core.ObserveRequest{Content: "The office is in Bonn.", Namespace: "team/x"})
	observe(&core.ObserveRequest{Content: "The office has a garden.", Namespace: "team/x"})
	right := observe(&core.ObserveRequest{Content: "The office is in Berlin.", Supersedes: []string{wrong.ID}})
	if right.Namespace != "team/x" {
		t.Errorf("the correction is in %s", right.Namespace)
	}
	out, err := w.Do(bot, "memory_recall", &core.RecallRequest{Query: "where is the office", RecallFilter: core.RecallFilter{Namespace: "team/x"}})
	w.Must(err)
	for _, m := range out.(*operation.Recalled).Memories {
		if m.ID == wrong.ID {
			t.Error("the wrong fact is recalled")
		}
	}
	for current, want := range map[bool]int{true: 2, false: 3} {
		out, err := w.Do(bot, "memory_list", &operation.MemoryList{Namespace: "team/x", Current: current})
		w.Must(err)
		if got := out.(*operation.Memories).Items; len(got) != want || slices.ContainsFunc(got, func(m *core.Memory) bool { return m.ID == wrong.ID }) == current {
			t.Errorf("current %v: %d memories", current, len(got))
		}
	}
	foreign := w.Memory()
	for _, ids := range [][]string{{foreign}, {"nothing"}, {wrong.ID, foreign}, {"a b"}} {
		if out, err := w.Do(bot, "memory_observe", &core.ObserveRequest{Content: "y", Supersedes: ids}); err == nil {
			t.Errorf("%q is superseded: %+v", ids, out)
		}
	}
	if _, err := w.Do(core.Operator("o"), "memory_observe", &core.ObserveRequest{Content: "y", Supersedes: []string{"nothing"}}); sdk.CodeOf(err) != sdk.NotFound {
		t.Errorf("nothing is superseded: %v", err)
	}
}
