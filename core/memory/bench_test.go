package memory_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory"
)

// BenchmarkObserveAll stores batches as an import does. An operation is one
// memory.
func BenchmarkObserveAll(b *testing.B) {
	w := benchWorld(b)
	batch := make([]*core.ObserveRequest, memory.MaxBatch)
	for i := range batch {
		batch[i] = &core.ObserveRequest{Namespace: "ns", Content: strings.Repeat(fmt.Sprint("memory ", i, " "), 20), Attributes: core.Attributes{Tags: []string{"a", "b"}, AgentID: "alice"}}
	}
	b.ReportAllocs()
	for n := 0; n < b.N; n += len(batch) {
		if _, _, err := w.ObserveAll(b.Context(), batch[:min(len(batch), b.N-n)]); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkGet reads memories one by one.
func BenchmarkGet(b *testing.B) {
	w := benchWorld(b)
	id := observeFor(b, w)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.Get(b.Context(), id); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReflect makes reflections of one source.
func BenchmarkReflect(b *testing.B) {
	w := benchWorld(b)
	r := core.ReflectRequest{SourceIDs: []string{observeFor(b, w)}, Content: strings.Repeat("a thought ", 20)}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		r.Title = fmt.Sprint("t", n)
		if _, err := w.Reflect(b.Context(), &r); err != nil {
			b.Fatal(err)
		}
	}
}

func observeFor(b *testing.B, w *memory.Memories) string {
	b.Helper()
	m, err := w.Observe(b.Context(), &core.ObserveRequest{Namespace: "ns", Content: strings.Repeat("a memory ", 40)})
	if err != nil {
		b.Fatal(err)
	}
	return m.ID
}

func benchWorld(b *testing.B) *memory.Memories {
	b.Helper()
	w, err := memory.New(memory.Options{Store: openPebble(b)})
	if err != nil {
		b.Fatal(err)
	}
	return w
}
