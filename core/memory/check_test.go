package memory_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory"
)

// problems checks what a world stores.
func (w *world) problems(t *testing.T) (list []core.Problem) {
	t.Helper()
	view(t, w.store, func(r core.Reader) error {
		return w.Check(t.Context(), r, func(p core.Problem) { list = append(list, p) })
	})
	return list
}

// full is a world with some of everything but a purged memory.
func full(t *testing.T, s core.Store) *world {
	t.Helper()
	w := newWorld(t, s, func(o *memory.Options) { o.Embedder = embedder{} })
	above := 1
	w.governor["ns"] = core.Governance{MaxReflectionDepth: 3, RequireApprovalAbove: &above}
	for _, id := range []string{"a", "b"} {
		w.observe(t, core.ObserveRequest{ID: id, Content: "c " + id, Attributes: core.Attributes{Tags: []string{"t1", "t2"}, AgentID: "alice"}})
	}
	w.observe(t, core.ObserveRequest{ID: "x", Namespace: "ns/x", Content: "c"})
	r := w.reflect(t, core.ReflectRequest{SourceIDs: []string{"a", "b"}})
	w.reflect(t, core.ReflectRequest{SourceIDs: []string{r.ID, "x"}, IdempotencyKey: "k"})
	if _, err := w.Link(t.Context(), &memory.LinkRequest{From: "a", Relation: "related_to", To: "x"}); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestCheckIsCleanAfterEverything(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		if list := full(t, s).problems(t); len(list) != 0 {
			t.Errorf("problems: %+v", list)
		}
	})
}

// TestCheckFindsEachMissingAndStrayKey removes each key in turn, and then adds one next to
// it and changes its value; what is derived is rebuilt to what it was.
func TestCheckFindsEachMissingAndStrayKey(t *testing.T) {
	w := full(t, openPebble(t))
	whole := dump(t, w.store)
	unchecked := []string{"meta/", "event-head/", "event-new/", "reflect-request/", "pending/", "event/", "memory-history/"}
	derived := func(key string) bool {
		for _, prefix := range w.Derived() {
			if strings.HasPrefix(key, prefix) {
				return true
			}
		}
		return false
	}
	for _, key := range slices.Sorted(maps.Keys(whole)) {
		skip := false
		for _, prefix := range unchecked { // they are the journal's, or nothing else names them
			skip = skip || strings.HasPrefix(key, prefix)
		}
		if skip {
			continue
		}
		change(t, w.store, func(tx core.Tx) error { return tx.Delete([]byte(key)) })
		list := w.problems(t)
		if len(list) == 0 {
			t.Errorf("without %q nothing is found", key)
		}
		if derived(key) {
			w.rebuilt(t, whole, "without "+key, list)
			stray := key + "9"
			change(t, w.store, func(tx core.Tx) error { return tx.Put([]byte(stray), []byte("9")) })
			w.rebuilt(t, whole, "with "+stray, w.problems(t))
			if whole[key] != "" {
				change(t, w.store, func(tx core.Tx) error { return tx.Put([]byte(key), []byte("0")) })
				w.rebuilt(t, whole, "another "+key, w.problems(t))
			}
		}
		change(t, w.store, func(tx core.Tx) error { return tx.Put([]byte(key), []byte(whole[key])) })
	}
}

// TestARebuildFillsEmptyIndices is what an import leaves to do.
func TestARebuildFillsEmptyIndices(t *testing.T) {
	w := newWorld(t, empty(t), nil)
	w.reflect(t, core.ReflectRequest{SourceIDs: []string{w.observe(t, core.ObserveRequest{Content: "a", Attributes: core.Attributes{Tags: []string{"x"}}}).ID}, Title: "b", Content: "b"})
	whole := dump(t, w.store)
	change(t, w.store, func(tx core.Tx) error {
		for key := range whole {
			if slices.ContainsFunc(w.Derived(), func(prefix string) bool { return strings.HasPrefix(key, prefix) }) {
				if err := tx.Delete([]byte(key)); err != nil {
					return err
				}
			}
		}
		return nil
	})
	w.rebuilt(t, whole, "no indices", w.problems(t))
}

// rebuilt proves that problems were found which a rebuild fixes.
func (w *world) rebuilt(t *testing.T, whole map[string]string, what string, list []core.Problem) {
	t.Helper()
	if len(list) == 0 {
		t.Errorf("%q: nothing is found", what)
	}
	for _, p := range list {
		if !p.Rebuildable || p.Part != "memories" || p.Key == "" {
			t.Errorf("%q: %+v", what, p)
		}
	}
	if err := w.Rebuild(t.Context(), w.store); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(whole, dump(t, w.store)); diff != "" {
		t.Errorf("%q: the rebuilt store (-whole +rebuilt):\n%s", what, diff)
	}
}

func change(t *testing.T, s core.Store, fn func(core.Tx) error) {
	t.Helper()
	if err := s.Update(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

func TestCheckFindsWhatWasEdited(t *testing.T) {
	cases := []struct{ name, key, from, to, says string }{
		{"content", "memory/a", `"content":"c a"`, `"content":"c b"`, "isn't what its event says"},
		{"depth", "memory/a", `"reflection_depth":0`, `"reflection_depth":1`, "its depth is 1, but its event says 0"},
		{"id", "memory/a", `"id":"a"`, `"id":"b"`, "its own id is"},
		{"not JSON", "memory/a", `{`, `[`, "can't be decoded"},
		{"state", "memory/a", `"state":"open"`, `"state":"active"`, "the index lacks"},
		{"model", "memory/a", `"lengths"`, `"widths"`, "model"},
		{"vector", "memory-vector/a", "lengths", "length", "its length is wrong"},
		{"link", "link/a/related_to/x", `"to":"x"`, `"to":"b"`, "names other memories"},
		{"event", "event/namespace/ns\x00\x00\x00\x00\x00\x00\x00\x00\x01", `"memory_id":"a"`, `"memory_id":"b"`, "isn't its creation"},
		{"count", "memory-count/ns", `"memories":3`, `"memories":2`, "it counts 2 memories"},
		{"count of a state", "memory-count/ns", `"states":{`, `"states":{"archived":1,`, "by state or kind"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := full(t, openPebble(t))
			value := dump(t, w.store)[c.key]
			edited := strings.Replace(value, c.from, c.to, 1)
			if edited == value {
				t.Fatalf("%s is %q", c.key, value)
			}
			change(t, w.store, func(tx core.Tx) error { return tx.Put([]byte(c.key), []byte(edited)) })
			list := w.problems(t)
			found := false
			for _, p := range list {
				found = found || strings.Contains(p.Message, c.says)
			}
			if !found {
				t.Errorf("problems %+v, want %q", list, c.says)
			}
		})
	}
}
