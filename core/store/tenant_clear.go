package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
)

// At its end, a move deletes what one of its two databases has of the tenant: the original, or the
// copy of a move that is given up. Both are done again after a crash, so what is deleted is found
// by what is left.

// finish deletes what the move leaves behind, and ends the move. The record in the other database is
// the last one before the main one: if it says that the move is over, nothing is left to delete.
func (m *TenantMover) finish(ctx context.Context, rec tenantRecord) error {
	done := tenantRecord{Database: rec.Database, Epoch: rec.Epoch}
	over := false
	err := m.store(rec.Other).View(ctx, func(r core.Reader) error {
		there, _, err := readTenant(r, m.Tenant)
		over = there == done
		return err
	})
	if err == nil && !over {
		err = m.clear(ctx, rec)
	}
	for _, database := range []string{rec.Database, rec.Other} {
		if err == nil && database != m.Main {
			err = m.advance(ctx, database, done)
		}
	}
	if err == nil {
		err = m.follow(ctx, rec, done)
	}
	m.moved.Moved, m.moved.GivenUp = rec.State == tenantSwitched, rec.State == tenantAbandoned
	return err
}

// clear deletes what the move leaves in the other database.
func (m *TenantMover) clear(ctx context.Context, rec tenantRecord) error {
	for _, database := range []string{rec.Database, rec.Other} {
		if err := m.advance(ctx, database, rec); err != nil {
			return err
		}
	}
	if rec.State == tenantSwitched {
		if err := m.Databases[rec.Other].RemoveJobs(ctx, m.Tenant); err != nil {
			return err
		}
	}
	gone, err := m.left(ctx, rec)
	if err == nil {
		err = m.delete(ctx, rec, gone)
	}
	if err == nil {
		err = m.scrub(ctx, rec.Other)
	}
	return err
}

// left is what has to be deleted: everything of a tenant that has been moved, or what was copied
// of one that stays. Not even the ids of a partial copy say what belongs to it, so it is compared with
// the original. The roots are copied first: before all are there, there is nothing else.
func (m *TenantMover) left(ctx context.Context, rec tenantRecord) (*tenantKeys, error) {
	there, err := m.keys(ctx, rec.Other)
	if err != nil || rec.State == tenantSwitched {
		return there, err
	}
	from, err := m.keys(ctx, rec.Database)
	if err != nil {
		return nil, err
	}
	gone := &tenantKeys{expiring: from.expiring, foreign: there.foreign, marks: there.marks}
	whole := true
	err = m.each(ctx, rec.Database, from.roots, func(pairs []record) error {
		return m.store(rec.Other).View(ctx, func(r core.Reader) error {
			for _, p := range pairs {
				value, found, err := r.Get(p.key)
				if err != nil {
					return err
				}
				if found && bytes.Equal(value, p.value) {
					gone.roots = append(gone.roots, p.key)
				} else if !from.expiring[string(p.key)] {
					whole = false
				}
			}
			return nil
		})
	})
	if whole {
		gone.others, gone.heads = from.others, from.heads
	}
	return gone, err
}

// delete deletes keys in the other database of a move: the heads first, so that nobody reads a part of
// a stream, and the roots last, so that after a crash the rest is found again.
func (m *TenantMover) delete(ctx context.Context, rec tenantRecord, gone *tenantKeys) error {
	for heads := range slices.Chunk(gone.heads, m.BatchKeys) {
		err := m.step(ctx, rec.Other, rec, func(tx *journal.Tx) error { return m.removeStreams(tx, rec, heads) })
		if err != nil {
			return err
		}
	}
	slices.Reverse(gone.roots)
	keys := slices.DeleteFunc(slices.Concat(gone.marks, gone.others, gone.dropped, gone.roots), func(key []byte) bool { return gone.foreign[string(key)] })
	for batch := range slices.Chunk(keys, m.BatchKeys) {
		err := m.step(ctx, rec.Other, rec, func(tx *journal.Tx) error {
			for _, key := range batch {
				if err := tx.Delete(key); err != nil {
					return err
				}
			}
			if s, keepsFiles := m.store(rec.Other).(core.Scrubber); keepsFiles {
				sum := sha256.Sum256(batch[0])
				return s.MarkPurged(tx, "tenant-"+strconv.Itoa(rec.Epoch)+"-"+hex.EncodeToString(sum[:8]), batch)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// removeStreams deletes heads, and notes in the journal where their streams are.
func (m *TenantMover) removeStreams(tx *journal.Tx, rec tenantRecord, heads [][]byte) error {
	event := journal.TenantMoved{Tenant: m.Tenant, Database: rec.Database, Epoch: rec.Epoch}
	for _, key := range heads {
		stream := strings.TrimPrefix(string(key), "event-head/")
		head, err := journal.ReadHead(tx, stream)
		if err == nil && head.Seq > 0 {
			event.Streams = append(event.Streams, journal.StreamHead{Stream: stream, Head: head})
			err = tx.Delete(key)
		}
		if err != nil {
			return err
		}
	}
	if len(event.Streams) == 0 {
		return nil
	}
	return tx.Append(journal.MovedStream, event)
}

// scrub removes what was deleted from the files of a database, as after a purge.
func (m *TenantMover) scrub(ctx context.Context, database string) (err error) {
	s, keepsFiles := m.store(database).(core.Scrubber)
	if !keepsFiles {
		return nil
	}
	if copied, are := s.(core.ScrubberWithCopies); are {
		m.moved.RetainedIn = copied.RetainedIn()
	}
	m.moved.Held, err = s.Scrub(ctx)
	return err
}
