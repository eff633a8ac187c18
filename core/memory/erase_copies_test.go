package memory_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

// TestErase_LeavesNothingCurrentThatWasSuperseded: whatever part of a chain is erased, what it
// superseded stays out of recall, marked, also for an index that reads the store.
func TestErase_LeavesNothingCurrentThatWasSuperseded(t *testing.T) {
	const oldest, old, newest, elsewhere = "oldest", "old", "newest", "elsewhere"
	for name, c := range map[string]struct {
		erased []string
		// recalled are the current ones, and marked those that a purged one superseded.
		recalled, marked string
	}{
		"nothing":                 {nil, "newest", ""},
		"the newest":              {[]string{newest}, "", "old"},
		"the middle":              {[]string{old}, "newest", "oldest"},
		"the newest, then middle": {[]string{newest, old}, "", "oldest"},
		"the middle, then newest": {[]string{old, newest}, "", "oldest"},
		"the oldest":              {[]string{oldest}, "newest", ""},
		"the oldest, then newest": {[]string{oldest, newest}, "", "old"},
		"the newest, then oldest": {[]string{newest, oldest}, "", "old"},
		"all":                     {[]string{old, newest, oldest}, "", ""},
		"of another namespace":    {[]string{elsewhere}, "", "newest"},
	} {
		onEngines(t, func(t *testing.T, s core.Store) {
			g := living(t, s, promotesOrErases, nil)
			for _, id := range []string{oldest, old, newest} {
				g.observe(t, core.ObserveRequest{ID: id, Title: id, Content: "word in " + id})
			}
			g.observe(t, core.ObserveRequest{ID: elsewhere, Namespace: "other", Title: elsewhere, Content: "word elsewhere"})
			g.link(t, old, core.RelationSupersedes, oldest)
			if _, err := g.Link(t.Context(), &memory.LinkRequest{From: newest, Relation: core.RelationSupersedes, To: old, Metadata: []byte(`{"why":"the secret"}`)}); err != nil {
				t.Fatal(err)
			}
			if slices.Contains(c.erased, elsewhere) {
				g.link(t, elsewhere, core.RelationSupersedes, newest)
			}
			for _, id := range c.erased {
				_, err := g.Gate.Erase(t.Context(), id, memory.EraseRequest{Reason: "asked"})
				must(t, err)
			}
			var recalled, marked []string
			for _, m := range g.both(t, core.RecallRequest{Query: "word", Limit: 10}).Memories {
				recalled = append(recalled, m.ID)
			}
			all := core.RecallRequest{Query: "word", Limit: 10}
			all.IncludeSuperseded = true
			for _, m := range g.both(t, all).Memories {
				if slices.Contains(m.SupersededBy, core.SupersededByPurged) {
					marked = append(marked, m.ID)
				}
			}
			if strings.Join(recalled, " ") != c.recalled || strings.Join(marked, " ") != c.marked {
				t.Errorf("%s: recalled %v, marked %v", name, recalled, marked)
			}
			if list := g.problems(t); len(list) != 0 {
				t.Errorf("%s: %+v", name, list)
			}
			for key, value := range dump(t, g.store) {
				if slices.Contains(c.erased, newest) && strings.Contains(value, "the secret") {
					t.Errorf("%s: %s still has the link's metadata", name, key)
				}
			}
		})
	}
}

// TestRebuild_KeepsWhatAPurgedMemorySuperseded: the index of links by their end is made from the
// links that stay, and a link from a purged memory of another relation is found.
func TestRebuild_KeepsWhatAPurgedMemorySuperseded(t *testing.T) {
	g := living(t, openPebble(t), promotesOrErases, nil)
	for _, id := range []string{"old", "new"} {
		g.observe(t, core.ObserveRequest{ID: id, Title: id, Content: "word in " + id})
	}
	g.link(t, "new", core.RelationSupersedes, "old")
	g.link(t, "new", core.RelationContradicts, "old")
	_, err := g.Gate.Erase(t.Context(), "new", memory.EraseRequest{Reason: "asked"})
	must(t, err)
	from, to, err := g.Links(t.Context(), "old")
	if err != nil || len(from) != 0 || len(to) != 1 || to[0].From != "purged:new" || to[0].Relation != core.RelationSupersedes {
		t.Errorf("links %+v, %+v, %v", from, to, err)
	}
	whole := dump(t, g.store)
	change(t, g.store, func(tx core.Tx) error { return tx.Delete([]byte("link-to/old/supersedes/new")) })
	g.rebuilt(t, whole, "an index entry", g.problems(t))
	change(t, g.store, func(tx core.Tx) error {
		return tx.Put([]byte("link/new/contradicts/old"), []byte(`{"from":"new","relation":"contradicts","to":"old","created_at":"2026-11-21T12:00:00Z"}`))
	})
	if list := g.problems(t); len(list) == 0 {
		t.Error("another link from a purged memory isn't found")
	}
}

// TestErase_NamesTheSameContent, in whatever state that can be recalled, and takes it too if that is
// wanted.
func TestErase_NamesTheSameContent(t *testing.T) {
	const content = "her number is 4711"
	for name, c := range map[string]struct {
		others []core.ObserveRequest
		then   func(t *testing.T, g *world)
		want   []string
	}{
		"nothing":           {nil, nil, nil},
		"one":               {[]core.ObserveRequest{{ID: "b", Content: content}}, nil, []string{"b"}},
		"another title":     {[]core.ObserveRequest{{ID: "b", Title: "of her", Content: content}}, nil, []string{"b"}},
		"several":           {[]core.ObserveRequest{{ID: "d", Content: content}, {ID: "b", Content: content}, {ID: "c", Content: content}}, nil, []string{"b", "c", "d"}},
		"another agent":     {[]core.ObserveRequest{{ID: "b", Attributes: core.Attributes{AgentID: "robot"}, Content: content}}, nil, []string{"b"}},
		"another kind":      {[]core.ObserveRequest{{ID: "b", Kind: core.KindSemantic, Content: content}}, nil, []string{"b"}},
		"another case":      {[]core.ObserveRequest{{ID: "b", Content: strings.ToUpper(content)}}, nil, nil},
		"more than it":      {[]core.ObserveRequest{{ID: "b", Content: content + "."}}, nil, nil},
		"another namespace": {[]core.ObserveRequest{{ID: "b", Namespace: "other", Content: content}}, nil, nil},
		"a namespace below": {[]core.ObserveRequest{{ID: "b", Namespace: "ns/below", Content: content}}, nil, nil},
		"archived": {[]core.ObserveRequest{{ID: "b", Content: content}, {ID: "c", Content: content}}, func(t *testing.T, g *world) {
			must(t, g.MoveByDream(t.Context(), "b", core.StateArchived, ""))
		}, []string{"c"}},
	} {
		for _, copies := range []bool{false, true} {
			g := living(t, empty(t), promotesOrErases, nil)
			g.observe(t, core.ObserveRequest{ID: "a", Title: "the first", Content: content})
			for i, o := range c.others {
				if o.Title == "" {
					o.Title = "other " + string(rune('0'+i))
				}
				g.observe(t, o)
			}
			if c.then != nil {
				c.then(t, g)
			}
			d, err := g.Gate.Erase(t.Context(), "a", memory.EraseRequest{Reason: "asked", Copies: copies})
			must(t, err)
			left, taken := c.want, []string(nil)
			if copies {
				left, taken = nil, c.want
			}
			if !slices.Equal(d.SameContent, left) || !slices.Equal(d.ErasedCopies, taken) {
				t.Errorf("%s, copies %t: still in %v, erased %v", name, copies, d.SameContent, d.ErasedCopies)
			}
			for _, o := range c.others {
				_, err := g.Get(t.Context(), o.ID)
				if gone := sdk.ReasonOf(err) == "memory_purged"; gone != slices.Contains(taken, o.ID) {
					t.Errorf("%s, copies %t: %s is purged: %t", name, copies, o.ID, gone)
				}
			}
			for _, id := range taken {
				e, err := g.Explain(t.Context(), id)
				if err != nil || len(e.Decisions) != 1 || e.Decisions[0].ID == d.ID {
					t.Errorf("%s: the erasure of %s is explained as %+v, %v", name, id, e, err)
				}
			}
			kept, err := g.Gate.Decision(t.Context(), d.ID)
			if err != nil || kept.SameContent != nil || kept.ErasedCopies != nil {
				t.Errorf("%s: recorded %+v, %v", name, kept, err)
			}
			if list := g.problems(t); len(list) != 0 {
				t.Errorf("%s: %+v", name, list)
			}
		}
	}
}
