package memory_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/sdk"
)

// reflect makes a reflection that must be taken, of a title of its own.
func (w *world) reflect(t *testing.T, r core.ReflectRequest) *core.ReflectResult {
	t.Helper()
	if r.Title == "" {
		r.Title = fmt.Sprint("about ", strings.Join(r.SourceIDs, ", "))
	}
	if r.Content == "" {
		r.Content = "c"
	}
	result, err := w.Reflect(t.Context(), &r)
	if err != nil {
		t.Fatalf("Reflect(%+v): %v", r, err)
	}
	return result
}

// chain observes a memory and reflects on it until a depth, and returns the
// deepest one's id.
func (w *world) chain(t *testing.T, namespace string, depth int) string {
	t.Helper()
	id := w.observe(t, core.ObserveRequest{Namespace: namespace, Content: "c"}).ID
	for range depth {
		id = w.reflect(t, core.ReflectRequest{SourceIDs: []string{id}}).ID
	}
	return id
}

// refused proves that a reflection is refused with a reason and leaves nothing.
func (w *world) refused(t *testing.T, r core.ReflectRequest, code sdk.Code, reason string) error {
	t.Helper()
	if r.Title == "" {
		r.Title = "t"
	}
	if r.Content == "" {
		r.Content = "c"
	}
	before := dump(t, w.store)
	_, err := w.Reflect(t.Context(), &r)
	wantReason(t, err, code, reason)
	if diff := cmp.Diff(before, dump(t, w.store)); diff != "" {
		t.Errorf("%s left something:\n%s", reason, diff)
	}
	return err
}

func TestAReflectionIsDerivedFromItsSources(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := newWorld(t, s, nil)
		a := w.observe(t, core.ObserveRequest{Namespace: "a", Content: "one"}).ID
		b := w.chain(t, "b", 1)
		got := w.reflect(t, core.ReflectRequest{
			SourceIDs: []string{b, a}, Title: "both", Content: "what both say", Attributes: core.Attributes{AgentID: "alice", Tags: []string{"x"}, Metadata: json.RawMessage(`{"k":1,"agent_id":"mallory","agent\u005fid":"mallory"}`)},
		})
		want := &core.ReflectResult{ID: got.ID, ReflectionDepth: 2, ReflectsOn: []string{b, a}, Namespace: "b"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		m, err := w.Get(t.Context(), got.ID)
		if err != nil || m.Kind != core.KindReflection || m.ReflectionDepth != 2 || m.AgentID != "alice" || m.State != core.StateOpen || m.Priority != 5 || m.Confidence != 1 {
			t.Errorf("memory %+v, error %v", m, err)
		}
		metadata := fmt.Sprintf(`{"k":1,"reflection_metadata":{"reflected_on_source_ids":["%s","%s"],"reflection_depth":2,`+
			`"reflection_created_at":"2000-01-01T00:00:00Z"},"agent_id":"alice"}`, b, a)
		if string(m.Metadata) != metadata {
			t.Errorf("metadata %s, want %s", m.Metadata, metadata)
		}
		from, to, err := w.Links(t.Context(), got.ID)
		links := []core.Link{
			{From: got.ID, Relation: "reflects_on", To: b, CreatedAt: coretest.Epoch()},
			{From: got.ID, Relation: "reflects_on", To: a, Position: 1, CreatedAt: coretest.Epoch()},
		}
		if diff := cmp.Diff(links, from); diff != "" || len(to) != 0 || err != nil {
			t.Errorf("links to %v, error %v, from (-want +got):\n%s", to, err, diff)
		}
		if _, to, err := w.Links(t.Context(), a); err != nil || len(to) != 1 || to[0].From != got.ID {
			t.Errorf("links to the source: %v, error %v", to, err)
		}
		if n := w.events("agent.memory.reflected"); n != 2 {
			t.Errorf("%d events", n)
		}
	})
}

func TestReflectChecksEverythingBeforeItLoads(t *testing.T) {
	w := newWorld(t, openPebble(t), nil)
	many := make([]string, 257)
	for i := range many {
		many[i] = fmt.Sprint("id-", i)
	}
	high := 1.5
	cases := []struct {
		name   string
		r      core.ReflectRequest
		reason string
		says   string
	}{
		{"no sources", core.ReflectRequest{}, "source_ids_invalid", "source_ids cannot be empty"},
		{"a duplicate", core.ReflectRequest{SourceIDs: []string{"a", "b", "a"}}, "source_ids_invalid", "source_ids[2] repeats source_ids[0]"},
		{"a bad id", core.ReflectRequest{SourceIDs: []string{"a", "b/c"}}, "source_ids_invalid", `source_ids[1] "b/c"`},
		{"too many", core.ReflectRequest{SourceIDs: many}, "source_ids_invalid", "source_ids has 257 ids (limit 256)"},
		{"blank title", core.ReflectRequest{SourceIDs: []string{"a"}, Title: " "}, "title_invalid", "title is blank"},
		{"observation", core.ReflectRequest{SourceIDs: []string{"a"}, Kind: core.KindObservation}, "kind_invalid", "observation"},
		{"namespace", core.ReflectRequest{SourceIDs: []string{"a"}, Namespace: "/"}, "namespace_invalid", "namespace"},
		{"confidence", core.ReflectRequest{SourceIDs: []string{"a"}, Attributes: core.Attributes{Confidence: &high}}, "confidence_invalid", "1.5"},
		{"metadata", core.ReflectRequest{SourceIDs: []string{"a"}, Attributes: core.Attributes{Metadata: []byte("[]")}}, "metadata_invalid", "object"},
		{"long key", core.ReflectRequest{SourceIDs: []string{"a"}, IdempotencyKey: strings.Repeat("k", 129)}, "idempotency_key_invalid", "129"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if err := w.refused(t, c.r, sdk.Invalid, c.reason); !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v, want %q in it", err, c.says)
			}
		})
	}
}

func TestTheFirstMissingSourceIsNamed(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := newWorld(t, s, nil)
		id := w.observe(t, core.ObserveRequest{Content: "c"}).ID
		err := w.refused(t, core.ReflectRequest{SourceIDs: []string{id, "gone", "lost"}}, sdk.NotFound, "source_not_found")
		if got := sdk.AsError(err).Details["source_id"]; got != "gone" {
			t.Errorf("it names %v", got)
		}
	})
}

func TestAnAssertedDepthMustFit(t *testing.T) {
	w := newWorld(t, openPebble(t), nil)
	id := w.chain(t, "ns", 1)
	for _, depth := range []int{-1, 0, 1, 3} {
		w.refused(t, core.ReflectRequest{SourceIDs: []string{id}, Depth: &depth}, sdk.Invalid, "depth_mismatch")
	}
	depth := 2
	w.reflect(t, core.ReflectRequest{SourceIDs: []string{id}, Depth: &depth, Title: "asserted"})
}

func TestTheCapIsReachedButNotPassed(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := newWorld(t, s, nil)
		id := w.chain(t, "ns", 3)
		_, err := w.Reflect(t.Context(), &core.ReflectRequest{SourceIDs: []string{id}, Title: "secret title", Content: "secret content", Attributes: core.Attributes{AgentID: "bob"}})
		wantReason(t, err, sdk.Denied, "depth_exceeded")
		if want := "reflection depth 4 would exceed namespace max_reflection_depth 3 (namespace='ns')"; err == nil || err.Error() != want {
			t.Errorf("error %q, want %q", err, want)
		}
		details := map[string]any{"attempted": 4, "cap": 3, "namespace": "ns", "decided_by": "default"}
		if diff := cmp.Diff(details, sdk.AsError(err).Details); diff != "" {
			t.Errorf("details (-want +got):\n%s", diff)
		}
		if n := w.events("reflection.depth_exceeded"); n != 1 {
			t.Fatalf("%d audit events, want exactly one", n)
		}
		last := w.entries[len(w.entries)-1]
		var e journal.DepthExceeded
		if err := json.Unmarshal(last.Data, &e); err != nil {
			t.Fatal(err)
		}
		want := journal.DepthExceeded{
			AgentID: "bob", Attempted: 4, Cap: 3, Namespace: "ns", DecidedBy: "default",
			Title: e.Title, SourceIDs: []string{id},
		}
		if !strings.HasPrefix(e.Title, "hmac-sha256:") {
			t.Errorf("the title's digest %q can be guessed", e.Title)
		}
		if diff := cmp.Diff(want, e); diff != "" || strings.Contains(string(last.Data), "secret") {
			t.Errorf("event %s (-want +got):\n%s", last.Data, diff)
		}
		for key, value := range dump(t, s) {
			if strings.Contains(value, "secret") {
				t.Errorf("%s holds what was refused", key)
			}
		}
		wantJournalWhole(t, s)
	})
}

func TestTheCallersReflectionMetadataStands(t *testing.T) {
	w := newWorld(t, openPebble(t), nil)
	id := w.observe(t, core.ObserveRequest{Content: "c"}).ID
	r := w.reflect(t, core.ReflectRequest{SourceIDs: []string{id}, Attributes: core.Attributes{Metadata: []byte(`{"reflection_metadata":{"reflection_depth":0}}`)}})
	m, err := w.Get(t.Context(), r.ID)
	if err != nil || string(m.Metadata) != `{"reflection_metadata":{"reflection_depth":0},"agent_id":""}` || m.ReflectionDepth != 1 {
		t.Errorf("depth %d, metadata %s, error %v", m.ReflectionDepth, m.Metadata, err)
	}
}

func TestALiveTitleIsTaken(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := newWorld(t, s, nil)
		id := w.observe(t, core.ObserveRequest{Content: "c", Title: "taken"}).ID
		err := w.refused(t, core.ReflectRequest{SourceIDs: []string{id}, Title: "taken"}, sdk.Conflict, "title_taken")
		if got := sdk.AsError(err).Details["memory_id"]; got != id {
			t.Errorf("it names %v", got)
		}
		w.reflect(t, core.ReflectRequest{SourceIDs: []string{id}, Title: "taken", Namespace: "elsewhere"})
		w.reflect(t, core.ReflectRequest{SourceIDs: []string{id}, Title: "taken "})
	})
}

// TestATitleIsTakenInEveryLiveState has a memory in each state: only those that still live
// by their use take their titles.
func TestATitleIsTakenInEveryLiveState(t *testing.T) {
	live := []core.MemoryState{core.StateOpen, core.StateActive, core.StateCooling, core.StateRevalidatePending}
	w := newWorld(t, openPebble(t), nil)
	source := w.observe(t, core.ObserveRequest{Content: "c"}).ID
	for _, state := range core.MemoryStates() {
		if state == core.StatePurged {
			continue // nothing is left of it
		}
		m := w.observe(t, core.ObserveRequest{Title: string(state), Content: "c"})
		m.State = state
		must(t, w.Put(t.Context(), m))
		want := ""
		if slices.Contains(live, state) {
			want = "title_taken"
		}
		_, err := w.Reflect(t.Context(), &core.ReflectRequest{SourceIDs: []string{source}, Title: string(state), Content: "c"})
		if sdk.ReasonOf(err) != want {
			t.Errorf("the title of a memory that is %s: %v, want %q", state, err, want)
		}
	}
}

// vetoer denies titles.
type vetoer map[string]string

func (v vetoer) Reflect(_ context.Context, _ core.Reader, in *policypoint.ReflectInput) policypoint.Permission {
	code, denied := v[in.Title]
	return policypoint.Permission{Allow: !denied, Code: code, Reason: "no " + code, Decision: policypoint.Decision{File: "reflect/x.yaml", Rule: "r", Digest: "d"}}
}

func TestThePolicyMayVeto(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := newWorld(t, s, func(o *memory.Options) { o.Reflection = vetoer{"gossip": "rude"} })
		id := w.chain(t, "ns", 3)
		err := w.refused(t, core.ReflectRequest{SourceIDs: []string{id}, Title: "gossip"}, sdk.Denied, "policy_veto")
		if d := sdk.AsError(err).Details; d["code"] != "rude" || d["reason"] != "no rude" || d["rule"] != "r" {
			t.Errorf("details %v", d)
		}
		if n := w.events("reflection.depth_exceeded"); n != 0 {
			t.Errorf("a veto made %d audit events", n)
		}
	})
}

func TestAnIdempotencyKeyReturnsTheFirstOutcome(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := newWorld(t, s, nil)
		id := w.observe(t, core.ObserveRequest{Content: "c"}).ID
		r := core.ReflectRequest{SourceIDs: []string{id}, Title: "once", Attributes: core.Attributes{AgentID: "a"}, IdempotencyKey: "k"}
		first := w.reflect(t, r)
		before := dump(t, s)
		r.Content = "another"
		if diff := cmp.Diff(first, w.reflect(t, r)); diff != "" {
			t.Errorf("(-first +second):\n%s", diff)
		}
		if diff := cmp.Diff(before, dump(t, s)); diff != "" {
			t.Errorf("the repetition wrote:\n%s", diff)
		}
		r.AgentID = "b"
		w.refused(t, r, sdk.Conflict, "title_taken")
	})
}

func TestReflectionsRespectLimits(t *testing.T) {
	w := newWorld(t, openPebble(t), nil)
	w.governor["ns"] = core.Governance{MaxReflectionDepth: 3, Limits: core.NamespaceLimits{MaxMemories: 4, MaxLinksPerMemory: 2}}
	var ids []string
	for range 3 {
		ids = append(ids, w.observe(t, core.ObserveRequest{Content: "c"}).ID)
	}
	w.refused(t, core.ReflectRequest{SourceIDs: ids}, sdk.Denied, "links_full")
	two := w.reflect(t, core.ReflectRequest{SourceIDs: ids[:2]})
	w.refused(t, core.ReflectRequest{SourceIDs: ids[:1]}, sdk.Denied, "namespace_full")
	_, err := w.Link(t.Context(), &memory.LinkRequest{From: two.ID, Relation: "related_to", To: ids[2]})
	wantReason(t, err, sdk.Denied, "links_full")
	if !slices.Equal(two.ReflectsOn, ids[:2]) {
		t.Errorf("reflects on %v", two.ReflectsOn)
	}
}
