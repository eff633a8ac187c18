package memory

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/sdk"
)

// Background work needs two things from the memories that other callers don't need: reading
// many memories, and writing only while it has its job's lease.

// On returns the memories with another form of their store, such as a store that refuses a
// worker that lost its job. It shares the indices of m, so it needn't be closed.
func (m *Memories) On(s core.Store) *Memories {
	on := *m.base
	on.options.Store = s
	records := *m.records
	records.Writer.Store = s
	on.records = &records
	turns := *m.turns
	turns.Records = &records
	on.turns = &turns
	return on.memories(m.Dreams.dreaming)
}

// Each calls fn for each memory of a namespace, the newest first, until fn returns false.
// Memories older than since are left out; a zero since leaves out none.
func (m *Memories) Each(ctx context.Context, namespace string, since time.Time, fn func(*core.Memory) (more bool)) error {
	if err := core.CheckNamespace(namespace); err != nil {
		return err
	}
	err := m.records.View(ctx, func(r core.Reader) error {
		start := record.IndexStart(record.TimePrefix, namespace, "")
		return core.ScanPrefix(r, start, func(key, _ []byte) (bool, error) {
			place := key[len(start):]
			if len(place) < 8 {
				return true, nil // the check reports it
			}
			if created := int64(^binary.BigEndian.Uint64(place)); !since.IsZero() && created < since.UnixNano() {
				return false, nil
			}
			memory, err := readIndexed(r, record.PlaceID(place), key)
			if err != nil {
				return false, err
			}
			return fn(memory), ctx.Err()
		})
	})
	return sdk.Wrap("read the memories of "+namespace, err)
}

// RecallAmong recalls only from the memories with these ids, or from all if ids is nil. It
// belongs to no turn.
func (m *Memories) RecallAmong(ctx context.Context, r *core.RecallRequest, ids []string) (*core.RecallResult, error) {
	if r.Session != "" {
		return nil, sdk.Errorf(sdk.Invalid, "memory_invalid", "session: a recall among given memories is part of no turn").
			WithDetail("field", "session")
	}
	if err := CheckRecall(r); err != nil {
		return nil, err
	}
	var among map[string]bool
	if ids != nil {
		among = make(map[string]bool, len(ids))
	}
	for _, id := range ids {
		among[id] = true
	}
	result, err := m.recall(ctx, r, among)
	return result, sdk.Wrap("recall in "+r.Namespace, err)
}

// Reflected returns the result of an earlier request with the same idempotency key,
// namespace and agent; nil if there was none.
func (m *Memories) Reflected(ctx context.Context, q *core.ReflectRequest) (result *core.ReflectResult, err error) {
	err = m.records.View(ctx, func(r core.Reader) error {
		result, err = record.ReadOutcome(r, q)
		return err
	})
	return result, err
}

// Sources are the memories with these ids that exist and can be recalled, in the given
// order.
func (m *Memories) Sources(ctx context.Context, ids []string) (list []*core.Memory, err error) {
	err = m.records.View(ctx, func(r core.Reader) error {
		list = nil
		for _, id := range ids {
			memory, err := record.Read(r, id)
			switch {
			case record.IsGone(err):
				continue
			case err != nil:
				return err
			case memory.State.Recallable():
				list = append(list, memory)
			}
		}
		return nil
	})
	return list, err
}
