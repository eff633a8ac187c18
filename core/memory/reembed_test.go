package memory_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/memory/embed"
	"github.com/reflectory/reflectory/core/memory/search"
	"github.com/reflectory/reflectory/sdk"
)

// other is another model. It fails after so many texts, if that isn't 0.
type other struct {
	embed.Hashed
	texts, failAfter int
}

func (*other) Model() string { return "other" }

// Weight is a weight of vectors that are compared next to words.
func (*other) Weight() float64 { return search.DefaultVectorWeight }

func (o *other) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if o.texts += len(texts); o.failAfter > 0 && o.texts > o.failAfter {
		return nil, errors.New("out of credit")
	}
	return o.Hashed.Embed(ctx, texts)
}

func TestReembedMovesANamespaceToAnotherModel(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		old := living(t, s, decides(verdict.NextPromote, .9), hashed)
		archived := old.observe(t, core.ObserveRequest{Title: "old", Content: "an old lesson on backups"}).ID
		if err := old.MoveByDream(t.Context(), archived, core.StateArchived, ""); err != nil {
			t.Fatal(err)
		}
		ids := old.observeSamples(t)
		old.promoted(t, core.ObserveRequest{Title: "known", Content: "pool the connections"})
		old.observe(t, core.ObserveRequest{Namespace: "ns/below", Content: "another namespace"})

		e := &other{}
		defer func() {
			if e.texts != 10 { // 5 queries, and each memory once
				t.Errorf("%d texts were embedded, want 10", e.texts)
			}
		}()
		w := living(t, s, nil, func(o *memory.Options) { o.Embedder, o.DeferGate = e, true })
		if r := w.recall(t, core.RecallRequest{Query: "gateway"}); titles(r) != "certificates" || r.Memories[0].Why.Similarity != nil {
			t.Errorf("vectors of different models were compared: %+v", r.Memories)
		}
		if found := w.known(t, "pool"); len(found) != 1 || found[0].Why.Similarity != nil {
			t.Errorf("knowledge before: %+v", found)
		}
		var told []memory.ReembedProgress
		p, err := w.Vectors.Reembed(as(t, "me"), "ns", func(p memory.ReembedProgress) { told = append(told, p) })
		want := memory.ReembedProgress{Namespace: "ns", Model: "other", Looked: 5, Changed: 5, Total: 5}
		if err != nil || *p != want || len(told) != 1 || told[0] != want {
			t.Errorf("%+v, told %+v, %v", p, told, err)
		}
		r := w.recall(t, core.RecallRequest{Query: "gateway"})
		if m := r.Memories[0]; m.ID != ids["certificates"] || m.Why.Similarity == nil || m.EmbeddingModel != "other" {
			t.Errorf("afterwards %+v", m)
		}
		if _, err := w.Restore(t.Context(), archived); err != nil {
			t.Fatal(err)
		}
		if m := w.recall(t, core.RecallRequest{Query: "old backups"}).Memories[0]; m.ID != archived || m.Why.Similarity == nil {
			t.Errorf("restored: %+v", m)
		}
		found, err := w.Knowledge.Recall(t.Context(), &memory.KnowledgeQuery{Namespace: "ns", Query: "connection pools"})
		if err != nil || len(found) != 1 || found[0].Why.Similarity == nil {
			t.Errorf("knowledge: %+v, %v", found, err)
		}
		before := dump(t, s)
		if p, err := w.Vectors.Reembed(t.Context(), "ns", nil); err != nil || p.Changed != 0 || p.Looked != 5 {
			t.Errorf("again: %+v, %v", p, err)
		}
		if diff := cmp.Diff(before, dump(t, s)); diff != "" {
			t.Errorf("again, and it wrote:\n%s", diff)
		}
		if moved := w.told(t, "agent.memory.reembedded"); len(moved) != 1 || moved[0]["agent_id"] != "me" {
			t.Errorf("events: %v", moved)
		}
	})
}

func TestReembedGoesOnWhereItFailed(t *testing.T) {
	s := openPebble(t)
	old := newWorld(t, s, hashed)
	for i := range 150 {
		old.observe(t, core.ObserveRequest{Content: fmt.Sprint("lesson ", i)})
	}
	e := &other{failAfter: 100}
	w := newWorld(t, s, func(o *memory.Options) { o.Embedder = e })
	if _, err := w.Vectors.Reembed(t.Context(), "ns", nil); err == nil || !strings.Contains(err.Error(), "out of credit") {
		t.Errorf("got %v", err)
	}
	e.failAfter = 0
	p, err := w.Vectors.Reembed(t.Context(), "ns", nil)
	if err != nil || p.Changed != 150-64 || p.Looked != 150 {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestReembedAndSweepRefuse(t *testing.T) {
	w := newWorld(t, openPebble(t), nil)
	_, err := w.Vectors.Reembed(t.Context(), "ns", nil)
	wantReason(t, err, sdk.Invalid, "embedder_missing")
	_, err = w.Vectors.Reembed(t.Context(), "a//b", nil)
	wantReason(t, err, sdk.Invalid, "namespace_invalid")
	_, err = w.Gate.Sweep(t.Context(), "a//b", nil)
	wantReason(t, err, sdk.Invalid, "namespace_invalid")
}
