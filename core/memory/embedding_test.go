package memory_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

// embedder makes vectors that point according to a text's length.
type embedder struct {
	err    error
	vector []float32
	// more is how many vectors it makes too many, and uneven whether each has one
	// dimension more than the one before.
	more   int
	uneven bool
}

func (embedder) Model() string { return "lengths" }

func (e embedder) Embed(_ context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts), len(texts)+e.more)
	for i, text := range texts {
		if vectors[i] = e.vector; e.vector == nil {
			sin, cos := math.Sincos(float64(len(text)) / 100)
			vectors[i] = []float32{float32(cos), float32(sin)}
		}
		if e.uneven {
			vectors[i] = append(vectors[i], make([]float32, i)...)
		}
	}
	for range e.more {
		vectors = append(vectors, vectors[0])
	}
	return vectors, e.err
}

func TestAMemoryIsStoredThoughItsVectorCantBeMade(t *testing.T) {
	cases := map[string]struct {
		e      embedder
		reason string
	}{
		"unavailable": {embedder{err: sdk.Errorf(sdk.Unavailable, "endpoint_down", "no route")}, "endpoint_down"},
		"not finite":  {embedder{vector: []float32{float32(math.NaN())}}, "embedding_invalid"},
		"too long":    {embedder{vector: []float32{3, 4}}, "embedding_invalid"},
		"empty":       {embedder{vector: []float32{}}, "embedding_invalid"},
		"too many":    {embedder{more: 1}, "embedding_invalid"},
		"too wide":    {embedder{vector: append([]float32{1}, make([]float32, 1<<14)...)}, "embedding_invalid"},
		"uneven":      {embedder{uneven: true}, "embedding_invalid"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, openPebble(t), func(o *memory.Options) { o.Embedder = c.e })
			list, _, err := w.ObserveAll(t.Context(), []*core.ObserveRequest{{Namespace: "ns", Content: "c"}, {Namespace: "ns", Content: "d"}})
			if err != nil {
				t.Fatal(err)
			}
			for i, m := range list {
				if m.EmbeddingModel != "" || !strings.Contains(string(w.entries[i].Data), `"embedding_failure":"`+c.reason+`"`) {
					t.Errorf("model %q, event %s", m.EmbeddingModel, w.entries[i].Data)
				}
			}
		})
	}
	// 0 is the vector of what says nothing.
	nothing := newWorld(t, openPebble(t), func(o *memory.Options) { o.Embedder = embedder{vector: []float32{0}} })
	if m := nothing.observe(t, core.ObserveRequest{Content: "c"}); m.EmbeddingModel != "lengths" {
		t.Errorf("model %q, event %s", m.EmbeddingModel, nothing.entries[0].Data)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := newWorld(t, openPebble(t), func(o *memory.Options) { o.Embedder = embedder{} })
	_, err := w.Observe(ctx, &core.ObserveRequest{Namespace: "ns", Content: "c"})
	wantReason(t, err, sdk.Cancelled, "cancelled")
}
