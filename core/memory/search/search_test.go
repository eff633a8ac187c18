package search_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/search"
)

// one is a store of one namespace, "ns", that doesn't change.
type one []*search.Doc

func (o one) Positions(ctx context.Context, namespace string, subtree bool) ([]search.Position, error) {
	return several{"ns": o}.Positions(ctx, namespace, subtree)
}

func (o one) Load(_ context.Context, _ string, fn func(*search.Doc) error) (uint64, error) {
	for _, d := range o {
		if err := fn(d); err != nil {
			return 0, err
		}
	}
	return 1, nil
}

func (o one) Changes(context.Context, string, uint64, func(string, *search.Doc) error) (uint64, bool, error) {
	panic("nothing changes")
}

// several is a store of namespaces that don't change.
type several map[string]one

func (s several) Positions(_ context.Context, namespace string, subtree bool) (list []search.Position, _ error) {
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if name == namespace || subtree && (namespace == "" || strings.HasPrefix(name, namespace+"/")) {
			list = append(list, search.Position{Namespace: name, Seq: 1, Language: "english", Cut: core.DefaultCut})
		}
	}
	return list, nil
}

func (s several) Load(ctx context.Context, namespace string, fn func(*search.Doc) error) (uint64, error) {
	return s[namespace].Load(ctx, namespace, fn)
}

func (s several) Changes(context.Context, string, uint64, func(string, *search.Doc) error) (uint64, bool, error) {
	panic("nothing changes")
}

// doc makes an open document, with the model "m" if it has a vector.
func doc(id, text string, vector ...float32) *search.Doc {
	d := &search.Doc{ID: id, Text: text, Kind: core.KindObservation, State: core.StateOpen, Q: 0.5}
	if len(vector) > 0 {
		d.Model, d.Vector = "m", vector
	}
	return d
}

// with changes a document.
func with(d *search.Doc, change func(*search.Doc)) *search.Doc {
	change(d)
	return d
}

func find(t *testing.T, x *search.Index, q search.Query) []search.Found {
	t.Helper()
	if q.Filter.Namespace == "" {
		q.Filter.Namespace = "ns"
	}
	if q.Limit == 0 {
		q.Nearest, q.Limit = search.Nearest, search.Limit(0)
	}
	found, err := x.Search(t.Context(), &q)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// ids is what was found, in order.
func ids(found []search.Found) string {
	var list []string
	for _, f := range found {
		list = append(list, f.ID)
	}
	return strings.Join(list, " ")
}

func TestSearchFindsWhatFits(t *testing.T) {
	east, north := []float32{1, 0}, []float32{0, 1}
	corpus := one{
		doc("a", "retry the upload", 1, 0),
		doc("b", "certificates expire", 0.8, 0.6),
		doc("c", "upload of certificates", 0, 1),
		doc("d", "the log is full"),
		with(doc("e", "retry nothing", 1, 0), func(d *search.Doc) { d.Model = "other" }),
	}
	cases := []struct {
		name  string
		query search.Query
		want  string
	}{
		{"by vector alone", search.Query{Vector: east, Model: "m"}, "a b"},
		{"by words alone", search.Query{Text: "upload retry"}, "a c e"},
		{"by both", search.Query{Text: "certificates", Vector: north, Model: "m"}, "c b"},
		{"words find what has no vector", search.Query{Text: "full log", Vector: east, Model: "m"}, "d a b"},
		{"another model's vectors aren't compared", search.Query{Vector: east, Model: "other"}, "e"},
		{"a model that nothing has", search.Query{Vector: east, Model: "none"}, ""},
		{"no word of it is known", search.Query{Text: "zebra"}, ""},
		{"nothing asked", search.Query{}, ""},
		{"the first ones", search.Query{Vector: east, Model: "m", Limit: 1, Nearest: 20}, "a"},
		{"one candidate", search.Query{Vector: east, Model: "m", Limit: 5, Nearest: 1}, "a"},
		{"a minimum", search.Query{Vector: east, Model: "m", Filter: core.RecallFilter{MinScore: 0.5}}, "a b"},
		{"a minimum that is just met", search.Query{Vector: east, Model: "m", Filter: core.RecallFilter{MinScore: 0.71}}, "a b"},
		{"another namespace", search.Query{Text: "upload", Filter: core.RecallFilter{Namespace: "other"}}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := ids(find(t, search.New(corpus, search.Options{}), c.query)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestFilters(t *testing.T) {
	corpus := one{
		doc("a", "word"),
		with(doc("b", "word"), func(d *search.Doc) { d.Kind = core.KindSemantic }),
		with(doc("c", "word"), func(d *search.Doc) { d.State = core.StateCooling }),
		with(doc("d", "word"), func(d *search.Doc) { d.AgentID = "robot" }),
		with(doc("e", "word"), func(d *search.Doc) { d.Tags = []string{"x", "y"} }),
		with(doc("f", "word"), func(d *search.Doc) { d.Tags = []string{"x"} }),
	}
	cases := []struct {
		name   string
		filter core.RecallFilter
		want   string
	}{
		{"none", core.RecallFilter{}, "a b c d e f"},
		{"a kind", core.RecallFilter{Kinds: []core.MemoryKind{core.KindSemantic}}, "b"},
		{"either kind", core.RecallFilter{Kinds: []core.MemoryKind{core.KindSemantic, core.KindObservation}}, "a b c d e f"},
		{"a state", core.RecallFilter{States: []core.MemoryState{core.StateCooling}}, "c"},
		{"an agent", core.RecallFilter{AgentID: "robot"}, "d"},
		{"a tag", core.RecallFilter{Tags: []string{"x"}}, "e f"},
		{"all tags", core.RecallFilter{Tags: []string{"x", "y"}}, "e"},
		{"all at once", core.RecallFilter{Tags: []string{"x"}, AgentID: "robot"}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			q := search.Query{Text: "word", Filter: c.filter, Nearest: 20, Limit: 10}
			if got := ids(find(t, search.New(corpus, search.Options{}), q)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// A filter comes before the nearest are chosen, so that it doesn't leave fewer
// than there are.
func TestFiltersLeaveAsManyAsThereAre(t *testing.T) {
	var corpus one
	for i := range 100 {
		d := doc(fmt.Sprintf("%03d", i), "word word", 1, 0)
		if i >= 90 {
			d = doc(fmt.Sprintf("%03d", i), "word and many long texts that make it worse", 0.6, 0.8)
			d.Tags = []string{"t"}
		}
		corpus = append(corpus, d)
	}
	q := search.Query{Text: "word", Vector: []float32{1, 0}, Model: "m", Filter: core.RecallFilter{Tags: []string{"t"}}}
	if got, want := ids(find(t, search.New(corpus, search.Options{}), q)), "090 091 092 093 094"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSubtree(t *testing.T) {
	store := several{
		"a":   {doc("1", "word")},
		"a/b": {doc("2", "word long"), doc("0", "word")},
		"ab":  {doc("3", "word")},
		"b/a": {doc("4", "word")},
	}
	x := search.New(store, search.Options{})
	for _, c := range []struct {
		namespace string
		subtree   bool
		want      string
	}{
		{"a", false, "1"}, {"a", true, "0 1 2"}, {"a/b", true, "0 2"}, {"b", true, "4"}, {"b", false, ""}, {"c", true, ""},
	} {
		got := ids(find(t, x, search.Query{Text: "word", Filter: core.RecallFilter{Namespace: c.namespace, Subtree: c.subtree}}))
		if got != c.want {
			t.Errorf("%s, subtree %v: got %q, want %q", c.namespace, c.subtree, got, c.want)
		}
	}
	// A namespace that comes later is known at once.
	store["a/new"] = one{doc("5", "word")}
	if got := ids(find(t, x, search.Query{Text: "word", Filter: core.RecallFilter{Namespace: "a", Subtree: true}})); got != "0 1 5 2" {
		t.Errorf("got %q", got)
	}
}

func TestLimit_FollowsTheBias(t *testing.T) {
	for _, c := range []struct {
		bias  float64
		limit int
	}{{-1, 8}, {-0.25, 8}, {-0.24, 5}, {0, 5}, {0.34, 5}, {0.35, 3}, {1, 3}} {
		if got := search.Limit(c.bias); got != c.limit {
			t.Errorf("Limit(%v) = %d, want %d", c.bias, got, c.limit)
		}
	}
}
