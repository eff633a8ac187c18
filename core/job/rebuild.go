package job

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/table"
)

// Rebuild implements [core.Rebuilder]. The queue decides which of its jobs runs next, so the places
// of jobs come last. A job that can't be read is left out.
func (Checker) Rebuild(ctx context.Context, s core.Store) error {
	if err := records.Rebuild(ctx, s); err != nil {
		return err
	}
	for _, prefix := range placed() {
		if err := core.UpdateEach(ctx, s, prefix, dropPlace); err != nil {
			return err
		}
	}
	if err := core.UpdateEach(ctx, s, servedPrefix, raiseServed); err != nil {
		return err
	}
	return records.UpdateEach(ctx, s, func(tx core.Tx, _ string, rec *record) error {
		of, err := shardOf(tx, &rec.Job)
		if err == nil {
			err = raise(tx, shard.numberKey, of, rec.Number)
		}
		if err != nil {
			return err
		}
		return (&change{Tx: tx}).place(rec)
	})
}

// dropPlace deletes a key that is made again. The record of whether jobs are divided stays.
func dropPlace(tx core.Tx, key string) error {
	if key == string(dividedKey()) {
		if _, err := divided(tx); !table.Corrupt(err) {
			return err
		}
	}
	return tx.Delete([]byte(key))
}

// raise makes sure that a counter of a shard isn't below a number. The counter continues
// from the counter that was used before jobs were divided.
func raise(tx core.Tx, counter func(shard) []byte, s shard, to uint64) error {
	for _, of := range []shard{"", s} {
		n, err := readNumber(tx, counter(of))
		if err != nil || n >= to {
			return err
		}
	}
	return putNumber(tx, counter(s), to)
}

// raiseServed makes sure that every queue's last start has a lower number than the next
// start will get. An import from a store whose jobs were divided differently may have higher
// numbers.
func raiseServed(tx core.Tx, key string) error {
	served, err := readNumber(tx, []byte(key))
	if err != nil {
		return err
	}
	s, err := shardIn(tx, key[len(servedPrefix):])
	if err != nil {
		return err
	}
	return raise(tx, shard.servedKey, s, served)
}
