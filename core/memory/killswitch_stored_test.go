package memory_test

import (
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/governance"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

// spoofed is metadata that speaks of another depth, and of no sources.
const spoofed = `{"reflection_metadata":{"reflection_depth":0,"reflected_on_source_ids":[]}}`

// TestTheKillSwitchHoldsWithStoredSettings attacks a parent that forbids
// reflections, with the settings that are really stored and spoofed metadata.
func TestTheKillSwitchHoldsWithStoredSettings(t *testing.T) {
	cases := []struct {
		name      string
		set       map[string][]string
		raw       map[string]string
		into      string
		decidedBy string // "" for a reflection that is allowed
	}{
		{"a child that sets other fields", map[string][]string{
			"off": {"max_reflection_depth=0"}, "off/child": {"limits.max_memories=100", "require_approval_above_depth=9"},
		}, nil, "", "off"},
		{"a child whose cap came before the lock", map[string][]string{
			"off/child": {"max_reflection_depth=9"}, "off": {"max_reflection_depth=0", "locked=max_reflection_depth"},
		}, nil, "", "off"},
		{"a child that sets its own cap, without a lock", map[string][]string{
			"off": {"max_reflection_depth=0"}, "off/child": {"max_reflection_depth=1"},
		}, nil, "", ""},
		{"everything forbids", map[string][]string{"*": {"max_reflection_depth=0"}}, nil, "", "*"},
		{"into another namespace, locked", map[string][]string{
			"off": {"max_reflection_depth=0", "locked=max_reflection_depth"}, "free": {"max_reflection_depth=9"},
		}, nil, "free", "off"},
		{"into another namespace, not locked", map[string][]string{
			"off": {"max_reflection_depth=0"}, "free": {"max_reflection_depth=9"},
		}, nil, "free", ""},
		{"settings of the parent that can't be read", nil, map[string]string{"off": "{"}, "", "off"},
		{"settings of the child that can't be read", nil, map[string]string{"off/child": `{"max_reflection_depth":"many"}`}, "", "off/child"},
		{"settings of a source that can't be read", nil, map[string]string{"off": "null"}, "free", "off"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := openPebble(t)
			g := governance.New(&journal.Writer{Store: s, Clock: &coretest.Clock{}})
			w := newWorld(t, s, func(o *memory.Options) { o.Governor = g })
			for _, level := range []string{"*", "off/child", "free", "off"} {
				if fields := c.set[level]; fields != nil {
					if _, err := g.Set(t.Context(), level, fields...); err != nil {
						t.Fatal(err)
					}
				}
				if raw, set := c.raw[level]; set {
					change(t, s, func(tx core.Tx) error { return tx.Put([]byte("governance/"+level), []byte(raw)) })
				}
			}
			id := w.observe(t, core.ObserveRequest{Namespace: "off/child", Content: "c"}).ID
			_, err := w.Reflect(t.Context(), &core.ReflectRequest{
				SourceIDs: []string{id}, Namespace: c.into, Title: "t", Content: "c", Attributes: core.Attributes{Metadata: []byte(spoofed)},
			})
			if c.decidedBy == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantReason(t, err, sdk.Denied, "depth_exceeded")
			if d := sdk.AsError(err).Details; d["cap"] != 0 || d["decided_by"] != c.decidedBy || w.events("reflection.depth_exceeded") != 1 {
				t.Errorf("details %v, %d events", d, w.events("reflection.depth_exceeded"))
			}
		})
	}
}
