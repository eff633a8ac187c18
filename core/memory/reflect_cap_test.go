package memory_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/governance"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/sdk"
)

// settled is a world with settings that are really stored.
type settled struct {
	*world
	settings *governance.Governor
}

func newSettled(t *testing.T, s core.Store, policy policypoint.ReflectPolicy) *settled {
	t.Helper()
	g := governance.New(&journal.Writer{Store: s, Clock: &coretest.Clock{}})
	return &settled{newWorld(t, s, func(o *memory.Options) { o.Governor, o.Reflection = g, policy }), g}
}

// set changes a level by its name and assignments, such as "a max_reflection_depth=1".
func (s *settled) set(t *testing.T, line string) {
	t.Helper()
	f := strings.Fields(line)
	if _, err := s.settings.Set(t.Context(), f[0], f[1:]...); err != nil {
		t.Fatalf("set %s: %v", line, err)
	}
}

// TestALockedCapOfASourceHoldsElsewhere reflects from src/a, and where it is named
// from other too, into a third namespace: the smallest of the locked caps and the
// target's own counts, and the level that gave it is named.
func TestALockedCapOfASourceHoldsElsewhere(t *testing.T) {
	const free = "to max_reflection_depth=9"
	cases := []struct {
		name      string
		set       []string
		depth     int // of the source in src/a
		other     bool
		cap       int
		decidedBy string // "" for a reflection that is taken
	}{
		{"below the lock", []string{"src max_reflection_depth=2 locked=max_reflection_depth", free}, 0, false, 0, ""},
		{"at the lock", []string{"src max_reflection_depth=2 locked=max_reflection_depth", free}, 1, false, 0, ""},
		{"above the lock", []string{"src max_reflection_depth=2 locked=max_reflection_depth", free}, 2, false, 2, "src"},
		{"the target's is smaller", []string{"src max_reflection_depth=5 locked=max_reflection_depth", "to max_reflection_depth=2"}, 2, false, 2, "to"},
		{"a lock of the cap from above it", []string{"* max_reflection_depth=1", "src locked=max_reflection_depth", free}, 1, false, 1, "*"},
		{"a lock of the default", []string{"src locked=max_reflection_depth", free}, 3, false, 3, "default"},
		{"the smallest of two locks", []string{"src max_reflection_depth=4 locked=max_reflection_depth", "other max_reflection_depth=2 locked=max_reflection_depth", free}, 2, true, 2, "other"},
		{"no lock", []string{"src max_reflection_depth=2", free}, 2, false, 0, ""},
		{"a lock of another field", []string{"src max_reflection_depth=1 locked=limits,require_approval_above_depth", free}, 2, false, 0, ""},
		{"below the lock others are set and locked", []string{"src max_reflection_depth=2 locked=max_reflection_depth", "src/a limits.max_bytes=9999 locked=limits", free}, 2, false, 2, "src"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newSettled(t, empty(t), nil)
			r := core.ReflectRequest{SourceIDs: []string{w.chain(t, "src/a", c.depth)}, Namespace: "to"}
			if c.other {
				r.SourceIDs = append(r.SourceIDs, w.chain(t, "other", 0))
			}
			for _, line := range c.set {
				w.set(t, line)
			}
			if c.decidedBy == "" {
				w.reflect(t, r)
				return
			}
			r.Title, r.Content = "t", "c"
			_, err := w.Reflect(t.Context(), &r)
			wantReason(t, err, sdk.Denied, "depth_exceeded")
			want := fmt.Sprintf("reflection depth %d would exceed namespace max_reflection_depth %d (namespace='to')", c.depth+1, c.cap)
			if d := sdk.AsError(err).Details; d["cap"] != c.cap || d["decided_by"] != c.decidedBy || err.Error() != want {
				t.Errorf("error %v, details %v", err, d)
			}
		})
	}
}

// permissive is a reflect policy that allows all.
type permissive struct{}

// Reflect implements [policypoint.ReflectPolicy].
func (permissive) Reflect(context.Context, core.Reader, *policypoint.ReflectInput) policypoint.Permission {
	return policypoint.Permission{Allow: true}
}

// TestWhatHappensInBetweenCounts changes, while a reflection's transaction is
// open, what it has read: sources and settings count as they are at the commit.
func TestWhatHappensInBetweenCounts(t *testing.T) {
	cases := []struct {
		name   string
		do     func(*testing.T, *settled)
		reason string
	}{
		{"the kill switch for all", func(t *testing.T, w *settled) { w.set(t, "* max_reflection_depth=0") }, "depth_exceeded"},
		{"a lock of the source's", func(t *testing.T, w *settled) { w.set(t, "src max_reflection_depth=0 locked=max_reflection_depth") }, "depth_exceeded"},
		{"settings that can't be read", func(t *testing.T, w *settled) {
			change(t, w.store, func(tx core.Tx) error { return tx.Put([]byte("governance/*"), []byte("{")) })
		}, "depth_exceeded"},
		{"no room any more", func(t *testing.T, w *settled) { w.set(t, "* limits.max_links_per_memory=1") }, "links_full"},
		{"a purged source", func(t *testing.T, w *settled) { must(t, w.Remove(t.Context(), "src")) }, "source_purged"},
		{"a consolidated source", func(t *testing.T, w *settled) {
			must(t, w.MoveByDream(t.Context(), "src", core.StateConsolidated, "keeper"))
		}, "source_consolidated"},
		{"the same title", func(t *testing.T, w *settled) {
			w.observe(t, core.ObserveRequest{Namespace: "to", Title: "t", Content: "c"})
		}, "title_taken"},
		{"nothing that matters", func(t *testing.T, w *settled) { w.observe(t, core.ObserveRequest{Namespace: "src", Content: "c"}) }, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			onEngines(t, func(t *testing.T, s core.Store) {
				policy := &meddler{ReflectPolicy: permissive{}}
				w := newSettled(t, s, policy)
				for _, id := range []string{"src", "src-2"} {
					w.observe(t, core.ObserveRequest{ID: id, Namespace: "src", Content: id})
				}
				policy.meddle = func() { c.do(t, w) }
				_, err := w.Reflect(t.Context(), &core.ReflectRequest{SourceIDs: []string{"src", "src-2"}, Namespace: "to", Title: "t", Content: "c"})
				if sdk.ReasonOf(err) != c.reason || policy.meddle != nil {
					t.Errorf("error %v, want %q", err, c.reason)
				}
				events := map[bool]int{true: 1}[c.reason == "depth_exceeded"]
				if n := w.events("reflection.depth_exceeded"); n != events {
					t.Errorf("%d audit events, want %d", n, events)
				}
			})
		})
	}
}

// TestDepthIsWhatTheRecordsSay: what metadata says of depth, in sources too,
// counts nowhere.
func TestDepthIsWhatTheRecordsSay(t *testing.T) {
	w := newWorld(t, empty(t), nil)
	w.observe(t, core.ObserveRequest{ID: "0", Content: "c", Attributes: core.Attributes{Metadata: []byte(`{"reflection_depth":9,"reflection_metadata":{"reflection_depth":9}}`)}})
	id := "0"
	for depth := 1; depth <= 3; depth++ {
		r := w.reflect(t, core.ReflectRequest{SourceIDs: []string{id}, Attributes: core.Attributes{Metadata: []byte(spoofed)}})
		if r.ReflectionDepth != depth || w.get(t, r.ID).ReflectionDepth != depth {
			t.Fatalf("depth %d, want %d", r.ReflectionDepth, depth)
		}
		id = r.ID
	}
	_, err := w.Reflect(t.Context(), &core.ReflectRequest{SourceIDs: []string{id}, Title: "t", Content: "c", Attributes: core.Attributes{Metadata: []byte(spoofed)}})
	wantReason(t, err, sdk.Denied, "depth_exceeded")
}

// TestTheCapComesBeforeTheApproval: what is too deep isn't kept for an approval,
// and the policy is asked again about what waits.
func TestTheCapComesBeforeTheApproval(t *testing.T) {
	vetoes := vetoer{}
	w := newSettled(t, empty(t), vetoes)
	w.set(t, "ns max_reflection_depth=2 require_approval_above_depth=0")
	id := w.observe(t, core.ObserveRequest{Content: "c"}).ID
	for range 2 {
		p := w.reflect(t, core.ReflectRequest{SourceIDs: []string{id}})
		r, err := w.Approve(t.Context(), p.PendingID)
		must(t, err)
		id = r.ID
	}
	_, err := w.Reflect(t.Context(), &core.ReflectRequest{SourceIDs: []string{id}, Title: "t", Content: "c"})
	wantReason(t, err, sdk.Denied, "depth_exceeded")
	list, err := w.Pending(t.Context(), memory.PendingFilter{})
	if err != nil || len(list) != 0 {
		t.Errorf("%d wait, error %v", len(list), err)
	}
	w.set(t, "ns max_reflection_depth=9")
	p := w.reflect(t, core.ReflectRequest{SourceIDs: []string{id}, Title: "gossip"})
	vetoes["gossip"] = "rude"
	_, err = w.Approve(t.Context(), p.PendingID)
	wantReason(t, err, sdk.Denied, "policy_veto")
	if n := w.events("reflection.depth_exceeded"); n != 1 {
		t.Errorf("%d audit events", n)
	}
}

// TestUnreadableSettingsAreInTheAuditEvent, with their level and the reason.
func TestUnreadableSettingsAreInTheAuditEvent(t *testing.T) {
	w := newSettled(t, empty(t), nil)
	id := w.observe(t, core.ObserveRequest{Namespace: "a/b", Content: "c"}).ID
	change(t, w.store, func(tx core.Tx) error { return tx.Put([]byte("governance/a"), []byte("{")) })
	_, err := w.Reflect(t.Context(), &core.ReflectRequest{SourceIDs: []string{id}, Title: "t", Content: "c"})
	wantReason(t, err, sdk.Denied, "depth_exceeded")
	if e := sdk.AsError(err); e.Details["failure"] != "governance_unreadable" || !strings.Contains(e.Hint, "governance_unreadable") && !strings.Contains(e.Hint, "can't be read") {
		t.Errorf("details %v, hint %q", e.Details, e.Hint)
	}
	var e journal.DepthExceeded
	last := w.entries[len(w.entries)-1]
	if err := json.Unmarshal(last.Data, &e); err != nil || last.Type != "reflection.depth_exceeded" || e.Failure != "governance_unreadable" || e.DecidedBy != "a" || e.Cap != 0 {
		t.Errorf("%s %s, error %v", last.Type, last.Data, err)
	}
}
