package job

import (
	"context"
	"slices"

	"github.com/reflectory/reflectory/core"
)

// Derived implements [core.Rebuilder]: the indices, the queues and the counts.
func (Checker) Derived() []string { return append(summed(), derived()...) }

// Rebuild implements [core.Rebuilder]. Keys that depend on several jobs are made first,
// since the queue decides which of its jobs runs next. A job that can't be read is left out.
func (Checker) Rebuild(ctx context.Context, s core.Store) error {
	for _, prefix := range summed() {
		if err := core.UpdateEach(ctx, s, prefix, dropSum); err != nil {
			return err
		}
	}
	if err := core.UpdateEach(ctx, s, jobPrefix, addToSums); err != nil {
		return err
	}
	for _, prefix := range derived() {
		err := core.UpdateEach(ctx, s, prefix, func(tx core.Tx, key string) error { return dropStray(tx, prefix, []byte(key)) })
		if err != nil {
			return err
		}
	}
	if err := core.UpdateEach(ctx, s, servedPrefix, raiseServed); err != nil {
		return err
	}
	return core.UpdateEach(ctx, s, jobPrefix, putIndices)
}

// dropSum deletes a key that is made again. The record of whether jobs are divided stays.
func dropSum(tx core.Tx, key string) error {
	if key == string(dividedKey()) {
		if _, err := divided(tx); !isCorrupt(err) {
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

// readable is the job at a key; nil if it can't be read.
func readable(r core.Reader, key string) (*record, error) {
	rec, err := find(r, key[len(jobPrefix):])
	if isCorrupt(err) {
		return nil, nil
	}
	return rec, err
}

// addToSums counts a job, and puts it into its queue.
func addToSums(tx core.Tx, key string) error {
	rec, err := readable(tx, key)
	if err != nil || rec == nil {
		return err
	}
	c := &change{Tx: tx}
	if err := c.count(nil, rec); err != nil {
		return err
	}
	s, err := shardOf(tx, &rec.Job)
	if err != nil {
		return err
	}
	if err := raise(tx, shard.numberKey, s, rec.Number); err != nil {
		return err
	}
	name := queueOf(&rec.Job)
	if name == "" || rec.Status.Terminal() {
		return nil
	}
	q, err := readQueue(tx, name)
	if err != nil {
		return err
	}
	if rec.Status == StatusRunning {
		q.Running = rec.ID
		return putQueue(tx, name, &q)
	}
	at := 0
	for ; at < len(q.Jobs); at++ {
		other, err := named(tx, queueKey(name), q.Jobs[at])
		if err != nil {
			return err
		}
		if other.Number > rec.Number {
			break
		}
	}
	q.Jobs = slices.Insert(q.Jobs, at, rec.ID)
	return putQueue(tx, name, &q)
}

// dropStray deletes a key of an index that follows from no job.
func dropStray(tx core.Tx, prefix string, key []byte) error {
	value, found, err := tx.Get(key)
	if err != nil || !found {
		return err
	}
	fits, err := follows(tx, prefix, key, value)
	if isCorrupt(err) {
		return nil // it stays, together with the record that it may belong to
	}
	if err != nil || fits {
		return err
	}
	return tx.Delete(key)
}

// putIndices writes the keys of a job's indices.
func putIndices(tx core.Tx, key string) error {
	rec, err := readable(tx, key)
	if err != nil || rec == nil {
		return err
	}
	want, err := expected(tx, rec)
	if isCorrupt(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range want {
		if err := tx.Put(e.key, e.value); err != nil {
			return err
		}
	}
	goes, err := goesNext(tx, rec)
	if err != nil || !goes {
		return err
	}
	at, err := next(tx, rec)
	if err != nil {
		return err
	}
	return move(tx, spot{}, at)
}
