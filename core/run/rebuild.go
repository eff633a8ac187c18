package run

import (
	"context"
	"encoding/json"

	"github.com/reflectory/reflectory/core"
)

// Derived implements [core.Rebuilder]: the index by time, the counts by hour, and the
// records of which host runs which run, which no other store needs.
func (Checker) Derived() []string { return []string{timePrefix, hostPrefix, hourPrefix} }

// Rebuild implements [core.Rebuilder].
func (part Checker) Rebuild(ctx context.Context, s core.Store) error {
	if err := core.UpdateEach(ctx, s, timePrefix, dropStray); err != nil {
		return err
	}
	if err := core.UpdateEach(ctx, s, hostPrefix, dropStrayHost); err != nil {
		return err
	}
	if err := core.UpdateEach(ctx, s, runPrefix, putIndex); err != nil {
		return err
	}
	return rebuildHours(ctx, s, part.Turns)
}

// dropStrayHost deletes a key of a host's run that doesn't agree with the run. No host then
// takes the run over without being asked.
func dropStrayHost(tx core.Tx, key string) error {
	agrees, err := heldAgrees(tx, []byte(key))
	if err != nil || agrees {
		return err
	}
	return tx.Delete([]byte(key))
}

// dropStray deletes a key of the index that matches no run.
func dropStray(tx core.Tx, key string) error {
	started, found, err := startOf(tx, timeID([]byte(key)))
	if err != nil || found && key == string(started) {
		return err
	}
	return tx.Delete([]byte(key))
}

// putIndex writes the key of a run in the index.
func putIndex(tx core.Tx, key string) error {
	started, found, err := startOf(tx, key[len(runPrefix):])
	if err != nil || !found {
		return err
	}
	if _, there, err := tx.Get(started); err != nil || there {
		return err
	}
	return tx.Put(started, nil)
}

// startOf is the key of a run in the index. A run that can't be read has none.
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
