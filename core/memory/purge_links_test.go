package memory_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory"
)

// writes counts what transactions write.
type writes struct {
	core.Store
	n int
}

func (w *writes) Update(ctx context.Context, fn func(core.Tx) error) error {
	return w.Store.Update(ctx, func(tx core.Tx) error { return fn(&writesTx{tx, w}) })
}

type writesTx struct {
	core.Tx
	w *writes
}

func (t *writesTx) Put(key, value []byte) error {
	t.w.n++
	return t.Tx.Put(key, value)
}

func (t *writesTx) Delete(key []byte) error {
	t.w.n++
	return t.Tx.Delete(key)
}

// TestAPurgeWritesNoMoreForMoreReflections: a memory can be purged however many
// reflections and links lead to it, in one transaction; only the metadata of such links is
// removed.
func TestAPurgeWritesNoMoreForMoreReflections(t *testing.T) {
	purge := func(reflections, carrying int) (written int) {
		s := &writes{Store: empty(t)}
		w := newWorld(t, s, nil)
		source := w.observe(t, core.ObserveRequest{ID: "source", Content: "c"}).ID
		var last string
		for i := range reflections {
			last = w.reflect(t, core.ReflectRequest{SourceIDs: []string{source}, Title: fmt.Sprint(i)}).ID
		}
		for i := range carrying {
			_, err := w.Link(t.Context(), &memory.LinkRequest{From: last, Relation: fmt.Sprint("r", i), To: source, Metadata: []byte(`{"of":"the source"}`)})
			must(t, err)
		}
		s.n = 0
		must(t, w.Remove(t.Context(), source))
		written = s.n
		from, _, err := w.Links(t.Context(), last)
		if err != nil || len(from) != 1+carrying {
			t.Fatalf("%d links, error %v", len(from), err)
		}
		for _, l := range from {
			if l.To != "purged:source" || l.Metadata != nil {
				t.Errorf("link %+v", l)
			}
		}
		if list := w.problems(t); len(list) != 0 {
			t.Errorf("problems: %+v", list)
		}
		return written
	}
	few := purge(1, 0)
	if many := purge(50, 0); many != few {
		t.Errorf("%d writes for 50 reflections, %d for one", many, few)
	}
	if carried := purge(1, 10); carried != few+2*10 {
		t.Errorf("%d writes for 10 links that carry something, %d without", carried, few)
	}
}

// TestALinkToAPurgedMemoryCarriesNothing: the check finds what such a link carries.
func TestALinkToAPurgedMemoryCarriesNothing(t *testing.T) {
	w := full(t, openPebble(t))
	must(t, w.Remove(t.Context(), "x"))
	key := []byte("link/a/related_to/x")
	change(t, w.store, func(tx core.Tx) error {
		return tx.Put(key, []byte(`{"from":"a","relation":"related_to","to":"x","created_at":"2026-11-21T12:00:00Z","metadata":{"of":"x"}}`))
	})
	list := w.problems(t)
	if len(list) == 0 || slices.ContainsFunc(list, func(p core.Problem) bool { return p.Key != string(key) }) {
		t.Errorf("problems: %+v", list)
	}
}

// TestAMemoryWithVeryManyLinksIsPurged makes 300,000 links lead to a memory, more than one
// transaction could rewrite. It needs REFLECTORY_STRESS=1 for them all.
func TestAMemoryWithVeryManyLinksPurged(t *testing.T) {
	count := 3000
	if os.Getenv("REFLECTORY_STRESS") != "" {
		count = 300_000
	}
	w := newWorld(t, openPebble(t), nil)
	source := w.observe(t, core.ObserveRequest{ID: "source", Content: "c"}).ID
	other := w.observe(t, core.ObserveRequest{ID: "other", Content: "c"}).ID
	_, err := w.Link(t.Context(), &memory.LinkRequest{From: other, Relation: "related_to", To: source})
	must(t, err)
	for first := 0; first < count; first += 1000 {
		change(t, w.store, func(tx core.Tx) error {
			for i := first; i < first+1000; i++ {
				from := fmt.Sprintf("00000000-0000-7000-8000-%012d", i)
				value := fmt.Sprintf(`{"from":%q,"relation":"reflects_on","to":"source","created_at":"2026-11-21T12:00:00Z"}`, from)
				if err := tx.Put([]byte("link/"+from+"/reflects_on/source"), []byte(value)); err != nil {
					return err
				}
				if err := tx.Put([]byte("link-to/source/reflects_on/"+from), nil); err != nil {
					return err
				}
			}
			return nil
		})
	}
	must(t, w.Remove(t.Context(), source))
	if from, _, err := w.Links(t.Context(), other); err != nil || len(from) != 1 || from[0].To != "purged:source" {
		t.Errorf("links %+v, error %v", from, err)
	}
}
