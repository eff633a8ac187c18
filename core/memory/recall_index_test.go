package memory_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/sdk"
)

// TestAReopenedStoreRecallsTheSame compares indices that grew with the commits and
// one that reads the store.
func TestAReopenedStoreRecallsTheSame(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := living(t, s, nil, hashed)
		w.recall(t, core.RecallRequest{Query: "warm"})
		ids := w.observeSamples(t)
		w.reflect(t, core.ReflectRequest{SourceIDs: []string{ids["logs"], ids["uploads"]}, Title: "both", Content: "watch the disk of uploads"})
		w.recall(t, core.RecallRequest{Session: "s", Turn: 1, Query: "upload"})
		w.feedback(t, "s", 1, core.OutcomeSuccess, ids["uploads"])
		if err := w.MoveByDream(t.Context(), ids["logs"], core.StateArchived, ""); err != nil {
			t.Fatal(err)
		}
		fresh := living(t, s, nil, hashed)
		for _, query := range []string{"upload", "disk", "the certificate", "zebra"} {
			got, want := fresh.recall(t, core.RecallRequest{Query: query}), w.recall(t, core.RecallRequest{Query: query})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%q:\n%s", query, diff)
			}
		}
	})
}

// TestTheSameCallsLeaveTheSameStore holds also for what recalls record.
func TestTheSameCallsLeaveTheSameStore(t *testing.T) {
	script := func(s core.Store) map[string]string {
		w := living(t, s, nil, hashed)
		ids := w.observeSamples(t)
		for turn := int64(1); turn <= 5; turn++ {
			w.recall(t, core.RecallRequest{Session: "s", Turn: turn, Query: "the upload of certificates"})
			w.feedback(t, "s", turn, core.OutcomePartial, ids["certificates"])
		}
		return dump(t, s)
	}
	first := script(empty(t))
	for name, s := range map[string]core.Store{"mem": empty(t), "pebble": openPebble(t)} {
		if diff := cmp.Diff(first, script(s)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestADamagedMemoryDoesntHideTheOthers(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := newWorld(t, s, hashed)
		ids := w.observeSamples(t)
		err := s.Update(t.Context(), func(tx core.Tx) error { return tx.Put([]byte("memory/"+ids["logs"]), []byte("{")) })
		if err != nil {
			t.Fatal(err)
		}
		if got := titles(w.recall(t, core.RecallRequest{Query: "gateway"})); !strings.HasPrefix(got, "certificates") {
			t.Errorf("recalled %q", got)
		}
		if p, _ := w.Warmth(); p.Damaged != 1 || p.Documents != 2 {
			t.Errorf("%+v", p)
		}
	})
}

// TestAColdNamespaceFindsAllAmongOthers loads one whose memories lie close
// together, then far apart among the memories of another, more than are read at once. One
// is missing, and one has no vector any more.
func TestAColdNamespaceFindsAllAmongOthers(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		const dense, all, apart = 600, 800, 40
		id := func(i int) string { return fmt.Sprintf("memory-%04d", i) }
		content := func(i int) string { return fmt.Sprintf("lesson%d", i) }
		var requests []*core.ObserveRequest
		here := 0
		for i := range all {
			r := &core.ObserveRequest{ID: id(i), Namespace: "ns", Content: content(i)}
			if i >= dense && i%apart != 0 {
				r.Namespace = "other"
			} else {
				here++
			}
			requests = append(requests, r)
		}
		if _, _, err := newWorld(t, s, hashed).ObserveAll(t.Context(), requests); err != nil {
			t.Fatal(err)
		}
		missing, bare := 300, dense+apart
		err := s.Update(t.Context(), func(tx core.Tx) error {
			if err := tx.Delete([]byte("memory-vector/" + id(bare))); err != nil {
				return err
			}
			return tx.Delete([]byte("memory/" + id(missing)))
		})
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, s, hashed)
		for _, i := range []int{0, missing - 1, missing + 1, 511, 512, dense - 1, dense, bare, all - apart} {
			found := w.recall(t, core.RecallRequest{Query: content(i)}).Memories[0]
			if found.ID != id(i) || found.Why.LexicalRank != 1 {
				t.Errorf("%s: found %s, because of %+v", id(i), found.ID, found.Why)
			}
		}
		if p, _ := w.Warmth(); p.Documents != here-1 || p.Damaged != 1 {
			t.Errorf("%+v of %d", p, here)
		}
	})
}

func TestWarmLoadsInTheBackground(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := mem.Open()
	newWorld(t, s, hashed).observeSamples(t)
	w := newWorld(t, s, hashed)
	w.Warm()
	defer w.Close()
	if got := titles(w.recall(t, core.RecallRequest{Query: "gateway"})); !strings.HasPrefix(got, "certificates") {
		t.Errorf("while it warms up: %q", got)
	}
	w.Close()
	if p, _ := w.Warmth(); p.Namespaces != 1 || p.Warm != 1 || p.Documents != 3 {
		t.Errorf("%+v", p)
	}
}

// TestManyRecallAtOnce is for the race detector; each finds what it wrote.
func TestManyRecallAtOnce(t *testing.T) {
	w := newWorld(t, openPebble(t), func(o *memory.Options) { hashed(o); o.Subscribers = nil })
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for turn := range int64(10) {
				content := fmt.Sprintf("lesson%dx%d", i, turn)
				m, err := w.Observe(t.Context(), &core.ObserveRequest{Namespace: "ns", Content: content})
				if err != nil {
					t.Error(err)
					return
				}
				r := &core.RecallRequest{Session: fmt.Sprint("s", i), Turn: turn, Query: content}
				r.Namespace = "ns"
				got, err := w.Recall(t.Context(), r)
				if err != nil || len(got.Memories) == 0 || got.Memories[0].ID != m.ID {
					t.Errorf("%s: %v, %v", content, got, err)
				}
			}
		})
	}
	all.Wait()
}

// TestAChangeOfLanguageHoldsAtOnce has a namespace's words stemmed by another
// language from the next recall on, also where what is above it sets it.
func TestAChangeOfLanguageHoldsAtOnce(t *testing.T) {
	g := newGoverned(t, openPebble(t), func(o *memory.Options) { o.Embedder = nil })
	g.observe(t, core.ObserveRequest{Namespace: "a/b", Title: "t", Content: "chevaux continuaient"})
	recalls := func(want int) {
		t.Helper()
		got := g.recall(t, core.RecallRequest{Query: "continuer", RecallFilter: core.RecallFilter{Namespace: "a/b"}})
		if len(got.Memories) != want {
			t.Errorf("recalled %d, want %d", len(got.Memories), want)
		}
	}
	recalls(0)
	for _, c := range []struct {
		level, language string
		want            int
	}{{"a", "english", 0}, {"a", "french", 1}, {"a/b", "none", 0}, {"a/b", "french", 1}} {
		if _, err := g.settings.Set(t.Context(), c.level, "language="+c.language); err != nil {
			t.Fatal(err)
		}
		recalls(c.want)
	}
	_, err := g.settings.Set(t.Context(), "a", "language=klingon")
	wantReason(t, err, sdk.Invalid, "governance_invalid")
}
