package memory_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory"
)

// TestTheShapeOfAMemory checks the names and forms of its members: times have the
// writer's offset, and the vector is next to the record.
func TestTheShapeOfAMemory(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		at := zoned{time.Date(2026, 11, 21, 1, 2, 3, 4, time.FixedZone("", -5400))}
		w := newWorld(t, s, func(o *memory.Options) { o.Clock, o.Embedder = at, embedder{vector: []float32{1}} })
		w.live(t, "s", 1, w.observe(t, core.ObserveRequest{Content: "before"}).ID, core.OutcomeSuccess)
		priority, importance, confidence := 7, 0.25, 0.75
		w.observe(t, core.ObserveRequest{
			ID: "m", Namespace: "ns", Attributes: core.Attributes{AgentID: "ada", Tags: []string{"x"}, Priority: &priority, Importance: &importance, Confidence: &confidence, Metadata: []byte(`{"k":1}`)}, Kind: core.KindSemantic, Title: "t", Content: "c",
		})
		w.offer(t, "s", 2, "m")
		const when = `"2026-11-21T01:02:03.000000004-01:30"`
		want := `{"id":"m","namespace":"ns","agent_id":"ada","kind":"semantic","title":"t","content":"c","tags":["x"],` +
			`"priority":7,"importance":0.25,"confidence":0.75,"reflection_depth":0,"access_count":1,"metadata":{"k":1},` +
			`"state":"open","embedding_model":"lengths","created_at":` + when + `,"updated_at":` + when + `,"last_accessed_at":` + when +
			`,"created_turn":1,"signals":{"hit_count":0,"miss_streak":0,"last_hit_turn":0,"hit_rate_ewma":0,"utility_score":0.5,` +
			`"q_value":0.5,"ttl_score":0,"success_count":0,"partial_count":0,"failure_count":0,"relevant_turns":0,"sessions":0},"version":2}`
		if diff := cmp.Diff(want, string(jsontext.MustEncode(w.get(t, "m")))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		stored := dump(t, s)
		record, salt, _ := strings.Cut(stored["memory/m"], `,"salt":"`)
		if diff := cmp.Diff(want, record+"}"); diff != "" || len(salt) != len(`AAAAAAAAAAAAAAAAAAAAAA"}`) {
			t.Errorf("the record (-want +got):\n%s", diff)
		}
		if got := stored["memory-vector/m"]; got != "\x00\x07lengths\x00\x00\x80\x3f" {
			t.Errorf("the vector beside it is %q", got)
		}
	})
}

// TestTheShapesOfLinksAndKnowledge checks the names of their members.
func TestTheShapesOfLinksAndKnowledge(t *testing.T) {
	w := living(t, empty(t), decides(verdict.NextPromote, .9), deferred)
	_, k := w.promoted(t, core.ObserveRequest{ID: "m", Title: "t", Content: "c"})
	const when = `"2000-01-01T00:00:00Z"`
	want := `{"id":"` + k.ID + `","namespace":"ns","title":"t","content":"c","reusable_pattern_summary":"t\nc",` +
		`"promoted_from":"m","decision_id":"` + k.DecisionID + `","created_at":` + when + `}`
	if diff := cmp.Diff(want, string(jsontext.MustEncode(k))); diff != "" {
		t.Errorf("knowledge (-want +got):\n%s", diff)
	}
	w.observe(t, core.ObserveRequest{ID: "n", Content: "c"})
	link, err := w.Link(t.Context(), &memory.LinkRequest{From: "n", Relation: "related_to", To: "m", Metadata: []byte(`{"k": 1}`)})
	want = `{"from":"n","relation":"related_to","to":"m","created_at":` + when + `,"metadata":{"k":1}}`
	if got := string(jsontext.MustEncode(link)); got != want || err != nil {
		t.Errorf("link %s, error %v, want %s", got, err, want)
	}
}

// TestEveryIDIsFromTheSource: memories, reflections, approvals, decisions and
// knowledge have only ids from the source, each its own; the system's are
// UUIDv7 that rise.
func TestEveryIDIsFromTheSource(t *testing.T) {
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	source := &counting{IDs: &core.SystemIDs{}, made: map[string]bool{}}
	w := living(t, empty(t), decides(verdict.NextPromote, .9), func(o *memory.Options) { o.IDs, o.DeferGate = source, true })
	above := 1
	w.governor["ns"] = core.Governance{MaxReflectionDepth: 3, RequireApprovalAbove: &above}
	_, k := w.promoted(t, core.ObserveRequest{Content: "c"})
	first := w.reflect(t, core.ReflectRequest{SourceIDs: []string{k.PromotedFrom}})
	waits := w.reflect(t, core.ReflectRequest{SourceIDs: []string{first.ID}})
	approved, err := w.Approve(t.Context(), waits.PendingID)
	must(t, err)
	ids := []string{k.PromotedFrom, k.DecisionID, k.ID, first.ID, waits.PendingID, approved.ID}
	for _, id := range ids {
		if !source.made[id] || !form.MatchString(id) {
			t.Errorf("id %q isn't a UUIDv7 of the source", id)
		}
	}
	if !slices.IsSorted(ids) || len(slices.Compact(ids)) != len(ids) {
		t.Errorf("ids don't rise: %v", ids)
	}
	for key := range dump(t, w.store) {
		for _, id := range regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`).FindAllString(key, -1) {
			if !source.made[id] {
				t.Errorf("%q names %s, which the source didn't make", key, id)
			}
		}
	}
}

// counting notes the ids that a source made.
type counting struct {
	core.IDs
	made map[string]bool
}

// NewID implements [core.IDs].
func (c *counting) NewID() string {
	id := c.IDs.NewID()
	c.made[id] = true
	return id
}

// TestAllProblemsOfAReflectionAreReportedAtOnce also checks that each is one line.
func TestAllProblemsOfAReflectionAreReportedAtOnce(t *testing.T) {
	w := newWorld(t, empty(t), nil)
	low, high := 0, 1.5
	_, err := w.Reflect(t.Context(), &core.ReflectRequest{
		Title: "\x01", Kind: core.KindObservation, Namespace: "/", Attributes: core.Attributes{AgentID: "a\n", Tags: []string{""}, Priority: &low, Confidence: &high, Metadata: []byte("1")}, IdempotencyKey: "\n",
	})
	wantReason(t, err, "invalid", "several_problems")
	var told map[string][]core.ErrorInfo
	if json.Unmarshal(jsontext.MustEncode(core.NewErrorInfo(err).Details), &told) != nil {
		t.Fatalf("details %v", core.NewErrorInfo(err).Details)
	}
	fields := map[string]bool{}
	for _, p := range told["problems"] {
		fields[p.Code] = true
		if strings.Contains(p.Message, "\n") {
			t.Errorf("%q has several lines", p.Message)
		}
	}
	want := []string{"agent_id_invalid", "confidence_invalid", "content_invalid", "idempotency_key_invalid", "kind_invalid",
		"metadata_invalid", "namespace_invalid", "priority_invalid", "source_ids_invalid", "tags_invalid", "title_invalid"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(fields))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
