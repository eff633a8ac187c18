package search_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/search"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// store is a store that changes: each commit is an entry of its namespace's stream.
type store struct {
	mu   sync.Mutex
	docs map[string]map[string]*search.Doc // by namespace and id
	// changed are the ids that were committed, by namespace: the first is entry 1.
	changed map[string][]string
	// pruned is whether nobody knows any more what changed.
	pruned bool
	// loads counts, and onLoad is called after the documents of a load were read.
	loads  int
	onLoad func() error
	// followed counts the changes that were asked for, and onChange is called after
	// they were read.
	followed int
	onChange func() error
	// language is of all namespaces; "" is English.
	language string
	// stale is of all namespaces, and looked counts the looks at positions.
	stale  time.Duration
	looked int
}

func (s *store) Positions(_ context.Context, namespace string, subtree bool) (list []search.Position, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looked++
	for _, name := range slices.Sorted(maps.Keys(s.docs)) {
		if name == namespace || subtree && (namespace == "" || strings.HasPrefix(name, namespace+"/")) {
			list = append(list, search.Position{Namespace: name, Seq: uint64(len(s.changed[name])), Language: cmp.Or(s.language, "english"), MaxStaleness: s.stale, Cut: core.DefaultCut})
		}
	}
	return list, nil
}

func (s *store) Load(_ context.Context, namespace string, fn func(*search.Doc) error) (uint64, error) {
	s.mu.Lock()
	s.loads++
	var docs []search.Doc
	for _, d := range s.docs[namespace] {
		docs = append(docs, *d)
	}
	seq := uint64(len(s.changed[namespace]))
	s.mu.Unlock()
	if s.onLoad != nil {
		if err := s.onLoad(); err != nil {
			return 0, err
		}
	}
	for i := range docs {
		if err := fn(&docs[i]); err != nil {
			return 0, err
		}
	}
	return seq, nil
}

func (s *store) Changes(_ context.Context, namespace string, after uint64, fn func(string, *search.Doc) error) (uint64, bool, error) {
	s.mu.Lock()
	s.followed++
	docs := map[string]*search.Doc{}
	for _, id := range s.changed[namespace][after:] {
		docs[id] = s.docs[namespace][id]
	}
	seq, complete := uint64(len(s.changed[namespace])), !s.pruned
	s.mu.Unlock()
	if s.onChange != nil {
		if err := s.onChange(); err != nil {
			return 0, false, err
		}
	}
	for id, d := range docs {
		if err := fn(id, d); err != nil {
			return 0, false, err
		}
	}
	return seq, complete, nil
}

// commit writes a document, or removes it where d is nil.
func (s *store) commit(namespace, id string, d *search.Doc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.docs == nil {
		s.docs, s.changed = map[string]map[string]*search.Doc{}, map[string][]string{}
	}
	if s.docs[namespace] == nil {
		s.docs[namespace] = map[string]*search.Doc{}
	}
	s.changed[namespace] = append(s.changed[namespace], id)
	if d == nil {
		delete(s.docs[namespace], id)
	} else {
		s.docs[namespace][id] = d
	}
}

// TestIndex_FollowsCommits makes random commits, follows them in steps of several sizes,
// and compares with an index that reads the store afterwards.
func TestIndex_FollowsCommits(t *testing.T) {
	for seed := range uint64(30) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		s := &store{}
		x := search.New(s, search.Options{})
		s.commit("ns", "first", doc("first", "word"))
		for step := range 60 {
			id := fmt.Sprint(rnd.IntN(8))
			var d *search.Doc
			if rnd.IntN(4) > 0 {
				d = with(doc(id, fmt.Sprintf("word%d and word", rnd.IntN(3))), func(d *search.Doc) {
					d.Q, d.Content = rnd.Float64(), []string{"", "same"}[rnd.IntN(2)]
				})
				if rnd.IntN(2) == 0 {
					d.Model, d.Vector = []string{"m", "n"}[rnd.IntN(2)], [][]float32{{1, 0}, {0, 1}, {0.6, 0.8}}[rnd.IntN(3)]
				}
				if rnd.IntN(4) == 0 {
					d.SupersededBy = []string{fmt.Sprint(rnd.IntN(8))}
				}
			}
			s.commit("ns", id, d)
			if step%(1+int(seed)) != 0 {
				continue
			}
			fresh := search.New(s, search.Options{})
			for _, q := range []search.Query{{Text: "word"}, {Text: "word1"}, {Vector: []float32{0.6, 0.8}, Model: "m"}} {
				q.Nearest, q.Limit = 20, 20
				got, want := find(t, x, q), find(t, fresh, q)
				if fmt.Sprint(scores(got)) != fmt.Sprint(scores(want)) {
					t.Fatalf("seed %d, step %d, %+v:\ngot  %v\nwant %v", seed, step, q, scores(got), scores(want))
				}
			}
		}
		if s.followed == 0 {
			t.Fatal("nothing was followed")
		}
	}
}

// TestIndex_LoadsWhatItCantFollow: what nobody knows any more, what is too far, and what
// has words of another language is read from the store.
func TestIndex_LoadsWhatItCantFollow(t *testing.T) {
	many := func(s *store) {
		for range 1001 { // more than are followed in any case
			s.commit("ns", "b", doc("b", "word"))
		}
	}
	for _, c := range []struct {
		name            string
		change          func(*store)
		loads, followed int
	}{
		{"a commit", func(s *store) { s.commit("ns", "b", doc("b", "word")) }, 0, 1},
		{"a pruned stream", func(s *store) { s.pruned = true; s.commit("ns", "b", doc("b", "word")) }, 1, 1},
		{"too many entries", many, 1, 0},
		{"another language", func(s *store) { s.language = "french"; s.commit("ns", "b", doc("b", "word")) }, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &store{}
			s.commit("ns", "a", doc("a", "word"))
			x := search.New(s, search.Options{})
			find(t, x, search.Query{Text: "warm"})
			s.loads = 0
			c.change(s)
			for range 2 {
				if got := ids(find(t, x, search.Query{Text: "word"})); got != "a b" {
					t.Errorf("got %q", got)
				}
			}
			if s.loads != c.loads || s.followed != c.followed {
				t.Errorf("%d loads, followed %d times, want %d and %d", s.loads, s.followed, c.loads, c.followed)
			}
		})
	}
}

// TestIndex_OneFollowsAndTheOthersWait: of many searches that lack a commit, one reads it;
// searches that don't need it wait for nobody; and a failure affects only one search.
func TestIndex_OneFollowsAndTheOthersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		s.commit("ns", "a", doc("a", "word"))
		s.commit("other", "z", doc("z", "word"))
		x := search.New(s, search.Options{})
		find(t, x, search.Query{Text: "warm"})
		broken, block := errors.New("broken"), make(chan struct{})
		fail := true
		s.onChange = func() error {
			<-block
			if fail {
				fail = false
				return broken
			}
			return nil
		}
		s.commit("ns", "b", doc("b", "word"))
		var all sync.WaitGroup
		var failed atomic.Int64
		for range 8 {
			all.Go(func() {
				q := search.Query{Text: "word", Nearest: 20, Limit: 5, Filter: core.RecallFilter{Namespace: "ns"}}
				found, err := x.Search(t.Context(), &q)
				if errors.Is(err, broken) {
					failed.Add(1)
				} else if got := ids(found); err != nil || got != "a b" {
					t.Errorf("got %q, %v", got, err)
				}
			})
		}
		synctest.Wait()
		find(t, x, search.Query{Text: "word", Filter: core.RecallFilter{Namespace: "other"}})
		close(block)
		all.Wait()
		if s.followed != 2 || failed.Load() != 1 {
			t.Errorf("followed %d times, %d failed, want 2 and 1", s.followed, failed.Load())
		}
	})
}

func scores(found []search.Found) (list []string) {
	for _, f := range found {
		list = append(list, fmt.Sprintf("%s %.9f", f.ID, f.Score))
	}
	return list
}

// A vector belongs to its model, and is dropped with it.
func TestVectorsStayWithTheirModel(t *testing.T) {
	bare := func(model string) *search.Doc {
		return with(doc("a", "word"), func(d *search.Doc) { d.Model = model })
	}
	full := func(model string, vector ...float32) *search.Doc {
		return with(bare(model), func(d *search.Doc) { d.Vector = vector })
	}
	cases := []struct {
		name  string
		docs  []*search.Doc
		found string // by the model "m"
	}{
		{"the same again", []*search.Doc{full("m", 1, 0), full("m", 1, 0)}, "a"},
		{"it is gone", []*search.Doc{full("m", 1, 0), bare("m")}, ""},
		{"another model", []*search.Doc{full("m", 1, 0), full("n", 1, 0)}, ""},
		{"back again", []*search.Doc{full("m", 1, 0), full("n", 1, 0), full("m", 1, 0)}, "a"},
		{"of the wrong length", []*search.Doc{full("m", 1, 0), full("m", 2, 0)}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := &store{}
			s.commit("ns", "z", doc("z", "other"))
			x := search.New(s, search.Options{})
			for _, d := range c.docs {
				find(t, x, search.Query{Text: "warm"})
				s.commit("ns", "a", d)
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

// What is committed while a namespace is being loaded, after it was read, is found by
// the next search.
func TestCommitsDuringALoadArentLost(t *testing.T) {
	s := &store{}
	x := search.New(s, search.Options{})
	s.commit("ns", "a", doc("a", "word"))
	s.commit("ns", "b", doc("b", "word"))
	s.onLoad = func() error {
		s.commit("ns", "c", doc("c", "word"))
		s.commit("ns", "a", nil)
		return nil
	}
	find(t, x, search.Query{Text: "warm"})
	if got := ids(find(t, x, search.Query{Text: "word"})); got != "b c" {
		t.Errorf("got %q", got)
	}
}

// Of many searches on a namespace that isn't loaded, one loads it. If that fails, each says
// so, and a later one tries again.
func TestOneLoadsAndTheOthersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		x := search.New(s, search.Options{})
		s.commit("ns", "a", doc("a", "word"))
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

func TestAFailedLoadIsTriedAgain(t *testing.T) {
	s := &store{}
	x := search.New(s, search.Options{})
	s.commit("ns", "a", doc("a", "word"))
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
			s.commit(fmt.Sprintf("all/%d", n), id, doc(id, "word of "+id, 1, 0))
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
// committed is found at once.
func TestWritersAndSearchers(t *testing.T) {
	s := &store{}
	x := search.New(s, search.Options{MaxBytes: 20_000})
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			namespace := fmt.Sprintf("all/%d", w%3)
			for i := range 50 {
				id := fmt.Sprintf("%d-%d", w, i)
				s.commit(namespace, id, doc(id, "unique"+id, 1, 0))
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

// TestIndex_SkipsTheLookForSoLong: a namespace may allow that a search doesn't look at what was
// committed since the last look. Others look each time.
func TestIndex_SkipsTheLookForSoLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		x := search.New(s, search.Options{})
		finds := func(want string) {
			t.Helper()
			list := strings.Fields(ids(find(t, x, search.Query{Text: "word"})))
			if slices.Sort(list); strings.Join(list, " ") != want {
				t.Errorf("found %v, want %s", list, want)
			}
		}
		s.commit("ns", "a", doc("a", "word"))
		finds("a")
		s.commit("ns", "b", doc("b", "word"))
		finds("a b")
		s.stale = 2 * time.Second
		finds("a b")
		s.commit("ns", "c", doc("c", "word"))
		time.Sleep(time.Second)
		looked := s.looked
		finds("a b")
		time.Sleep(time.Second)
		finds("a b c")
		if s.looked != looked+1 {
			t.Errorf("it looked %d times", s.looked-looked)
		}
		s.stale = 0
		time.Sleep(2 * time.Second)
		finds("a b c")
		s.commit("ns", "d", doc("d", "word"))
		finds("a b c d")
	})
}
