package check

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/internal/record"
)

// Rebuild writes everything that is [Derived] again, from the records and links.
func Rebuild(ctx context.Context, s core.Store) error {
	for _, prefix := range secondary() {
		if err := sweepStrays(ctx, s, index{prefix, strayIndex}); err != nil {
			return err
		}
	}
	for _, index := range others() {
		if err := sweepStrays(ctx, s, index); err != nil {
			return err
		}
	}
	if err := rebuildIndices(ctx, s); err != nil {
		return err
	}
	for _, of := range []struct {
		records string
		restore func(tx core.Tx, key string) error
	}{
		{record.LinkPrefix, restoreEnd}, {record.PendingPrefix, restorePending}, {record.DecisionPrefix, restoreDecision}, {record.KnowledgePrefix, restoreKnowledge},
		{record.DreamPrefix, restoreDream},
	} {
		if err := core.UpdateEach(ctx, s, of.records, of.restore); err != nil {
			return err
		}
	}
	if err := restoreCounts(ctx, s); err != nil {
		return err
	}
	// A sum that is missing is made again when it is needed.
	return core.UpdateEach(ctx, s, record.SumPrefix, func(tx core.Tx, key string) error { return tx.Delete([]byte(key)) })
}

// sweepStrays deletes the stray entries of an index.
func sweepStrays(ctx context.Context, s core.Store, in index) error {
	return core.UpdateEach(ctx, s, in.prefix, func(tx core.Tx, key string) error {
		gone, err := in.stray(tx, key)
		if err != nil || !gone {
			return err
		}
		return tx.Delete([]byte(key))
	})
}

// restore writes a key, unless it already has that value.
func restore(tx core.Tx, key, value []byte) error {
	there, found, err := tx.Get(key)
	if err != nil || found && string(there) == string(value) {
		return err
	}
	return tx.Put(key, value)
}

// rebuildIndices writes the missing index entries of all memories. If the indices are
// completely empty, as after an import, it doesn't look up each entry first, which would
// take most of the time.
func rebuildIndices(ctx context.Context, s core.Store) error {
	write := restore
	none, err := holdsNone(ctx, s, secondary())
	if err != nil {
		return err
	}
	if none {
		write = core.Tx.Put
	}
	return core.UpdateEach(ctx, s, record.MemoryPrefix, func(tx core.Tx, key string) error { return restoreIndices(tx, key, write) })
}

// holdsNone reports whether the store has no key with any of the prefixes.
func holdsNone(ctx context.Context, s core.Store, prefixes []string) (none bool, err error) {
	err = s.View(ctx, func(r core.Reader) error {
		for _, prefix := range prefixes {
			first, err := core.Suffixes(r, []byte(prefix), 1)
			if none = len(first) == 0; !none || err != nil {
				return err
			}
		}
		return nil
	})
	return none, err
}

// restoreIndices calls write for the index entries of a memory. It skips a record that
// can't be decoded, which the check reports.
func restoreIndices(tx core.Tx, key string, write func(tx core.Tx, key, value []byte) error) error {
	m, err := record.Read(tx, key[len(record.MemoryPrefix):])
	if record.IsDamage(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for i, index := range record.IndexKeys(m) {
		var value []byte
		if i == 0 {
			value = record.SizeValue(m)
		}
		if err := write(tx, index, value); err != nil {
			return err
		}
	}
	return nil
}

// restoreEnd writes the index entry for the memory at which a link ends. key is the
// link's.
func restoreEnd(tx core.Tx, key string) error {
	from, relation, to, ok := record.SplitLink(key)
	if !ok {
		return nil
	}
	return restore(tx, record.LinkToKey(to, relation, from), nil)
}

func restorePending(tx core.Tx, key string) error {
	p, err := record.ReadPending(tx, key[len(record.PendingPrefix):])
	if record.IsDamage(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, index := range record.PendingKeys(p) {
		if err := restore(tx, index, nil); err != nil {
			return err
		}
	}
	return nil
}

// restoreCounts counts each namespace again, in its own transaction.
func restoreCounts(ctx context.Context, s core.Store) error {
	for namespace := ""; ; {
		var next string
		err := s.Update(ctx, func(tx core.Tx) (err error) {
			if next, err = nextCounted(tx, namespace); err != nil || next == "" {
				return err
			}
			found, err := countIndex(ctx, tx, next)
			if err != nil {
				return err
			}
			return record.PutTally(tx, next, &found)
		})
		if err != nil || next == "" {
			return err
		}
		namespace = next
	}
}
