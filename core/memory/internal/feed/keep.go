package feed

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/memory/search"
)

var _ search.Keeper = memorySource{}

// Kept implements [search.Keeper]. A part that isn't as the head says is left out. Digests take as long
// as a third of the reading, so they are made next to it.
func (s memorySource) Kept(ctx context.Context, namespace string) (kept *search.Kept, err error) {
	var checks sync.WaitGroup
	err = s.View(ctx, func(r core.Reader) error {
		head, err := record.IndexHeads.Get(r, namespace)
		if err != nil || head == nil {
			return err
		}
		kept = &search.Kept{Settings: head.Settings, Whole: head.Whole, Parts: make([]search.Part, len(head.Parts))}
		for i, p := range head.Parts {
			id := record.IndexPartID(namespace, p.Name)
			words, _, err := r.Get([]byte(record.IndexWordsPrefix + id))
			if err != nil {
				return err
			}
			docs, _, err := r.Get([]byte(record.IndexDocsPrefix + id))
			if err != nil {
				return err
			}
			to := &kept.Parts[i]
			checks.Go(func() {
				if record.IndexDigest(words) == p.Name && record.IndexDigest(docs) == p.Docs {
					*to = search.Part{Name: p.Name, Seq: p.Seq, Words: string(words), Docs: string(docs)}
				}
			})
		}
		return ctx.Err()
	})
	checks.Wait()
	if err != nil || kept == nil {
		return nil, err
	}
	all := len(kept.Parts)
	kept.Parts = slices.DeleteFunc(kept.Parts, func(p search.Part) bool { return p.Name == "" })
	kept.Whole = kept.Whole && len(kept.Parts) == all
	return kept, nil
}

// Missing implements [search.Keeper].
func (s memorySource) Missing(ctx context.Context, namespace string, known func(id string) bool, fn func(*search.Doc) error) error {
	return s.View(ctx, func(r core.Reader) error {
		ids, err := s.ids(ctx, r, namespace)
		if err != nil {
			return err
		}
		return s.readDocs(r, namespace, slices.DeleteFunc(ids, known), func(_ string, d *search.Doc) error { return fn(d) })
	})
}

// Vectors implements [search.Keeper].
func (s memorySource) Vectors(ctx context.Context, ids []string, fn func(i int, model string, vector []float32)) error {
	order := make([]int, len(ids))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(ids[a], ids[b]) })
	sorted := make([]string, len(ids))
	for i, at := range order {
		sorted[i] = ids[at]
	}
	var buffer []float32
	return s.View(ctx, func(r core.Reader) error {
		return readAll(r, record.VectorPrefix, sorted, func(i int, value []byte) {
			model, vector, err := record.AppendVector(buffer[:0], sorted[i], value)
			if buffer = vector; err == nil {
				fn(order[i], model, vector)
			}
		})
	})
}

// errOutdated says that what is kept was changed by others, so that parts made before aren't written.
var errOutdated = errors.New("what is kept of the index was changed meanwhile")

// Keep implements [search.Keeper]. Each part is written with its head, so that what is kept is of use
// after any of the commits. Of several hosts that keep a namespace at once, the last one's parts stay.
func (s memorySource) Keep(ctx context.Context, namespace, settings string, take func(kept func(name string) bool) ([]search.Part, error)) error {
	k := &keeping{s.Writer.Store, namespace, nil}
	if err := k.begin(ctx, settings); err != nil {
		return err
	}
	parts, err := take(func(name string) bool { return k.head.Find(name) != nil })
	if err != nil {
		return err
	}
	for i := range parts {
		if err := k.put(ctx, &parts[i]); err != nil {
			return err
		}
	}
	return k.end(ctx, parts)
}

// keeping is what is being kept of a namespace.
type keeping struct {
	store     core.Store
	namespace string
	// head is as it was at the beginning.
	head *record.IndexHead
}

// begin reads the head, or makes a new one.
func (k *keeping) begin(ctx context.Context, settings string) error {
	return k.store.Update(ctx, func(tx core.Tx) (err error) {
		k.head, err = record.IndexHeads.Get(tx, k.namespace)
		if err != nil || k.head != nil && k.head.Settings == settings {
			return err
		}
		if k.head != nil {
			err = record.DropIndexParts(tx, k.namespace, k.head, func(*record.IndexPart) bool { return true })
		}
		if k.head = record.NewIndexHead(settings); err != nil {
			return err
		}
		return record.IndexHeads.Put(tx, k.namespace, k.head)
	})
}

// update changes the head, unless something was purged meanwhile or others began again.
func (k *keeping) update(ctx context.Context, change func(tx core.Tx, head *record.IndexHead) error) error {
	return k.store.Update(ctx, func(tx core.Tx) error {
		head, err := record.IndexHeads.Get(tx, k.namespace)
		if err == nil && (head == nil || head.Mark != k.head.Mark || head.Settings != k.head.Settings) {
			err = errOutdated
		}
		if err == nil {
			err = change(tx, head)
		}
		if err != nil {
			return err
		}
		return record.IndexHeads.Put(tx, k.namespace, head)
	})
}

// put writes a part, unless it is kept already.
func (k *keeping) put(ctx context.Context, p *search.Part) error {
	docs := []byte(p.Docs)
	digest := record.IndexDigest(docs)
	if before := k.head.Find(p.Name); before != nil && before.Docs == digest {
		return nil
	}
	return k.update(ctx, func(tx core.Tx, head *record.IndexHead) error {
		id := record.IndexPartID(k.namespace, p.Name)
		was := head.Find(p.Name)
		switch {
		case was == nil && k.head.Find(p.Name) != nil:
			return errOutdated // it may have words of memories that aren't in it any more
		case was == nil:
			if err := tx.Put([]byte(record.IndexWordsPrefix+id), []byte(p.Words)); err != nil {
				return err
			}
		}
		part := record.IndexPart{Name: p.Name, Docs: digest, Seq: p.Seq, First: p.First, Last: p.Last}
		part.Widen(was)
		head.Parts = append(slices.DeleteFunc(head.Parts, func(other record.IndexPart) bool { return other.Name == p.Name }), part)
		return tx.Put([]byte(record.IndexDocsPrefix+id), docs)
	})
}

// end leaves the parts alone, if all of them are there.
func (k *keeping) end(ctx context.Context, parts []search.Part) error {
	return k.update(ctx, func(tx core.Tx, head *record.IndexHead) error {
		mine := make(map[string]uint64, len(parts))
		for i := range parts {
			if mine[parts[i].Name] = parts[i].Seq; head.Find(parts[i].Name) == nil {
				return errOutdated
			}
		}
		err := record.DropIndexParts(tx, k.namespace, head, func(p *record.IndexPart) bool { return mine[p.Name] == 0 })
		for i := range head.Parts {
			p := &head.Parts[i]
			p.Seq = max(p.Seq, mine[p.Name])
		}
		head.Whole = true
		return err
	})
}
