package memory_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

func TestLinks(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := newWorld(t, s, nil)
		for _, id := range []string{"a", "b", "c"} {
			w.observe(t, core.ObserveRequest{ID: id, Content: "c"})
		}
		link := func(from, relation, to, metadata string) (*core.Link, error) {
			return w.Link(t.Context(), &memory.LinkRequest{From: from, Relation: relation, To: to, Metadata: []byte(metadata)})
		}
		first, err := link("a", "my_own_2", "b", `{"why": 1}`)
		if err != nil || string(first.Metadata) != `{"why":1}` {
			t.Fatalf("link %+v, error %v", first, err)
		}
		w.clock.Advance(time.Hour)
		before := dump(t, s)
		if again, err := link("a", "my_own_2", "b", `{"why":1}`); err != nil || !again.CreatedAt.Equal(first.CreatedAt) {
			t.Errorf("again: %+v, error %v", again, err)
		}
		refused := []struct {
			from, relation, to, metadata, reason string
			code                                 sdk.Code
		}{
			{"a", "my_own_2", "b", `{}`, "link_exists", sdk.Conflict},
			{"a", "related_to", "a", "", "link_self", sdk.Invalid},
			{"a", "Related", "b", "", "relation_invalid", sdk.Invalid},
			{"a", "", "b", "", "relation_invalid", sdk.Invalid},
			{"a", strings.Repeat("r", 65), "b", "", "relation_invalid", sdk.Invalid},
			{"a", "r", "b", "[]", "metadata_invalid", sdk.Invalid},
			{"a", "r", "no", "", "memory_not_found", sdk.NotFound},
			{"no", "r", "a", "", "memory_not_found", sdk.NotFound},
			{"a", "r", "purged:b", "", "to_invalid", sdk.Invalid},
			{"a b", "r", "b", "", "from_invalid", sdk.Invalid},
			{"a", "Related", "a", "", "several_problems", sdk.Invalid},
		}
		for _, c := range refused {
			_, err := link(c.from, c.relation, c.to, c.metadata)
			wantReason(t, err, c.code, c.reason)
		}
		if diff := cmp.Diff(before, dump(t, s)); diff != "" {
			t.Errorf("refused links left something:\n%s", diff)
		}
		if _, err := link("c", strings.Repeat("r", 64), "a", ""); err != nil {
			t.Errorf("the longest relation: %v", err)
		}
		from, to, err := w.Links(t.Context(), "b")
		if err != nil || len(from) != 0 || len(to) != 1 || to[0].From != "a" {
			t.Errorf("links of b: %v %v, error %v", from, to, err)
		}
		if n := w.events("agent.memory.linked"); n != 2 {
			t.Errorf("%d events", n)
		}
	})
}

func TestReflectsOnStaysAcyclic(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := newWorld(t, s, nil)
		for _, id := range []string{"a", "b", "c", "d"} {
			w.observe(t, core.ObserveRequest{ID: id, Content: "c"})
		}
		link := func(from, relation, to string) error {
			_, err := w.Link(t.Context(), &memory.LinkRequest{From: from, Relation: relation, To: to})
			return err
		}
		for _, pair := range []string{"ab", "bc", "ac", "dc"} {
			if err := link(pair[:1], "reflects_on", pair[1:]); err != nil {
				t.Fatal(err)
			}
		}
		err := link("c", "reflects_on", "a")
		wantReason(t, err, sdk.Conflict, "link_cycle")
		wantReason(t, link("b", "reflects_on", "a"), sdk.Conflict, "link_cycle")
		if got := sdk.AsError(link("c", "reflects_on", "b")).Details["cycle"]; !cmp.Equal(got, []string{"c", "b", "c"}) {
			t.Errorf("the circle is %v", got)
		}
		if err := link("c", "related_to", "a"); err != nil {
			t.Errorf("another relation: %v", err)
		}
		if err := link("d", "reflects_on", "a"); err != nil {
			t.Errorf("no circle: %v", err)
		}
	})
}
