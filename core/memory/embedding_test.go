package memory_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

// embedder makes vectors of a text's length.
type embedder struct {
	err    error
	vector []float32
}

func (embedder) Model() string { return "lengths" }

func (e embedder) Embed(_ context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		if vectors[i] = e.vector; e.vector == nil {
			vectors[i] = []float32{float32(len(text)), 1}
		}
	}
	return vectors, e.err
}

// changes is an index that notes what it is told.
type changes struct{ list []memory.Change }

func (c *changes) Apply(list []memory.Change) { c.list = append(c.list, list...) }

func TestTheIndexIsToldOfEachCommit(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		var told changes
		w := newWorld(t, s, func(o *memory.Options) { o.Embedder, o.Index = embedder{}, &told })
		id := w.observe(t, core.ObserveRequest{Content: "12345"}).ID
		r := w.reflect(t, core.ReflectRequest{SourceIDs: []string{id}, Title: "abc", Content: "12345"}).ID
		w.refused(t, core.ReflectRequest{SourceIDs: []string{id}, Title: "abc"}, sdk.Conflict, "title_taken")
		if err := w.Remove(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if len(told.list) != 3 {
			t.Fatalf("%d changes, want 3", len(told.list))
		}
		made, derived, removed := told.list[0], told.list[1], told.list[2]
		if made.ID != id || made.Version != 1 || made.Memory.Content != "12345" || made.Model != "lengths" || !cmp.Equal(made.Vector, []float32{5, 1}) {
			t.Errorf("the memory: %+v", made)
		}
		if derived.ID != r || !cmp.Equal(derived.Vector, []float32{9, 1}) || derived.Memory.EmbeddingModel != "lengths" {
			t.Errorf("the reflection: %+v", derived)
		}
		if removed.ID != id || removed.Memory != nil || removed.Version != 2 {
			t.Errorf("the removal: %+v", removed)
		}
	})
}

func TestAMemoryIsStoredThoughItsVectorCantBeMade(t *testing.T) {
	cases := map[string]struct {
		e      embedder
		reason string
	}{
		"unavailable": {embedder{err: sdk.Errorf(sdk.Unavailable, "endpoint_down", "no route")}, "endpoint_down"},
		"not finite":  {embedder{vector: []float32{float32(math.NaN())}}, "embedding_invalid"},
		"empty":       {embedder{vector: []float32{}}, "embedding_invalid"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, openPebble(t), func(o *memory.Options) { o.Embedder = c.e })
			m := w.observe(t, core.ObserveRequest{Content: "c"})
			if m.EmbeddingModel != "" || !strings.Contains(string(w.entries[0].Data), `"embedding_failure":"`+c.reason+`"`) {
				t.Errorf("model %q, event %s", m.EmbeddingModel, w.entries[0].Data)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := newWorld(t, openPebble(t), func(o *memory.Options) { o.Embedder = embedder{} })
	_, err := w.Observe(ctx, &core.ObserveRequest{Namespace: "ns", Content: "c"})
	wantReason(t, err, sdk.Cancelled, "cancelled")
}
