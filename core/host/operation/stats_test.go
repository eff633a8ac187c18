package operation_test

import (
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/job"
)

// TestStats_CountWhatTheCallerReaches: memories are counted by state and kind, in a
// namespace, in a tree, or in all that the caller reaches.
func TestStats_CountWhatTheCallerReaches(t *testing.T) {
	w := newWorld(t)
	for namespace, kinds := range map[string][]core.MemoryKind{
		here: {core.KindObservation, core.KindSemantic}, here + "/deep": {core.KindObservation}, elsewhere: {core.KindProcedural},
	} {
		for _, kind := range kinds {
			try[core.Memory](w, "memory_observe", &core.ObserveRequest{Namespace: namespace, Kind: kind, Content: "about " + string(kind)})
		}
	}
	me := core.Caller{Subject: "me", Scopes: core.Scopes(), Namespaces: []string{here + "/**"}}
	all := core.Operator("tester")
	for name, c := range map[string]struct {
		caller     core.Caller
		in         operation.StatsGet
		memories   int64
		namespaces int
		semantic   int64
	}{
		"all":           {all, operation.StatsGet{}, 4, 3, 1},
		"own":           {me, operation.StatsGet{Scope: operation.StatsMemory}, 3, 2, 1},
		"one namespace": {me, operation.StatsGet{Namespace: here}, 2, 1, 1},
		"a tree":        {me, operation.StatsGet{Namespace: here, Subtree: true}, 3, 2, 1},
		"below":         {all, operation.StatsGet{Namespace: here + "/deep"}, 1, 1, 0},
	} {
		out, err := w.Do(c.caller, "stats", &c.in)
		w.Must(err)
		got := out.(*operation.Stats)
		if m := got.Memory; m.Memories != c.memories || m.Namespaces != c.namespaces || m.Kinds[core.KindSemantic] != c.semantic || m.States[core.StateOpen] != c.memories {
			t.Errorf("%s: %+v", name, m)
		}
		if only := c.in.Scope == operation.StatsMemory; (got.Store == nil) != only || (got.Plugins == nil) != only {
			t.Errorf("%s: %+v", name, got)
		}
	}
	w.ReflectionJob(here)
	w.ReflectionJob(elsewhere)
	for name, c := range map[string]struct {
		caller  core.Caller
		in      operation.StatsGet
		pending int
		due     string
	}{
		"all":                {all, operation.StatsGet{}, 2, "default"},
		"own":                {me, operation.StatsGet{}, 1, ""},
		"one namespace":      {me, operation.StatsGet{Namespace: here}, 1, here},
		"a user's":           {all, operation.StatsGet{UserID: "anna"}, 0, "users/anna"},
		"the system's there": {all, operation.StatsGet{UserID: job.SystemUser, Namespace: elsewhere}, 1, elsewhere},
	} {
		c.in.Scope = operation.StatsReflection
		out, err := w.Do(c.caller, "stats", &c.in)
		w.Must(err)
		got := out.(*operation.Stats)
		due := ""
		if got.Reflection.Triggers != nil {
			due = got.Reflection.Triggers.Namespace
		}
		if got.Memory != nil || got.Reflection.PendingJobs != c.pending || got.Reflection.RunningJobs != 0 || due != c.due {
			t.Errorf("%s: %+v, due in %q", name, got.Reflection, due)
		}
	}
	if _, err := w.Do(me, "stats", &operation.StatsGet{Namespace: elsewhere}); err == nil {
		t.Error("a namespace out of reach is counted")
	}
}
