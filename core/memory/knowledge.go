package memory

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/memory/knowledge"
	"github.com/reflectory/reflectory/core/work"
	"github.com/reflectory/reflectory/sdk"
)

// MaxKnowledgePage is how many entries [Knowledge.List] returns at most.
const MaxKnowledgePage = knowledge.MaxPage

type (
	// KnowledgeFilter selects entries of a namespace.
	KnowledgeFilter = knowledge.Filter
	// KnowledgeQuery asks for the knowledge that matches best.
	KnowledgeQuery = knowledge.Query
	// RecalledKnowledge is an entry with the reasons for its rank.
	RecalledKnowledge = knowledge.Recalled
	// Promotion is the record of how a memory became knowledge.
	Promotion = knowledge.Promotion
)

// KnowledgeNotFound is the error for an id that no entry has: sdk.NotFound, reason
// "knowledge_not_found".
func KnowledgeNotFound(id string) error { return knowledge.NotFound(id) }

// Get returns an entry. If there is none, the error is sdk.NotFound, reason
// "knowledge_not_found", or "knowledge_purged" if it was purged.
func (ks *Knowledge) Get(ctx context.Context, id string) (k *core.Knowledge, err error) {
	err = ks.records.View(ctx, func(r core.Reader) error {
		k, err = knowledge.Read(r, id)
		return err
	})
	return k, err
}

// Find returns the entry whose id is prefix, or the only one whose id starts
// with prefix, which has at least [MinPrefix] characters. If several match, the error is
// sdk.Conflict, reason "id_ambiguous", and names them.
func (ks *Knowledge) Find(ctx context.Context, prefix string) (*core.Knowledge, error) {
	return find(ctx, ks.base, prefix, lookup[core.Knowledge]{
		record.KnowledgePrefix, "knowledge_not_found", knowledge.Read,
	})
}

// Promotion returns how a memory became knowledge. If it wasn't promoted, the error is
// sdk.NotFound, reason "promotion_not_found".
func (ks *Knowledge) Promotion(ctx context.Context, memoryID string) (p *Promotion, err error) {
	err = ks.records.View(ctx, func(r core.Reader) error {
		p, err = knowledge.ReadPromotion(r, memoryID)
		return err
	})
	if err == nil && p == nil {
		err = sdk.Errorf(sdk.NotFound, "promotion_not_found", "memory %q wasn't promoted", bounds.Shorten(memoryID)).
			WithHint("see why it is in its state").WithAction("memory explain", "id", bounds.Shorten(memoryID))
	}
	return p, err
}

// List returns entries, the newest first, and where the next page begins; "" if
// there is none.
func (ks *Knowledge) List(ctx context.Context, f KnowledgeFilter) (list []*core.Knowledge, next string, err error) {
	return knowledge.List(ctx, ks.records, f)
}

// Supersede marks an entry as replaced by another entry of its namespace. Only the
// pointer of the old entry changes. The error is sdk.Conflict, reason "superseded", if
// the entry has already been replaced by a third entry, or if the newer entry has been
// replaced itself. Repeating the same call changes nothing.
func (ks *Knowledge) Supersede(ctx context.Context, id, by string) error {
	return knowledge.Supersede(ctx, ks.records, id, by)
}

// Recall returns the entries that match a query best, the best first, without
// superseded ones. Nothing is recorded: the use of knowledge isn't counted.
func (ks *Knowledge) Recall(ctx context.Context, r *KnowledgeQuery) (list []RecalledKnowledge, err error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	defer ks.follow(&ctx, work.Work{Kind: work.Search, Name: "recall_knowledge", Namespace: r.Namespace, Query: r.Query}, &err)()
	q := r.Search()
	widths(&q, 0, r.Limit)
	if _, err = ks.embedQuery(ctx, &q); err == nil {
		list, err = knowledge.Recall(ctx, ks.records, ks.knowledge, &q)
	}
	if err != nil {
		return nil, sdk.Wrap("recall knowledge in "+r.Namespace, err)
	}
	return list, nil
}
