package store

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/reflectory/reflectory/core"
)

// rebuildStep is how many keys one transaction of a rebuild looks at.
const rebuildStep = 1000

// Derived implements [core.Rebuilder]: the index by time.
func (RunChecker) Derived() []string { return []string{timePrefix} }

// Rebuild implements [core.Rebuilder].
func (RunChecker) Rebuild(ctx context.Context, s core.Store) error {
	if err := inSteps(ctx, s, timePrefix, dropStray); err != nil {
		return err
	}
	return inSteps(ctx, s, runPrefix, putIndex)
}

// dropStray deletes a key of the index that fits no run.
func dropStray(tx core.Tx, key []byte) error {
	started, found, err := startOf(tx, timeID(key))
	if err != nil || found && bytes.Equal(key, started) {
		return err
	}
	return tx.Delete(key)
}

// putIndex writes the key of a run's index.
func putIndex(tx core.Tx, key []byte) error {
	started, found, err := startOf(tx, string(key[len(runPrefix):]))
	if err != nil || !found {
		return err
	}
	if _, there, err := tx.Get(started); err != nil || there {
		return err
	}
	return tx.Put(started, nil)
}

// startOf is the key of a run's index. A run that can't be read has none.
func startOf(r core.Reader, id string) (key []byte, found bool, err error) {
	if !validID(id) {
		return nil, false, nil
	}
	value, found, err := r.Get(runKey(id))
	if err != nil || !found {
		return nil, false, err
	}
	var record runRecord
	if json.Unmarshal(value, &record) != nil {
		return nil, false, nil
	}
	return timeKey(record.StartedAt, id), true, nil
}

// inSteps calls fn for each key with a prefix, a limited number of them in one
// transaction.
func inSteps(ctx context.Context, s core.Store, prefix string, fn func(tx core.Tx, key []byte) error) error {
	from := []byte(prefix)
	for from != nil {
		var next []byte
		err := s.Update(ctx, func(tx core.Tx) error {
			n := 0
			next = nil
			return tx.Scan(from, prefixEnd([]byte(prefix)), func(key, _ []byte) (bool, error) {
				if n++; n > rebuildStep {
					next = bytes.Clone(key)
					return false, nil
				}
				return true, fn(tx, bytes.Clone(key))
			})
		})
		if err != nil {
			return err
		}
		from = next
	}
	return nil
}
