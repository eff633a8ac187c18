package search_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/search"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// store is a store that changes: each commit gives a document its next version.
type store struct {
	mu   sync.Mutex
	docs map[string]map[string]*search.Doc // by namespace and id
	// loads counts, and onLoad is called after the documents of a load were read.
	loads  int
	onLoad func() error
	// language is of all namespaces; "" is English.
	language string
}

func (s *store) Namespaces(context.Context) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for name := range s.docs {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}

func (s *store) Languages(_ context.Context, namespaces []string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Repeat([]string{cmp.Or(s.language, "english")}, len(namespaces)), nil
}

func (s *store) Load(_ context.Context, namespace string, fn func(*search.Doc) error) error {
	s.mu.Lock()
	s.loads++
	var docs []search.Doc
	for _, d := range s.docs[namespace] {
		docs = append(docs, *d)
	}
	s.mu.Unlock()
	if s.onLoad != nil {
		if err := s.onLoad(); err != nil {
			return err
		}
	}
	for i := range docs {
		if err := fn(&docs[i]); err != nil {
			return err
		}
	}
	return nil
}

// commit writes a document, or removes it where d is nil, and returns the change.
func (s *store) commit(namespace, id string, version int64, d *search.Doc) search.Change {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.docs == nil {
		s.docs = map[string]map[string]*search.Doc{}
	}
	if s.docs[namespace] == nil {
		s.docs[namespace] = map[string]*search.Doc{}
	}
	if d == nil {
		delete(s.docs[namespace], id)
		return search.Change{Namespace: namespace, ID: id, Version: version}
	}
	d.Version = version
	s.docs[namespace][id] = d
	return search.Change{Namespace: namespace, ID: id, Version: version, Doc: d}
}

// TestChangesMayComeInAnyOrder makes random commits, delivers their changes in
// another order, and compares with an index that reads the store afterwards.
func TestChangesMayComeInAnyOrder(t *testing.T) {
	for seed := range uint64(30) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		s := &store{}
		x := search.New(s, search.Options{})
		x.Apply(s.commit("ns", "first", 1, doc("first", "word")))
		find(t, x, search.Query{Text: "warm"})
		var changes []search.Change
		version := map[string]int64{}
		for range 60 {
			id := fmt.Sprint(rnd.IntN(8))
			version[id]++
			var d *search.Doc
			if rnd.IntN(4) > 0 {
				d = with(doc(id, fmt.Sprintf("word%d and word", rnd.IntN(3))), func(d *search.Doc) { d.Q = rnd.Float64() })
				if rnd.IntN(2) == 0 {
					d.Model, d.Vector = "m", [][]float32{{1, 0}, {0, 1}, {0.6, 0.8}}[rnd.IntN(3)]
				}
			}
			changes = append(changes, s.commit("ns", id, version[id], d))
		}
		rnd.Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
		x.Apply(changes...)
		fresh := search.New(s, search.Options{})
		for _, q := range []search.Query{{Text: "word"}, {Text: "word1"}, {Vector: []float32{0.6, 0.8}, Model: "m"}} {
			q.Nearest, q.Limit = 20, 20
			got, want := find(t, x, q), find(t, fresh, q)
			if fmt.Sprint(scores(got)) != fmt.Sprint(scores(want)) {
				t.Fatalf("seed %d, %+v:\ngot  %v\nwant %v", seed, q, scores(got), scores(want))
			}
		}
	}
}

func scores(found []search.Found) (list []string) {
	for _, f := range found {
		list = append(list, fmt.Sprintf("%s %.9f", f.ID, f.Score))
	}
	return list
}

// A change of what isn't found by leaves the vector, which needn't be sent again,
// and one that overtook it doesn't lose it.
func TestVectorsStayWithTheirModel(t *testing.T) {
	bare := func(version int64, model string) *search.Doc {
		return with(doc("a", "word"), func(d *search.Doc) { d.Model, d.Version = model, version })
	}
	full := func(version int64, model string) *search.Doc {
		return with(bare(version, model), func(d *search.Doc) { d.Vector = []float32{1, 0} })
	}
	cases := []struct {
		name  string
		docs  []*search.Doc
		found string // by the model "m"
	}{
		{"a change without it", []*search.Doc{full(1, "m"), bare(2, "m")}, "a"},
		{"a change that overtook it", []*search.Doc{bare(2, "m"), full(1, "m")}, "a"},
		{"another model", []*search.Doc{full(1, "m"), full(2, "n")}, ""},
		{"another model overtook it", []*search.Doc{full(2, "n"), full(1, "m")}, ""},
		{"another model, whose vector is late", []*search.Doc{full(1, "m"), bare(2, "n")}, ""},
		{"back again", []*search.Doc{full(1, "m"), full(2, "n"), full(3, "m")}, "a"},
		{"of the wrong length", []*search.Doc{full(1, "m"), with(full(2, "m"), func(d *search.Doc) { d.Vector = []float32{2, 0} })}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			x := search.New(one{doc("z", "other")}, search.Options{})
			find(t, x, search.Query{Text: "warm"})
			for _, d := range c.docs {
				x.Apply(search.Change{Namespace: "ns", ID: "a", Version: d.Version, Doc: d})
			}
			if got := ids(find(t, x, search.Query{Vector: []float32{1, 0}, Model: "m"})); got != c.found {
				t.Errorf("by vector: %q, want %q", got, c.found)
			}
			if got := ids(find(t, x, search.Query{Text: "word"})); got != "a" {
				t.Errorf("by words: %q", got)
			}
		})
	}
}

// What is committed while a namespace is being loaded, after it was read, is found.
func TestCommitsDuringALoadArentLost(t *testing.T) {
	s := &store{}
	x := search.New(s, search.Options{})
	x.Apply(s.commit("ns", "a", 1, doc("a", "word")), s.commit("ns", "b", 1, doc("b", "word")))
	s.onLoad = func() error {
		x.Apply(s.commit("ns", "c", 1, doc("c", "word")), s.commit("ns", "a", 2, nil))
		return nil
	}
	if got := ids(find(t, x, search.Query{Text: "word"})); got != "b c" {
		t.Errorf("got %q", got)
	}
}

// Of many searches on a cold namespace one loads it. If that fails, each tells so,
// and a later one tries again.
func TestOneLoadsAndTheOthersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		x := search.New(s, search.Options{})
		x.Apply(s.commit("ns", "a", 1, doc("a", "word")))
		block := make(chan struct{})
		s.onLoad = func() error { <-block; return nil }
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if got := ids(find(t, x, search.Query{Text: "word"})); got != "a" {
					t.Errorf("got %q", got)
				}
			})
		}
		synctest.Wait()
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := x.Search(canceled, &search.Query{Text: "word", Nearest: 20, Limit: 5, Filter: core.RecallFilter{Namespace: "ns"}})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("a canceled search: %v", err)
		}
		close(block)
		all.Wait()
		if s.loads != 1 {
			t.Errorf("%d loads", s.loads)
		}
	})
}

func TestAFailedLoadIsTriedAnew(t *testing.T) {
	s := &store{}
	x := search.New(s, search.Options{})
	x.Apply(s.commit("ns", "a", 1, doc("a", "word")))
	broken := errors.New("broken")
	s.onLoad = func() error { return broken }
	q := &search.Query{Text: "word", Nearest: 20, Limit: 5, Filter: core.RecallFilter{Namespace: "ns"}}
	if _, err := x.Search(t.Context(), q); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	s.onLoad = nil
	if got := ids(find(t, x, *q)); got != "a" {
		t.Errorf("got %q", got)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	s := &store{}
	for n := range 20 {
		for i := range 10 {
			id := fmt.Sprintf("%d-%d", n, i)
			s.commit(fmt.Sprintf("all/%d", n), id, 1, doc(id, "word of "+id, 1, 0))
		}
	}
	free := search.New(s, search.Options{})
	everything := search.Query{Text: "word 7", Nearest: 20, Limit: 20, Filter: core.RecallFilter{Namespace: "all", Subtree: true}}
	want := scores(find(t, free, everything))
	most := free.Progress().Bytes / 4
	x := search.New(s, search.Options{MaxBytes: most})
	for n := range 20 {
		find(t, x, search.Query{Text: "word", Filter: core.RecallFilter{Namespace: fmt.Sprintf("all/%d", n)}})
		if p := x.Progress(); p.Bytes > most {
			t.Fatalf("after %d namespaces %d bytes, of at most %d", n+1, p.Bytes, most)
		}
	}
	if p := x.Progress(); p.Warm < 3 || p.Warm > 6 || p.Namespaces != 20 || p.Documents != 10*p.Warm {
		t.Errorf("%+v", p)
	}
	loads := s.loads
	find(t, x, search.Query{Text: "word", Filter: core.RecallFilter{Namespace: "all/19"}})
	if s.loads != loads {
		t.Error("the namespace that was used last was given up")
	}
	if got := scores(find(t, x, everything)); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	find(t, x, search.Query{Text: "word", Filter: core.RecallFilter{Namespace: "all/0"}})
	if p := x.Progress(); p.Bytes > most {
		t.Errorf("%+v", p)
	}
}

// TestWritersAndSearchers is for the race detector, and proves that what was
// applied is found at once.
func TestWritersAndSearchers(t *testing.T) {
	s := &store{}
	x := search.New(s, search.Options{MaxBytes: 20_000})
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			namespace := fmt.Sprintf("all/%d", w%3)
			for i := range 50 {
				id := fmt.Sprintf("%d-%d", w, i)
				x.Apply(s.commit(namespace, id, 1, doc(id, "unique"+id, 1, 0)))
				q := search.Query{Text: "unique" + id, Filter: core.RecallFilter{Namespace: "all", Subtree: i%2 == 0}}
				if i%2 == 1 {
					q.Filter.Namespace = namespace
				}
				if got := find(t, x, q); len(got) == 0 || got[0].ID != id {
					t.Errorf("%s wasn't found at once: %v", id, ids(got))
				}
			}
		})
	}
	all.Wait()
}
