package memory_test

import (
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/sdk"
)

// merge imports an export into a store of its own, and then namespaces of that into g.
func (g *governed) merge(t *testing.T, text string, patterns ...string) (store.Merged, error) {
	t.Helper()
	source, err := imported(t, text)
	must(t, err)
	return store.Merge(t.Context(), &journal.Writer{Store: g.store, Clock: g.clock}, source.store, patterns, g.parts())
}

// neighbour is a store that has memories of its own.
func neighbour(t *testing.T) *governed {
	t.Helper()
	g := newGoverned(t, empty(t), nil)
	g.observe(t, core.ObserveRequest{ID: "mine", Namespace: "other", Content: "what was here before"})
	g.turn(t, core.RecallRequest{Session: "mine", Turn: 1, Query: "before", RecallFilter: core.RecallFilter{Namespace: "other"}},
		core.FeedbackRequest{Outcome: core.OutcomeSuccess, Used: []string{"mine"}})
	g.written(t)
	return g
}

// TestNamespacesComeIntoAStoreThatHasOthers takes all that a life leaves behind:
// promoted, purged and waiting memories, knowledge, links, sessions and settings.
func TestNamespacesComeIntoAStoreThatHasOthers(t *testing.T) {
	from := rich(t)
	text := from.export(t)
	g := neighbour(t)
	merged, err := g.merge(t, text, "a/**", "c", "d")
	must(t, err)
	if strings.Join(merged.Namespaces, " ") != "a a/b c d" || merged.Records < 100 || len(merged.Sessions) == 0 {
		t.Errorf("%+v", merged)
	}
	g.sound(t)
	view(t, g.store, func(r core.Reader) error {
		_, err := (&journal.Audit{}).Verify(t.Context(), r)
		return err
	})
	there, here := dump(t, from.store), dump(t, g.store)
	for key, value := range there {
		kind, _, _ := strings.Cut(key, "/")
		if (kind == "memory" || kind == "knowledge" || kind == "evidence-tool" || kind == "memory-vector") && here[key] != value {
			t.Errorf("%s: %q, want %q", key, here[key], value)
		}
	}
	if here["governance/a/b"] != there["governance/a/b"] || here["governance/*"] != "" {
		t.Errorf("settings: %q, %q", here["governance/a/b"], here["governance/*"])
	}
	if here["memory/mine"] == "" || here["session/mine"] == "" || here["evidence-dag/of-useful"] != "" {
		t.Error("what was there has gone, or a graph came along")
	}
	again, err := imported(t, g.export(t)) // it is as complete as any
	must(t, err)
	found, err := again.Recall(t.Context(), &core.RecallRequest{Query: "content of plain", RecallFilter: core.RecallFilter{Namespace: "a/b"}})
	if err != nil || len(found.Memories) == 0 {
		t.Errorf("recalled %+v, %v", found, err)
	}
	again.turn(t, core.RecallRequest{Session: "later", Turn: 1, Query: "content of plain", RecallFilter: core.RecallFilter{Namespace: "a/b"}},
		core.FeedbackRequest{Outcome: core.OutcomeSuccess}) // its life goes on
	again.sound(t)
}

// TestNamespacesThatShareASessionComeOneByOne: a session that came along and wasn't
// used since is no obstacle.
func TestNamespacesThatShareASessionComeOneByOne(t *testing.T) {
	from := newGoverned(t, empty(t), nil)
	for _, namespace := range []string{"x", "y"} {
		from.observe(t, core.ObserveRequest{ID: "of-" + namespace, Namespace: namespace, Content: "words of " + namespace})
		from.recall(t, core.RecallRequest{Session: "both", Turn: 1, Query: "words", RecallFilter: core.RecallFilter{Namespace: namespace}})
	}
	_, err := from.Feedback(t.Context(), &core.FeedbackRequest{Session: "both", Turn: 1, Outcome: core.OutcomeSuccess})
	must(t, err)
	text := from.export(t)
	g := neighbour(t)
	for _, namespace := range []string{"x", "y"} {
		_, err := g.merge(t, text, namespace)
		must(t, err)
		g.sound(t)
	}
}

func TestWhatIsTakenOrIncompleteIsntImported(t *testing.T) {
	text := rich(t).export(t)
	for _, c := range []struct {
		name, reason, names string
		patterns            []string
		before              func(g *governed)
	}{
		{"an id", "import_taken", "memory/plain", []string{"a/b"}, func(g *governed) {
			g.observe(t, core.ObserveRequest{ID: "plain", Namespace: "other", Content: "another"})
		}},
		{"an id that was purged there", "import_taken", "memory-purged/useless", []string{"a/b"}, func(g *governed) {
			g.observe(t, core.ObserveRequest{ID: "useless", Namespace: "other", Content: "another"})
			must(t, g.Remove(t.Context(), "useless"))
		}},
		{"an id that was purged in the export", "import_taken", "memory/useless", []string{"a/b"}, func(g *governed) {
			g.observe(t, core.ObserveRequest{ID: "useless", Namespace: "other", Content: "another"})
		}},
		{"a namespace", "import_taken", "namespace/a/b", []string{"a/b"}, func(g *governed) { g.set(t, "a/b", "retention.w_hit=0.5") }},
		{"a session", "import_taken", "session/useful-1", []string{"a/**"}, func(g *governed) {
			g.recall(t, core.RecallRequest{Session: "useful-1", Turn: 1, Query: "x", RecallFilter: core.RecallFilter{Namespace: "other"}})
		}},
		{"a namespace that isn't there", "namespace_missing", "nowhere", []string{"nowhere/**"}, func(*governed) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := neighbour(t)
			c.before(g)
			whole := dump(t, g.store)
			_, err := g.merge(t, text, c.patterns...)
			if sdk.ReasonOf(err) != c.reason || !strings.Contains(err.Error(), c.names) {
				t.Errorf("%v", err)
			}
			for key, value := range dump(t, g.store) {
				if before, found := whole[key]; !found || before != value {
					t.Errorf("%q was written", key)
				}
			}
		})
	}
}

func TestALinkToWhatStaysBehindIsRefused(t *testing.T) {
	from := newGoverned(t, empty(t), nil)
	from.observe(t, core.ObserveRequest{ID: "near", Namespace: "x", Content: "near"})
	from.observe(t, core.ObserveRequest{ID: "far", Namespace: "y", Content: "far"})
	from.link(t, "near", "see", "far")
	g := neighbour(t)
	text := from.export(t)
	if _, err := g.merge(t, text, "x"); sdk.ReasonOf(err) != "import_incomplete" || !strings.Contains(err.Error(), "link/near/see/far") {
		t.Errorf("%v", err)
	}
	_, err := g.merge(t, text, "x", "y")
	must(t, err)
	g.sound(t)
}
