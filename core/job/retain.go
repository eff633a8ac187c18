package job

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/sdk"
)

// retainBatch is how many jobs one transaction removes.
const retainBatch = 100

// Retain removes old ended jobs: jobs that ended longer ago than Options.Keep, and, for
// each user, all except the newest Options.KeepPerUser. No job is removed within
// Options.KeepAtLeast of its end. The events of removed jobs stay. It returns how many were
// removed.
func (r *Repository) Retain(ctx context.Context) (removed int, err error) {
	n, err := r.retainByAge(ctx)
	if err != nil {
		return n, sdk.Wrap("remove old jobs", err)
	}
	over, err := r.overfull(ctx)
	if err != nil {
		return n, sdk.Wrap("remove old jobs", err)
	}
	for _, user := range over {
		more, err := r.retainOf(ctx, user)
		if n += more; err != nil {
			return n, sdk.Wrap("remove old jobs of "+user, err)
		}
	}
	return n, nil
}

// retainByAge removes jobs that ended too long ago.
func (r *Repository) retainByAge(ctx context.Context) (removed int, err error) {
	keep := max(r.options.Keep, r.options.KeepAtLeast)
	for {
		batch := 0
		err := r.update(ctx, func(c *change, _ *journal.Tx) error {
			ids, err := endedBefore(c, c.now.Add(-keep))
			batch = len(ids)
			if err != nil {
				return err
			}
			return c.removeAll(ids)
		})
		if removed += batch; err != nil || batch < retainBatch {
			return removed, err
		}
	}
}

// endedBefore are the first jobs that ended before a time.
func endedBefore(r core.Reader, before time.Time) (ids []string, err error) {
	if before.Before(time.Unix(0, 0)) {
		return nil, nil // nothing ended then
	}
	err = r.Scan([]byte(endPrefix), endKey(before, ""), func(key, _ []byte) (bool, error) {
		ids = append(ids, afterNumber(key, endPrefix))
		return len(ids) < retainBatch, nil
	})
	return ids, err
}

// overfull are the users with more ended jobs than are kept.
func (r *Repository) overfull(ctx context.Context) (users []string, err error) {
	err = r.view(ctx, func(reader core.Reader) error {
		users = nil
		return core.ScanPrefix(reader, []byte(finishedPrefix), func(key, _ []byte) (bool, error) {
			n, err := readNumber(reader, bytes.Clone(key))
			if err == nil && n > uint64(r.options.KeepPerUser) {
				users = append(users, string(key[len(finishedPrefix):]))
			}
			return true, err
		})
	})
	return users, err
}

// retainOf removes the oldest ended jobs of a user that has too many.
func (r *Repository) retainOf(ctx context.Context, user string) (removed int, err error) {
	var ids []string
	err = r.view(ctx, func(reader core.Reader) error {
		ids = nil
		start, ended := userPrefix+user+"/", 0
		before := r.clock.Now().Add(-r.options.KeepAtLeast)
		return core.ScanPrefix(reader, []byte(start), func(key, _ []byte) (bool, error) {
			rec, err := records.Named(reader, bytes.Clone(key), afterNumber(key, start))
			if err != nil || !rec.Status.Terminal() {
				return err == nil, err
			}
			if ended++; ended > r.options.KeepPerUser && rec.CompletedAt.Before(before) {
				ids = append(ids, rec.ID)
			}
			return true, ctx.Err()
		})
	})
	for len(ids) > 0 && err == nil {
		batch := ids[:min(len(ids), retainBatch)]
		if err = r.update(ctx, func(c *change, _ *journal.Tx) error { return c.removeAll(batch) }); err == nil {
			removed += len(batch)
			ids = ids[len(batch):]
		}
	}
	return removed, err
}

// removeAll removes jobs that have ended. A job that is already gone is left out.
func (c *change) removeAll(ids []string) error {
	for _, id := range ids {
		rec, err := find(c, id)
		if err != nil {
			return err
		}
		if rec == nil || !rec.Status.Terminal() {
			continue
		}
		if err := c.remove(rec); err != nil {
			return err
		}
	}
	return nil
}

// remove removes an ended job with all its records.
func (c *change) remove(rec *record) error {
	err := records.Delete(c, rec.ID)
	for _, key := range [][]byte{contentKey(rec.ID), resultKey(rec.ID)} {
		if err == nil {
			err = c.Delete(key)
		}
	}
	if err != nil {
		return err
	}
	left, err := readNumber(c, finishedKey(rec.UserID))
	if err != nil {
		return err
	}
	if left > 1 {
		return putNumber(c, finishedKey(rec.UserID), left-1)
	}
	return c.forgetUser(rec)
}

// forgetUser removes the records of a user without ended jobs: the count and, if no job
// waits either, the number of the queue's last start.
func (c *change) forgetUser(rec *record) error {
	if err := c.Delete(finishedKey(rec.UserID)); err != nil {
		return err
	}
	left, err := core.Suffixes(c, []byte(userPrefix+rec.UserID+"/"), 1)
	if err != nil || len(left) > 0 || rec.UserID == SystemUser {
		return err
	}
	if err := c.Delete(forcedKey(rec.UserID)); err != nil {
		return err
	}
	return c.Delete(servedKey(rec.UserID))
}

// RemoveEnded removes the ended jobs of namespaces, whatever their age. Their events stay.
func (r *Repository) RemoveEnded(ctx context.Context, of func(namespace string) bool) error {
	var ids []string
	err := r.view(ctx, func(reader core.Reader) error {
		ids = nil
		return core.ScanPrefix(reader, []byte(jobPrefix), func(key, _ []byte) (bool, error) {
			rec, err := find(reader, string(key[len(jobPrefix):]))
			if err == nil && rec != nil && rec.Status.Terminal() && of(rec.Namespace) {
				ids = append(ids, rec.ID)
			}
			return err == nil, cmp.Or(err, ctx.Err())
		})
	})
	for batch := range slices.Chunk(ids, retainBatch) {
		if err == nil {
			err = r.update(ctx, func(c *change, _ *journal.Tx) error { return c.removeAll(batch) })
		}
	}
	return sdk.Wrap("remove ended jobs", err)
}
