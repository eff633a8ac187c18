package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/reflectory/reflectory/core"
)

// A purge deletes rows, whose bytes stay in the table until they are vacuumed. The logs,
// standbys and backups of the database keep them for longer, until those are recycled.

// purgedPrefix is the prefix of the marks of purges that weren't followed by a vacuum yet.
const purgedPrefix = "meta/purged/"

var _ core.ScrubberWithCopies = (*Store)(nil)

// RetainedIn implements [core.ScrubberWithCopies]: where the database's administrators have
// what was purged until they recycle it.
func (s *Store) RetainedIn() []string { return []string{"wal", "standby", "backup"} }

// MarkPurged implements [core.Scrubber]. The mark names no keys: a vacuum needs none.
func (s *Store) MarkPurged(tx core.Tx, name string, _ [][]byte) error {
	return tx.Put([]byte(purgedPrefix+name), nil)
}

// heldSQL finds who has a snapshot that is older than a transaction: a vacuum keeps what
// that may still read.
const heldSQL = `
select 'a session of ' || coalesce(usename, '?') || ' that began ' || coalesce(xact_start::text, '?')
from pg_stat_activity
where pid <> pg_backend_pid() and datname = current_database() and backend_xmin is not null
  and backend_xmin::text::bigint <= $1
limit 1`

// Scrub implements [core.Scrubber]: it vacuums the table if there was a purge.
func (s *Store) Scrub(ctx context.Context) (held string, err error) {
	var marks [][]byte
	err = s.View(ctx, func(r core.Reader) error {
		marks = nil
		return core.ScanPrefix(r, []byte(purgedPrefix), func(key, _ []byte) (bool, error) {
			marks = append(marks, append([]byte{}, key...))
			return true, nil
		})
	})
	if err != nil || len(marks) == 0 {
		return "", err
	}
	if held, err = s.vacuum(ctx); err != nil || held != "" {
		return held, err
	}
	return "", s.Update(ctx, func(tx core.Tx) error {
		for _, mark := range marks {
			if err := tx.Delete(mark); err != nil {
				return err
			}
		}
		return nil
	})
}

// heldWait is how long a purge waits for older snapshots to end: usual views last
// milliseconds.
const heldWait = 2 * time.Second

// vacuum removes the rows that nobody can read any more. held names who still can, which
// prevents it.
func (s *Store) vacuum(ctx context.Context) (held string, err error) {
	rows, err := s.read(ctx, statement{sql: `select (pg_current_xact_id()::text::numeric % 4294967296)::bigint`})
	if err != nil {
		return "", err
	}
	now := numberParam(toNumber(rows[0][0]))
	for wait := firstPause; ; wait *= 2 {
		rows, err := s.read(ctx, statement{heldSQL, []param{now}})
		if err != nil {
			return "", err
		}
		if len(rows) == 0 {
			_, err = s.read(ctx, statement{sql: `vacuum kv`})
			return "", err
		}
		if wait > heldWait {
			return fmt.Sprintf("%s of the database %s", rows[0][0], s.pool.name), nil
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}
