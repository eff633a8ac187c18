package memory

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/sdk"
)

// reembedBatch is how many memories get their vectors in one commit.
const reembedBatch = 64

// ReembedProgress is the progress of a re-embedding.
type ReembedProgress struct {
	Namespace string `json:"namespace"`
	// Model is the model that the memories move to.
	Model string `json:"model"`
	// Looked counts the memories that were examined, of Total; Changed counts the memories
	// that got a new vector. A memory that already has a vector of the model keeps it.
	Looked  int64 `json:"looked"`
	Changed int64 `json:"changed"`
	Total   int64 `json:"total"`
}

// Reembed gives the memories of a namespace vectors of the embedder's model, a few per
// commit, and calls tell after each commit, unless tell is nil. Memories that have such a
// vector are skipped, so that a call after a failure continues where the first one ended.
// Until it gets its vector, a memory is found by its words.
func (vs *Vectors) Reembed(ctx context.Context, namespace string, tell func(ReembedProgress)) (*ReembedProgress, error) {
	if err := core.CheckNamespace(namespace); err != nil {
		return nil, err
	}
	if vs.options.Embedder == nil {
		return nil, sdk.Errorf(sdk.Invalid, "embedder_missing", "no embedder is configured").
			WithHint("configure one, or use the local one, which needs no set-up")
	}
	p, err := vs.reembed(ctx, namespace, tell)
	if err != nil {
		return nil, sdk.Wrap("re-embed "+namespace, err)
	}
	return p, nil
}

func (vs *Vectors) reembed(ctx context.Context, namespace string, tell func(ReembedProgress)) (*ReembedProgress, error) {
	p := &ReembedProgress{Namespace: namespace, Model: vs.options.Embedder.Model()}
	for from := record.IndexStart(record.TimePrefix, namespace, ""); from != nil; {
		b, err := vs.outdated(ctx, namespace, from, p.Model)
		if err != nil {
			return nil, err
		}
		changed, err := vs.moveVectors(ctx, b.memories)
		if err != nil {
			return nil, err
		}
		p.Looked, p.Changed, p.Total, from = p.Looked+b.looked, p.Changed+changed, max(b.total, p.Looked+b.looked), b.next
		if tell != nil {
			tell(*p)
		}
	}
	return p, nil
}

// batch are memories that need a new vector, and where the next batch begins; nil after
// the last.
type batch struct {
	memories      []*core.Memory
	looked, total int64
	next          []byte
}

// outdated reads the memories that have no vector of a model, beginning at a key of the
// time index.
func (vs *Vectors) outdated(ctx context.Context, namespace string, from []byte, model string) (b batch, err error) {
	err = vs.records.View(ctx, func(r core.Reader) error {
		count, err := record.ReadCount(r, namespace)
		if err != nil {
			return err
		}
		b.total = count.Memories
		start := record.IndexStart(record.TimePrefix, namespace, "")
		return r.Scan(from, core.PrefixEnd(start), func(key, _ []byte) (bool, error) {
			if len(b.memories) == reembedBatch || b.looked == maxExamined {
				b.next = append([]byte(nil), key...)
				return false, nil
			}
			memory, err := readIndexed(r, record.PlaceID(key[len(start):]), key)
			if err != nil {
				return false, err
			}
			b.looked++
			if memory.EmbeddingModel != model {
				b.memories = append(b.memories, memory)
			}
			return true, ctx.Err()
		})
	})
	return b, err
}

// moveVectors gives memories of one namespace vectors of the embedder's model, in one
// commit. It skips memories that are gone by now.
func (vs *Vectors) moveVectors(ctx context.Context, memories []*core.Memory) (changed int64, err error) {
	if len(memories) == 0 {
		return 0, nil
	}
	texts := make([]string, len(memories))
	for i, memory := range memories {
		texts[i] = record.EmbeddedText(memory)
	}
	vectors, err := vs.vectors(ctx, texts)
	if err != nil {
		return 0, err
	}
	err = vs.records.Update(ctx, func(t *record.Tx) error {
		event := journal.MemoriesReembedded{Model: vs.options.Embedder.Model(), AgentID: t.Caller().Label}
		for i := range memories {
			moved, err := moveVector(t, memories[i].ID, event.Model, vectors[i])
			if err != nil {
				return err
			}
			if moved {
				event.MemoryIDs = append(event.MemoryIDs, memories[i].ID)
			}
		}
		if changed = int64(len(event.MemoryIDs)); changed == 0 {
			return nil
		}
		return t.Record(memories[0].Namespace, event, event.MemoryIDs...)
	})
	return changed, err
}

func moveVector(t *record.Tx, id, model string, vector []float32) (bool, error) {
	before, err := record.Read(t, id)
	if record.IsGone(err) || err == nil && before.EmbeddingModel == model {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	after := *before
	after.EmbeddingModel = model
	if err := record.Put(t, before, &after); err != nil {
		return false, err
	}
	return true, record.PutVector(t, &after, vector)
}
