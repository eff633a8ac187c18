package memory_test

import (
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

func TestCapZeroForbidsReflections(t *testing.T) {
	w := newWorld(t, openPebble(t), nil)
	w.governor["off"] = core.Governance{DecidedBy: "*"}
	id := w.observe(t, core.ObserveRequest{Namespace: "off", Content: "c"}).ID
	_, err := w.Reflect(t.Context(), &core.ReflectRequest{SourceIDs: []string{id}, Title: "t", Content: "c"})
	wantReason(t, err, sdk.Denied, "depth_exceeded")
	if d := sdk.AsError(err).Details; d["cap"] != 0 || d["decided_by"] != "*" {
		t.Errorf("details %v", d)
	}
}

// TestTheKillSwitchHolds attacks a namespace that forbids reflections.
func TestTheKillSwitchHolds(t *testing.T) {
	broken := sdk.Errorf(sdk.Internal, "governance_unreadable", "it can't be decoded")
	cases := []struct {
		name      string
		set       core.Governance
		r         core.ReflectRequest
		decidedBy string
		refused   bool
	}{
		{"into another namespace, locked", core.Governance{DecidedBy: "*", DepthLocked: true}, core.ReflectRequest{Namespace: "free"}, "*", true},
		{"into another namespace, not locked", core.Governance{DecidedBy: "*"}, core.ReflectRequest{Namespace: "free"}, "", false},
		{"into another namespace, with a free source first", core.Governance{DecidedBy: "off", DepthLocked: true}, core.ReflectRequest{Namespace: "free", SourceIDs: []string{"free"}}, "off", true},
		{"by metadata that speaks of another depth", core.Governance{DecidedBy: "off"}, core.ReflectRequest{
			Attributes: core.Attributes{Metadata: []byte(`{"reflection_metadata":{"reflection_depth":0,"reflected_on_source_ids":[]}}`)}}, "off", true},
		{"by settings that can't be read", core.Governance{MaxReflectionDepth: 9, DecidedBy: "off", Failure: broken}, core.ReflectRequest{}, "off", true},
		{"by a source's settings that can't be read", core.Governance{MaxReflectionDepth: 9, DecidedBy: "off", Failure: broken}, core.ReflectRequest{Namespace: "free"}, "off", true},
		{"by a kind that isn't reflection", core.Governance{DecidedBy: "off"}, core.ReflectRequest{Kind: core.KindSemantic}, "off", true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, openPebble(t), nil)
			w.governor["off"] = c.set
			w.observe(t, core.ObserveRequest{ID: "free", Namespace: "free", Content: "c"})
			id := w.observe(t, core.ObserveRequest{Namespace: "off", Content: "c"}).ID
			c.r.SourceIDs, c.r.Title, c.r.Content = append(c.r.SourceIDs, id), "t", "c"
			_, err := w.Reflect(t.Context(), &c.r)
			if !c.refused {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantReason(t, err, sdk.Denied, "depth_exceeded")
			if got := sdk.AsError(err).Details["decided_by"]; got != c.decidedBy || w.events("reflection.depth_exceeded") != 1 {
				t.Errorf("decided by %v, with %d events", got, w.events("reflection.depth_exceeded"))
			}
		})
	}
}
