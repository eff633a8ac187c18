package memory_test

import (
	"fmt"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

// TestLocksHoldForNamesThatLookTheSame: a name that only looks like a locked
// namespace, or like one below it, is refused wherever a namespace is given.
func TestLocksHoldForNamesThatLookTheSame(t *testing.T) {
	g := newGoverned(t, empty(t), nil)
	g.set(t, "café", "max_reflection_depth=0", "locked=max_reflection_depth")
	g.observe(t, core.ObserveRequest{ID: "a", Namespace: "café", Content: "a"})
	for _, name := range []string{"cafe\u0301", "café\u200b", "\u202ecafé", "\u2066café\u2069/x", "caf\u00adé", "\ufeffcafé", "café/\u200d", "café\ufe0f"} {
		ways := map[string]func() error{
			"observe": func() error {
				_, err := g.Observe(t.Context(), &core.ObserveRequest{Namespace: name, Content: "b"})
				return err
			},
			"import": func() error {
				_, _, err := g.ObserveAll(t.Context(), []*core.ObserveRequest{{Namespace: name, Content: "b"}})
				return err
			},
			"reflect": func() error {
				_, err := g.Reflect(t.Context(), &core.ReflectRequest{SourceIDs: []string{"a"}, Namespace: name, Title: "t", Content: "c"})
				return err
			},
			"recall": func() error {
				_, err := g.Recall(t.Context(), &core.RecallRequest{Query: "b", RecallFilter: core.RecallFilter{Namespace: name}})
				return err
			},
			"recall of knowledge": func() error {
				_, err := g.Knowledge.Recall(t.Context(), &memory.KnowledgeQuery{Query: "b", Namespace: name})
				return err
			},
			"list": func() error {
				_, err := g.List(t.Context(), memory.ListFilter{Namespace: name})
				return err
			},
			"pending": func() error { _, err := g.Pending(t.Context(), memory.PendingFilter{Namespace: name}); return err },
			"sweep":   func() error { _, err := g.Gate.Sweep(t.Context(), name, nil); return err },
			"reembed": func() error { _, err := g.Vectors.Reembed(t.Context(), name, nil); return err },
			"settings": func() error {
				_, err := g.settings.Set(t.Context(), name, "max_reflection_depth=9")
				return err
			},
			"no settings": func() error { _, err := g.settings.Unset(t.Context(), name); return err },
		}
		for way, call := range ways {
			if err := call(); sdk.ReasonOf(err) != "namespace_invalid" {
				t.Errorf("%s in %q: %v", way, name, err)
			}
		}
	}
}

// TestPurged_ReadsSoManyTombstones, and says that there are more.
func TestPurged_ReadsSoManyTombstones(t *testing.T) {
	const most = 4096
	g := newGoverned(t, empty(t), nil)
	count := func(more int, want int64, wantMore bool) {
		t.Helper()
		must(t, g.store.Update(t.Context(), func(tx core.Tx) error {
			for i := range more {
				namespace := []string{"a", "b"}[i%2]
				if err := tx.Put(fmt.Appendf(nil, "memory-purged/%d-%05d", more, i), jsontext.MustEncode(map[string]any{"namespace": namespace, "at": "2000-01-01T00:00:00Z"})); err != nil {
					return err
				}
			}
			return nil
		}))
		n, wasMore, err := g.Purged(t.Context(), func(namespace string) bool { return namespace == "a" })
		if must(t, err); n != want || wasMore != wantMore {
			t.Errorf("%d, more: %t; want %d, %t", n, wasMore, want, wantMore)
		}
	}
	count(0, 0, false)
	count(most, most/2, false)
	count(1, most/2+1, true)
}
