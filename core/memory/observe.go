package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/memory/lifecycle"
	"github.com/reflectory/reflectory/core/memory/turn"
	"github.com/reflectory/reflectory/core/work"
	"github.com/reflectory/reflectory/sdk"
)

// MaxBatch is how many memories [Memories.ObserveAll] takes at once.
const MaxBatch = 1000

// Observe stores a new memory of depth 0, open. An id that was ever used is sdk.Conflict,
// reason "id_taken"; a namespace at its limits is sdk.Denied, "namespace_full". A request
// with the idempotency key of an earlier request returns that request's memory in its
// present form. All problems of the request are reported together.
func (m *Memories) Observe(ctx context.Context, r *core.ObserveRequest) (memory *core.Memory, err error) {
	defer m.follow(&ctx, work.Work{Kind: work.Update, Name: "observe", Namespace: r.Namespace}, &err)()
	var p bounds.Problems
	r = ownObserve(ctx, r)
	memory = observed(&p, r, m.options.Clock.Now())
	if err := p.Err(); err != nil {
		return nil, err
	}
	stored, _, err := m.observe(ctx, []*core.Memory{memory}, []*core.ObserveRequest{r})
	if err != nil {
		return nil, sdk.Wrap("observe", err)
	}
	return stored[0], nil
}

// ObserveTx is Observe within another part's transaction, such as the one in which a job
// ends and leaves a notification. The memory has no embedding, since making one takes longer
// than a transaction may.
func (m *Memories) ObserveTx(tx *journal.Tx, r *core.ObserveRequest) error {
	var p bounds.Problems
	memory := observed(&p, r, tx.Now())
	if err := p.Err(); err != nil {
		return err
	}
	if memory.ID == "" {
		memory.ID = m.options.IDs.NewID()
	}
	return sdk.Wrap("observe", m.records.Within(tx, func(t *record.Tx) error {
		in, err := m.space(t, memory.Namespace)
		if err != nil {
			return err
		}
		_, err = observeOnce(t, in, memory, &embedding{}, r)
		return err
	}))
}

// ObserveAll stores up to [MaxBatch] new memories in one transaction: all of them or
// none. It is for imports. repeated counts the requests whose idempotency key was used
// before, so that their memory was already stored.
func (m *Memories) ObserveAll(ctx context.Context, requests []*core.ObserveRequest) (stored []*core.Memory, repeated int, err error) {
	defer m.follow(&ctx, work.Work{Kind: work.Update, Name: "observe"}, &err)()
	if len(requests) == 0 {
		return nil, 0, nil
	}
	owned := make([]*core.ObserveRequest, len(requests))
	for i, r := range requests {
		owned[i] = ownObserve(ctx, r)
	}
	memories, err := observedAll(owned, m.options.Clock.Now())
	if err != nil {
		return nil, 0, err
	}
	stored, repeated, err = m.observe(ctx, memories, owned)
	if err != nil {
		return nil, 0, sdk.Wrap(fmt.Sprintf("observe %d memories", len(memories)), err)
	}
	return stored, repeated, nil
}

// ownObserve is the request with the caller as its agent, if it names none.
func ownObserve(ctx context.Context, r *core.ObserveRequest) *core.ObserveRequest {
	if r == nil {
		return nil
	}
	own := *r
	own.AgentID = cmp.Or(r.AgentID, core.CallerOf(ctx).Label)
	return &own
}

// CheckObserve reports everything that is wrong with a request by itself, such as an occurred_at
// after now. [Memories.Observe] finds conflicts with stored data.
func CheckObserve(r *core.ObserveRequest, now time.Time) error {
	var p bounds.Problems
	observed(&p, r, now)
	return p.Err()
}

// CheckObserveAll is CheckObserve for the requests of [Memories.ObserveAll].
func CheckObserveAll(requests []*core.ObserveRequest, now time.Time) error {
	_, err := observedAll(requests, now)
	return err
}

// observedAll is observed for a batch.
func observedAll(requests []*core.ObserveRequest, now time.Time) ([]*core.Memory, error) {
	if len(requests) > MaxBatch {
		return nil, sdk.Errorf(sdk.Invalid, "batch_invalid", "%d memories at once (limit %d)", len(requests), MaxBatch).
			WithHint("store them in several batches").WithDetail("field", "items")
	}
	var p bounds.Problems
	memories := make([]*core.Memory, len(requests))
	for i, r := range requests {
		if p.Of = fmt.Sprintf("items[%d].", i); r != nil {
			memories[i] = observed(&p, r, now)
			continue
		}
		p.Of = ""
		p.Add(fmt.Sprintf("items[%d]", i), "is null")
	}
	return memories, p.Err()
}

// observed checks a request and makes its memory, which has no id yet if the request
// gives none.
func observed(p *bounds.Problems, r *core.ObserveRequest, now time.Time) *core.Memory {
	if r.ID != "" {
		p.ID("id", r.ID)
	}
	p.Check(core.CheckNamespace(r.Namespace))
	kind := cmp.Or(r.Kind, core.KindObservation)
	checkObservedKind(p, kind)
	p.Content(r.Content)
	title := r.Title
	if title == "" {
		title = bounds.DerivedTitle(r.Content)
	} else {
		p.Title(title)
	}
	memory := described(p, &r.Attributes, now)
	memory.ID, memory.Namespace, memory.Kind, memory.Title, memory.Content = r.ID, r.Namespace, kind, title, r.Content
	p.Word("idempotency_key", r.IdempotencyKey)
	p.Over("supersedes", len(r.Supersedes), core.MaxRelated, "ids")
	for _, id := range r.Supersedes {
		p.ID("supersedes", id)
	}
	return memory
}

// checkObservedKind refuses kinds that can't be observed. A reflection is only made from
// its sources, so that nothing bypasses the depth limit.
func checkObservedKind(p *bounds.Problems, kind core.MemoryKind) {
	switch kind {
	case core.KindObservation, core.KindSemantic, core.KindProcedural, core.KindNotification:
	case core.KindReflection:
		p.Add("kind", "is reflection, which needs sources; make it with reflect")
	default:
		p.Add("kind", "is %q, not observation, semantic, procedural or notification", bounds.Shorten(string(kind)))
	}
}

// observe writes new memories in one transaction. It returns the stored memories,
// including those of repeated requests.
func (m *Memories) observe(ctx context.Context, memories []*core.Memory, requests []*core.ObserveRequest) (stored []*core.Memory, repeated int, err error) {
	for _, memory := range memories {
		if memory.ID == "" {
			memory.ID = m.options.IDs.NewID()
		}
	}
	embeddings, err := m.embed(ctx, memories)
	if err != nil {
		return nil, 0, err
	}
	stored = make([]*core.Memory, len(memories))
	err = m.records.Update(ctx, func(t *record.Tx) error {
		repeated = 0
		spaces := map[string]*space{}
		for i, memory := range memories {
			in := spaces[memory.Namespace]
			if in == nil {
				var err error
				if in, err = m.space(t, memory.Namespace); err != nil {
					return err
				}
				spaces[memory.Namespace] = in
			}
			if stored[i], err = observeOnce(t, in, memory, &embeddings[i], requests[i]); err != nil {
				return err
			}
			if stored[i] != memory {
				repeated++
				continue
			}
			in.observed = append(in.observed, memory)
			for _, id := range requests[i].Supersedes {
				if err := m.link(t, &core.Link{From: memory.ID, Relation: core.RelationSupersedes, To: id, CreatedAt: t.Now().Round(0)}); err != nil {
					return err
				}
			}
		}
		return m.tellObserved(ctx, t, spaces)
	})
	return stored, repeated, err
}

// tellObserved reports new memories to [Options.Observed], namespace by namespace.
func (m *Memories) tellObserved(ctx context.Context, t *record.Tx, spaces map[string]*space) error {
	if m.options.Observed == nil {
		return nil
	}
	for _, namespace := range slices.Sorted(maps.Keys(spaces)) {
		in := spaces[namespace]
		if len(in.observed) == 0 {
			continue
		}
		if err := m.options.Observed.Observed(ctx, t.Tx, in.governance, in.observed); err != nil {
			return err
		}
	}
	return nil
}

// observeOnce writes a new memory, unless its request was made before.
func observeOnce(t *record.Tx, in *space, memory *core.Memory, e *embedding, r *core.ObserveRequest) (*core.Memory, error) {
	if earlier, err := record.ReadObserved(t, r); earlier != nil || err != nil {
		return earlier, err
	}
	if r.ID != "" {
		memory.ID = record.ScopedID(t.Caller(), memory.Namespace, r.ID)
		taken, err := record.Chosen(t, t.Caller(), r.ID)
		if err == nil && len(taken) > 0 && (memory.ID != r.ID || taken[0] == r.ID) {
			err = idTaken(r.ID)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := create(t, in, memory, e); err != nil {
		return nil, err
	}
	if err := record.WriteObserved(t, r, memory); err != nil {
		return nil, err
	}
	return memory, t.Record(memory.Namespace, observedEvent(memory, e), memory.ID)
}

// space has the facts about a namespace that are needed to write a memory in it.
type space struct {
	governance *core.Governance
	turn       int64
	// observed are the memories that a transaction stored in the namespace.
	observed []*core.Memory
}

func (m *Memories) space(r core.Reader, namespace string) (*space, error) {
	g, err := m.records.Governance(r, namespace)
	if err != nil {
		return nil, err
	}
	turn, err := turn.Counter(r, namespace)
	return &space{governance: g, turn: turn}, err
}

func observedEvent(memory *core.Memory, e *embedding) journal.MemoryObserved {
	return journal.MemoryObserved{
		MemoryID: memory.ID, AgentID: memory.AgentID, Kind: memory.Kind,
		Title: record.Keyed(memory.Salt, memory.Title), Content: record.Keyed(memory.Salt, memory.Content), Turn: memory.CreatedTurn,
		Importance: memory.Importance, OccurredAt: memory.OccurredAt,
		EmbeddingModel: e.model, EmbeddingFailure: e.failure,
	}
}

// create writes a new memory, if its namespace has room for it. The caller writes the
// event.
func create(t *record.Tx, in *space, memory *core.Memory, e *embedding) error {
	if err := checkFree(t, memory.ID); err != nil {
		return err
	}
	if err := checkRoom(t, in.governance, memory); err != nil {
		return err
	}
	memory.CreatedTurn, memory.EmbeddingModel = in.turn, e.model
	memory.Signals.Window = lifecycle.Written(t.Caller().Subject)
	if memory.OccurredAt != nil {
		var err error
		if memory.OccurredTurn, err = turnAt(t, memory.Namespace, *memory.OccurredAt); err != nil {
			return err
		}
	}
	if err := record.Put(t, nil, memory); err != nil || e.model == "" {
		return err
	}
	return record.PutVector(t, memory, e.vector)
}

// turnAt estimates the turn of a namespace at a given time: the turn in which the newest
// of the memories that existed at that time was written; 0 if there is none.
func turnAt(r core.Reader, namespace string, at time.Time) (turn int64, err error) {
	if at.Before(time.Unix(0, 0)) {
		return 0, nil // the index can't be searched from a later time
	}
	start := record.IndexStart(record.TimePrefix, namespace, "")
	err = r.Scan(append(slices.Clone(start), record.Place(at, "")...), core.PrefixEnd(start), func(key, _ []byte) (bool, error) {
		m, err := readIndexed(r, record.PlaceID(key[len(start):]), key)
		if err == nil {
			turn = m.CreatedTurn
		}
		return false, err
	})
	return turn, err
}

// checkFree refuses an id that a memory already has.
func checkFree(r core.Reader, id string) error {
	_, taken, err := r.Get(record.MemoryKey(id))
	if err == nil && taken {
		err = idTaken(id)
	}
	return err
}

func idTaken(id string) error {
	return sdk.Errorf(sdk.Conflict, "id_taken", "there is or was a memory %s", id).
		WithHint("leave the id out to have one generated").WithDetail("memory_id", id)
}
