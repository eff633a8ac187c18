package memory_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

func TestObserveHasTheDefaults(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := newWorld(t, s, nil)
		got := w.observe(t, core.ObserveRequest{Namespace: "a/b", Content: "  the build fails without cgo"})
		want := &core.Memory{
			ID: "00000000-0000-7000-8000-000000000001", Namespace: "a/b", Kind: core.KindObservation,
			Title: "the build fails without cgo", Content: "  the build fails without cgo",
			Priority: 5, Importance: 0.5, Confidence: 1, State: core.StateOpen,
			CreatedAt: coretest.Epoch(), UpdatedAt: coretest.Epoch(),
			Signals: core.Signals{Utility: 0.5, Q: 0.5}, Version: 1, Salt: got.Salt,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		stored, err := w.Get(t.Context(), got.ID)
		if diff := cmp.Diff(want, stored); diff != "" || err != nil {
			t.Errorf("Get: error %v (-want +got):\n%s", err, diff)
		}
		if n := w.events("agent.memory.observed"); n != 1 {
			t.Errorf("%d events", n)
		}
	})
}

func TestObserveKeepsWhatIsGiven(t *testing.T) {
	priority, importance, confidence := 9, 0.0, 0.25
	r := core.ObserveRequest{
		ID: "my:id@1", Namespace: "ns", Attributes: core.Attributes{AgentID: "alice", Tags: []string{"b", "a", "b"}, Priority: &priority, Importance: &importance, Confidence: &confidence, Metadata: json.RawMessage(` {"k": [1, 2.50]} `)}, Kind: core.KindProcedural, Title: "how\tto", Content: "c",
	}
	onEngines(t, func(t *testing.T, s core.Store) {
		w := newWorld(t, s, nil)
		m := w.observe(t, r)
		if m.ID != r.ID || m.AgentID != "alice" || m.Kind != core.KindProcedural || m.Title != "how\tto" ||
			m.Priority != 9 || m.Importance != 0 || m.Confidence != 0.25 {
			t.Errorf("got %+v", m)
		}
		if string(m.Metadata) != `{"k":[1,2.50]}` || !cmp.Equal(m.Tags, []string{"b", "a"}) {
			t.Errorf("metadata %s, tags %v", m.Metadata, m.Tags)
		}
		_, err := w.Observe(t.Context(), &r)
		wantReason(t, err, sdk.Conflict, "id_taken")
	})
}

func TestTimesKeepTheWritersOffset(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		at := time.Date(2026, 11, 21, 1, 2, 3, 4, time.FixedZone("", 3600))
		w := newWorld(t, s, func(o *memory.Options) { o.Clock = zoned{at} })
		m, err := w.Get(t.Context(), w.observe(t, core.ObserveRequest{Content: "c"}).ID)
		if err != nil || m.CreatedAt.Format(time.RFC3339Nano) != "2026-11-21T01:02:03.000000004+01:00" {
			t.Errorf("created at %s, error %v", m.CreatedAt.Format(time.RFC3339Nano), err)
		}
	})
}

func TestMissingTitleIsTheContentsBeginning(t *testing.T) {
	cases := map[string]string{
		strings.Repeat("ä", 100):            strings.Repeat("ä", 80),
		"\n\n  short \x00text\n":            "short  text",
		strings.Repeat(" ", 200) + "behind": "behind",
		"two\nlines":                        "two\nlines",
		"\x00\x01 " + "seen":                "seen",
	}
	for content, title := range cases {
		w := newWorld(t, openPebble(t), nil)
		if m := w.observe(t, core.ObserveRequest{Content: content}); m.Title != title || m.Content != content {
			t.Errorf("%q has title %q, want %q", content, m.Title, title)
		}
	}
}

func TestObserveRefusesWhatIsOutOfBounds(t *testing.T) {
	nan, endless, under, big, low, high := math.NaN(), math.Inf(1), -0.01, 1.01, 0, 11
	deep := strings.Repeat(`{"a":`, 33) + "1" + strings.Repeat("}", 33)
	many := make([]string, 51)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	cases := []struct {
		name   string
		change func(*core.ObserveRequest)
		reason string
		says   string
	}{
		{"blank title", func(r *core.ObserveRequest) { r.Title = " \n" }, "title_invalid", "title is blank"},
		{"long title", func(r *core.ObserveRequest) { r.Title = strings.Repeat("ä", 513) }, "title_invalid", "title has 513 characters (limit 512)"},
		{"control in title", func(r *core.ObserveRequest) { r.Title = "a\rb" }, "title_invalid", "title has control character U+000D at byte 1"},
		{"delete in title", func(r *core.ObserveRequest) { r.Title = "a\x7fb" }, "title_invalid", "U+007F at byte 1"},
		{"control beyond ASCII in title", func(r *core.ObserveRequest) { r.Title = "ä\u0085b" }, "title_invalid", "U+0085 at byte 2"},
		{"title isn't UTF-8", func(r *core.ObserveRequest) { r.Title = "a\xff" }, "title_invalid", "title isn't UTF-8"},
		{"a zero-width space as title", func(r *core.ObserveRequest) { r.Title = "\u200b" }, "title_invalid", "title is blank"},
		{"a word joiner as title", func(r *core.ObserveRequest) { r.Title = "\u2060 \u2060" }, "title_invalid", "title is blank"},
		{"a byte order mark as title", func(r *core.ObserveRequest) { r.Title = "\ufeff" }, "title_invalid", "title is blank"},
		{"a direction mark as title", func(r *core.ObserveRequest) { r.Title = "\u200f\u202e" }, "title_invalid", "title is blank"},
		{"a soft hyphen as title", func(r *core.ObserveRequest) { r.Title = "\u00ad" }, "title_invalid", "title is blank"},
		{"a Hangul filler as title", func(r *core.ObserveRequest) { r.Title = "\u3164" }, "title_invalid", "title is blank"},
		{"an empty Braille pattern as title", func(r *core.ObserveRequest) { r.Title = "\u2800" }, "title_invalid", "title is blank"},
		{"a variation selector as title", func(r *core.ObserveRequest) { r.Title = "\ufe0f" }, "title_invalid", "title is blank"},
		{"tag characters as title", func(r *core.ObserveRequest) { r.Title = "\U000e0041\U000e0042" }, "title_invalid", "title is blank"},
		{"zero-width content", func(r *core.ObserveRequest) { r.Content = "\u200b\n\u200d" }, "content_invalid", "content is blank"},
		{"zero-width tag", func(r *core.ObserveRequest) { r.Tags = []string{"a", "\u200b"} }, "tags_invalid", "tags[1] is blank"},
		{"no content", func(r *core.ObserveRequest) { r.Content = "" }, "content_invalid", "content is blank"},
		{"unseen content", func(r *core.ObserveRequest) { r.Content = " \x00\n" }, "content_invalid", "content is blank"},
		{"long content", func(r *core.ObserveRequest) { r.Content = strings.Repeat("x", 65_537) }, "content_invalid", "content has 65537 bytes (limit 65536)"},
		{"content isn't UTF-8", func(r *core.ObserveRequest) { r.Content = "a\xff" }, "content_invalid", "content isn't UTF-8"},
		{"many tags", func(r *core.ObserveRequest) { r.Tags = many }, "tags_invalid", "tags has 51 tags (limit 50)"},
		{"long tag", func(r *core.ObserveRequest) { r.Tags = []string{"a", strings.Repeat("x", 129)} }, "tags_invalid", "tags[1] has 129 bytes (limit 128)"},
		{"blank tag", func(r *core.ObserveRequest) { r.Tags = []string{" "} }, "tags_invalid", "tags[0] is blank"},
		{"tag with a zero", func(r *core.ObserveRequest) { r.Tags = []string{"a\x00b"} }, "tags_invalid", "control character"},
		{"metadata isn't an object", func(r *core.ObserveRequest) { r.Metadata = []byte(`[1]`) }, "metadata_invalid", "metadata isn't a JSON object"},
		{"metadata isn't JSON", func(r *core.ObserveRequest) { r.Metadata = []byte(`{"a":}`) }, "metadata_invalid", "not JSON"},
		{"metadata with an infinite number", func(r *core.ObserveRequest) { r.Metadata = []byte(`{"a":1e999}`) }, "metadata_invalid", "1e999 is out of range"},
		{"metadata isn't UTF-8", func(r *core.ObserveRequest) { r.Metadata = []byte("{\"a\":\"\xff\"}") }, "metadata_invalid", "UTF-8"},
		{"large metadata", func(r *core.ObserveRequest) {
			r.Metadata = []byte(`{"a":"` + strings.Repeat("x", 65_536) + `"}`)
		}, "metadata_invalid", "metadata has 65544 bytes (limit 65536)"},
		{"deep metadata", func(r *core.ObserveRequest) { r.Metadata = []byte(deep) }, "metadata_invalid", "metadata has 33 levels (limit 32)"},
		{"importance over 1", func(r *core.ObserveRequest) { r.Importance = &big }, "importance_invalid", "importance is 1.01, not a number from 0 to 1"},
		{"importance under 0", func(r *core.ObserveRequest) { r.Importance = &under }, "importance_invalid", "importance is -0.01"},
		{"endless importance", func(r *core.ObserveRequest) { r.Importance = &endless }, "importance_invalid", "importance is +Inf"},
		{"confidence over 1", func(r *core.ObserveRequest) { r.Confidence = &big }, "confidence_invalid", "confidence is 1.01"},
		{"confidence that is no number", func(r *core.ObserveRequest) { r.Confidence = &nan }, "confidence_invalid", "confidence is NaN"},
		{"priority 0", func(r *core.ObserveRequest) { r.Priority = &low }, "priority_invalid", "priority is 0, not from 1 to 10"},
		{"priority 11", func(r *core.ObserveRequest) { r.Priority = &high }, "priority_invalid", "priority is 11"},
		{"id with dots", func(r *core.ObserveRequest) { r.ID = "a..b" }, "id_invalid", `id "a..b"`},
		{"id with a slash", func(r *core.ObserveRequest) { r.ID = "a/b" }, "id_invalid", `id "a/b"`},
		{"id with a space", func(r *core.ObserveRequest) { r.ID = "a b" }, "id_invalid", `id "a b"`},
		{"id beyond ASCII", func(r *core.ObserveRequest) { r.ID = "ä" }, "id_invalid", `id "ä"`},
		{"long id", func(r *core.ObserveRequest) { r.ID = strings.Repeat("a", 129) }, "id_invalid", "128"},
		{"id of a purged one", func(r *core.ObserveRequest) { r.ID = "purged:a" }, "id_invalid", "purged:"},
		{"no namespace", func(r *core.ObserveRequest) { r.Namespace = "" }, "namespace_invalid", "empty"},
		{"namespace", func(r *core.ObserveRequest) { r.Namespace = "a/../b" }, "namespace_invalid", ".."},
		{"agent", func(r *core.ObserveRequest) { r.AgentID = "a\nb" }, "agent_id_invalid", "control character"},
		{"unknown kind", func(r *core.ObserveRequest) { r.Kind = "thought" }, "kind_invalid", `kind is "thought"`},
		{"a reflection without sources", func(r *core.ObserveRequest) { r.Kind = core.KindReflection }, "kind_invalid", "needs sources"},
	}
	w := newWorld(t, openPebble(t), nil)
	before := dump(t, w.store)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := core.ObserveRequest{Namespace: "ns", Content: "c"}
			c.change(&r)
			_, err := w.Observe(t.Context(), &r)
			wantReason(t, err, sdk.Invalid, c.reason)
			if !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v, want %q in it", err, c.says)
			}
			field, _ := sdk.AsError(err).Details["field"].(string)
			if name, _, _ := strings.Cut(field, "["); name+"_invalid" != c.reason || !strings.Contains(err.Error(), field) {
				t.Errorf("it names field %q", field)
			}
		})
	}
	if diff := cmp.Diff(before, dump(t, w.store)); diff != "" {
		t.Errorf("refused memories left something:\n%s", diff)
	}
}

func TestObserveTakesWhatIsAtItsBounds(t *testing.T) {
	zero, one, lowest, highest := 0.0, 1.0, 1, 10
	tags := make([]string, 50)
	for i := range tags {
		tags[i] = fmt.Sprintf("%0128d", i)
	}
	w := newWorld(t, openPebble(t), nil)
	w.observe(t, core.ObserveRequest{
		ID: strings.Repeat("x", 128), Namespace: strings.Repeat("ä/", 7) + strings.Repeat("ä", 498), Title: strings.Repeat("ä", 512),
		Content: strings.Repeat("x", 65_536), Attributes: core.Attributes{Tags: tags, Importance: &zero, Confidence: &one, Priority: &lowest, Metadata: []byte(strings.Repeat(`{"a":`, 32) + "1" + strings.Repeat("}", 32))},
	})
	w.observe(t, core.ObserveRequest{
		ID: "AZaz09_:.@-", Title: "two\nlines\tand a tab", Content: "c", Attributes: core.Attributes{Importance: &one, Confidence: &zero, Priority: &highest, Metadata: []byte(`{"a":"` + strings.Repeat("x", 65_536-8) + `"}`)},
	})
	w.observe(t, core.ObserveRequest{Content: "c", Attributes: core.Attributes{Metadata: []byte(" null ")}})
}

func TestAllProblemsAreReportedAtOnce(t *testing.T) {
	w := newWorld(t, openPebble(t), nil)
	priority := 0
	_, err := w.Observe(t.Context(), &core.ObserveRequest{Title: "\x01", Attributes: core.Attributes{Priority: &priority}})
	wantReason(t, err, sdk.Invalid, "several_problems")
	for _, field := range []string{"namespace", "title", "content", "priority"} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("%v doesn't name %s", err, field)
		}
	}
	_, _, err = w.ObserveAll(t.Context(), []*core.ObserveRequest{{Namespace: "ns", Content: "c"}, {Namespace: "ns"}, {Content: "c"}})
	if err == nil || !strings.Contains(err.Error(), "items[1].content is blank") || !strings.Contains(err.Error(), "items[2]: namespace") {
		t.Errorf("a batch: %v", err)
	}
}

func TestABatchIsStoredAsAWhole(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := newWorld(t, s, nil)
		batch := make([]*core.ObserveRequest, memory.MaxBatch+1)
		for i := range batch {
			batch[i] = &core.ObserveRequest{Namespace: fmt.Sprintf("ns%d", i%3), Content: fmt.Sprint(i)}
		}
		_, _, err := w.ObserveAll(t.Context(), batch)
		wantReason(t, err, sdk.Invalid, "batch_invalid")
		batch = batch[:20]
		batch[19].ID, batch[18].ID = "same", "same"
		before := dump(t, s)
		_, _, err = w.ObserveAll(t.Context(), batch)
		wantReason(t, err, sdk.Conflict, "id_taken")
		if diff := cmp.Diff(before, dump(t, s)); diff != "" {
			t.Errorf("a refused batch left something:\n%s", diff)
		}
		batch[19].ID = "other"
		memories, _, err := w.ObserveAll(t.Context(), batch)
		if err != nil || len(memories) != 20 || w.events("agent.memory.observed") != 20 {
			t.Fatalf("%d memories, error %v", len(memories), err)
		}
		for i, m := range memories {
			if got, err := w.Get(t.Context(), m.ID); err != nil || got.Content != fmt.Sprint(i) {
				t.Errorf("memory %d: %+v, error %v", i, got, err)
			}
		}
	})
}

func TestFindTakesAUniquePrefix(t *testing.T) {
	w := newWorld(t, openPebble(t), nil)
	for _, id := range []string{"abcdefgh-1", "abcdefgh-2", "abcdefgi-1", "ab"} {
		w.observe(t, core.ObserveRequest{ID: id, Content: "c"})
	}
	cases := []struct{ prefix, id, reason string }{
		{"abcdefgh-1", "abcdefgh-1", ""}, {"abcdefgi", "abcdefgi-1", ""}, {"ab", "ab", ""},
		{"abcdefgh", "", "id_ambiguous"}, {"abcdefg", "", "memory_not_found"},
		{"zzzzzzzz", "", "memory_not_found"}, {"", "", "memory_not_found"}, {"a/", "", "memory_not_found"},
	}
	for _, c := range cases {
		m, err := w.Find(t.Context(), c.prefix)
		if sdk.ReasonOf(err) != c.reason || err == nil && m.ID != c.id {
			t.Errorf("Find(%q) = %+v, error %v", c.prefix, m, err)
		}
	}
}

func TestNamespacesHoldWhatTheirLimitsAllow(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := newWorld(t, s, nil)
		w.governor["few"] = core.Governance{Limits: core.NamespaceLimits{MaxMemories: 2}}
		w.governor["small"] = core.Governance{Limits: core.NamespaceLimits{MaxBytes: 20}}
		for range 2 {
			w.observe(t, core.ObserveRequest{Namespace: "few", Content: "c"})
		}
		w.observe(t, core.ObserveRequest{Namespace: "few/below", Content: "c"})
		_, err := w.Observe(t.Context(), &core.ObserveRequest{Namespace: "few", Content: "c"})
		wantReason(t, err, sdk.Denied, "namespace_full")
		w.observe(t, core.ObserveRequest{Namespace: "small", Title: "12345", Content: "12345", Attributes: core.Attributes{Tags: []string{"12345"}, Metadata: []byte("{}")}})
		_, err = w.Observe(t.Context(), &core.ObserveRequest{Namespace: "small", Title: "1", Content: "123"})
		wantReason(t, err, sdk.Denied, "namespace_full")
		w.observe(t, core.ObserveRequest{Namespace: "small", Title: "1", Content: "12"})
	})
}

func TestAnIdempotencyKeyObservesOnce(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := newWorld(t, s, nil)
		request := func(content string) *core.ObserveRequest {
			return &core.ObserveRequest{Namespace: "a", Attributes: core.Attributes{AgentID: "ada"}, Content: content, IdempotencyKey: "k"}
		}
		first, err := w.Observe(t.Context(), request("one"))
		if err != nil {
			t.Fatal(err)
		}
		again, err := w.Observe(t.Context(), request("two"))
		if err != nil || again.ID != first.ID || again.Content != "one" {
			t.Errorf("the same key: %+v, error %v", again, err)
		}
		other := request("three")
		other.AgentID = "bob"
		if m, err := w.Observe(t.Context(), other); err != nil || m.ID == first.ID {
			t.Errorf("another agent's key: %+v, error %v", m, err)
		}
	})
}

// TestOccurredAtIsKeptAsItWasGiven also checks that a memory's age in turns begins when the
// described event happened, as estimated from the memories written before.
func TestOccurredAtIsKeptAsItWasGiven(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := living(t, s, nil, nil)
		first := w.observe(t, core.ObserveRequest{Content: "word one"})
		at := func(m *core.Memory) string {
			return m.CreatedAt.Add(time.Minute).In(time.FixedZone("", 5400)).Format(time.RFC3339Nano)
		}
		for turn := range int64(3) {
			w.live(t, "s", turn+1, first.ID, core.OutcomeSuccess)
		}
		w.clock.Advance(time.Hour)
		second := w.observe(t, core.ObserveRequest{Content: "word two"})
		w.live(t, "s", 4, second.ID, core.OutcomeSuccess)
		w.clock.Advance(time.Hour)
		for _, c := range []struct {
			occurred string
			age      int64
		}{{"", 0}, {at(second), 1}, {at(first), 4}, {"1815-12-10T00:00:00Z", 4}, {"0001-01-01T00:00:00Z", 4}} {
			m := w.observe(t, core.ObserveRequest{Content: "it happened " + c.occurred, Attributes: core.Attributes{OccurredAt: c.occurred}})
			stored := w.get(t, m.ID)
			got := ""
			if stored.OccurredAt != nil {
				got = stored.OccurredAt.Format(time.RFC3339Nano)
			}
			if got != c.occurred || stored.AgeTurns(4) != c.age {
				t.Errorf("%q is kept as %q, of age %d, want %d", c.occurred, got, stored.AgeTurns(4), c.age)
			}
		}
		important := .9
		r := w.reflect(t, core.ReflectRequest{SourceIDs: []string{first.ID}, Title: "t", Content: "c", Attributes: core.Attributes{Importance: &important, OccurredAt: at(first)}})
		if m := w.get(t, r.ID); m.Importance != important || m.OccurredAt == nil {
			t.Errorf("reflected %+v", m)
		}
		e := w.entries[len(w.entries)-1]
		if made, ok := journal.As[journal.MemoryReflected](&e); !ok || made.Importance != important || made.OccurredAt == nil {
			t.Errorf("the event is %+v", e)
		}
	})
}

func TestOccurredAtIsRefused(t *testing.T) {
	w := newWorld(t, openPebble(t), nil)
	for _, text := range []string{"yesterday", "2026-03-01", "2026-03-01T09:30:00", w.clock.Now().Add(time.Second).Format(time.RFC3339)} {
		_, err := w.Observe(t.Context(), &core.ObserveRequest{Namespace: "ns", Content: "c", Attributes: core.Attributes{OccurredAt: text}})
		if sdk.CodeOf(err) != sdk.Invalid || !strings.Contains(err.Error(), "occurred_at is ") {
			t.Errorf("%s: %v", text, err)
		}
		_, err = w.Reflect(t.Context(), &core.ReflectRequest{SourceIDs: []string{"a"}, Title: "t", Content: "c", Attributes: core.Attributes{OccurredAt: text}})
		if sdk.CodeOf(err) != sdk.Invalid || !strings.Contains(err.Error(), "occurred_at is ") {
			t.Errorf("reflect, %s: %v", text, err)
		}
	}
}
