package pebble

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// What was deleted stays in four kinds of files, which Scrub goes through in turn:
//
//   - The log. A flush ends its use, but Pebble keeps the file and writes a later log
//     over it, and what the first log held stays at its end. Scrub overwrites each log that
//     isn't in use with zeros, and flushes again, so that the next log is one of those
//     files.
//   - Tables. Those that may hold one of the keys are merged with the deletions, down to
//     the lowest level, where the deletions disappear too. Nothing else is compacted.
//   - Tables that the merge replaced. Pebble removes them once nobody reads them.
//   - The list of tables, which has the first and last key of each. If one of the keys is
//     in it, Close makes the next open write it again.
//
// A View that began before keeps what it sees. Scrub waits for it, up to scrubWait.

const (
	// scrubWait is how long Scrub waits for readers of the data that it removes: longer
	// than any command reads, shorter than an export of a large store.
	scrubWait = 5 * time.Second
	// scrubPause is the time between two checks for such readers.
	scrubPause = 2 * time.Millisecond
)

// scrub removes the values of sorted keys from the files.
func (s *Store) scrub(ctx context.Context, keys [][]byte) (held string, err error) {
	deadline := time.NewTimer(scrubWait)
	defer deadline.Stop()
	if held, err = s.awaitReaders(ctx, deadline.C); err != nil || held != "" {
		return held, err
	}
	for left := keys; ; {
		if err := s.scrubLogs(left); err != nil {
			return "", err
		}
		if left, err = s.scrubTables(ctx, left); err != nil {
			return "", err
		}
		if len(left) == 0 {
			break
		}
		select {
		case <-deadline.C:
			return "a merge of tables in progress", nil
		default:
		}
	}
	if held, err = s.awaitRemoval(ctx, deadline.C); err != nil || held != "" {
		return held, err
	}
	names, err := s.names(keys)
	s.relist = s.relist || names
	return "", err
}

// scrubLogs removes the keys from the log, by deleting them, and from its files. The
// first round leaves only logs of zeros to be used again, and the second begins one.
// Between the rounds the keys are deleted once more, so that the deletions are in two
// tables, which Pebble merges; it would move a single table unchanged.
func (s *Store) scrubLogs(keys [][]byte) error {
	if err := s.emptyLogs(); err != nil {
		return err
	}
	if err := s.deleteAgain(keys); err != nil {
		return err
	}
	return s.emptyLogs()
}

// emptyLogs makes tables of all that the logs hold, and overwrites every log except the
// one that is then begun.
func (s *Store) emptyLogs() error {
	for begun := 2; begun > 1; { // while others fill logs as well
		before, err := s.files(".log")
		if err != nil {
			return err
		}
		if err := s.flush(); err != nil {
			return err
		}
		for _, name := range before {
			if err := s.overwrite(name); err != nil {
				return err
			}
		}
		now, err := s.files(".log")
		if err != nil {
			return err
		}
		begun = len(slices.DeleteFunc(now, func(name string) bool { return slices.Contains(before, name) }))
	}
	return nil
}

// againAtOnce is how many keys are looked up while commits are blocked.
const againAtOnce = 64

// deleteAgain deletes the keys that don't exist. Readers see no change, so it doesn't
// count as a commit.
func (s *Store) deleteAgain(keys [][]byte) error {
	for some := range slices.Chunk(keys, againAtOnce) {
		durable, err := s.deleteAbsent(some)
		if err == nil {
			err = durable()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) deleteAbsent(keys [][]byte) (durable func() error, err error) {
	return s.direct(func(batch *pebble.Batch) error {
		for _, key := range keys {
			_, found, err := get(s.db, key)
			if err == nil && !found {
				err = batch.Delete(key, nil)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// direct writes a batch that no transaction sees, while commits are blocked, and returns
// a function that waits for the disk.
func (s *Store) direct(fill func(*pebble.Batch) error) (durable func() error, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fuse.err(); err != nil {
		return nil, err
	}
	batch := s.db.NewBatch()
	if err := fill(batch); err != nil {
		return nil, errors.Join(err, batch.Close())
	}
	return s.apply(batch), nil
}

// flush makes a table of all that the log holds, and begins a new log.
func (s *Store) flush() error {
	flushed, err := s.db.AsyncFlush()
	if err != nil {
		return ioError("flush", err)
	}
	select {
	case <-flushed:
	case <-s.fuse.blown:
	}
	return s.fuse.err()
}

// overwrite fills a log that Pebble may use again with zeros. Pebble takes no log
// meanwhile.
func (s *Store) overwrite(name string) error {
	s.fuse.reuse.Lock()
	defer s.fuse.reuse.Unlock()
	path := s.fs.PathJoin(s.options.Dir, name)
	info, err := s.fs.Stat(path)
	if err != nil {
		return nil // it is gone, or Pebble uses it again under another name
	}
	_ = s.fuse.do(func() error { return zero(s.fs, path, info.Size()) })
	return s.fuse.err()
}

// zero fills a file with zeros.
func zero(fs vfs.FS, path string, size int64) error {
	f, err := fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	zeros := make([]byte, 64<<10)
	for at := int64(0); at < size && err == nil; at += int64(len(zeros)) {
		_, err = f.WriteAt(zeros[:min(size-at, int64(len(zeros)))], at)
	}
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// scrubTables merges the tables that hold one of the keys, and returns the keys that
// remain: when Pebble merges tables on its own meanwhile, it may move a key past the
// merge.
func (s *Store) scrubTables(ctx context.Context, keys [][]byte) (left [][]byte, err error) {
	for _, key := range keys {
		clean, err := s.isClean(ctx, key)
		if err != nil {
			return nil, err
		}
		if clean {
			continue // the merge for an earlier key included it
		}
		if err := s.merge(ctx, key, after(key), false); err != nil {
			return nil, err
		}
		if clean, err = s.isClean(ctx, key); err != nil {
			return nil, err
		}
		if !clean {
			left = append(left, key)
		}
	}
	return left, s.fuse.err()
}

// isClean reports whether the present state of a key is all that the tables and the
// memtable have of it: no earlier value, and no deletion.
func (s *Store) isClean(ctx context.Context, key []byte) (bool, error) {
	stored, err := s.db.ScanStatistics(ctx, key, after(key), pebble.ScanStatisticsOptions{})
	if err != nil {
		return false, ioError("look at its tables", err)
	}
	versions := 0
	for _, n := range stored.Accumulated.KindsCount {
		versions += n
	}
	return versions == 0 || versions == 1 && stored.Accumulated.KindsCount[pebble.InternalKeyKindDelete] == 0, nil
}

func after(key []byte) []byte { return append(bytes.Clone(key), 0) }

// liveTables are the names of the files of the tables that Pebble reads.
func (s *Store) liveTables() (map[string]bool, error) {
	levels, err := s.db.SSTables()
	if err != nil {
		return nil, ioError("look at its tables", err)
	}
	names := map[string]bool{}
	for _, level := range levels {
		for i := range level {
			names[fmt.Sprintf("%06d.sst", level[i].BackingSSTNum)] = true
		}
	}
	return names, nil
}

// awaitReaders waits for the Views that began before the scrub.
func (s *Store) awaitReaders(ctx context.Context, deadline <-chan time.Time) (held string, err error) {
	earlier := s.snapshots.renew()
	return s.await(ctx, deadline, func() (string, error) { return s.snapshots.held(earlier), nil })
}

// awaitRemoval waits until the files of replaced tables are gone: a transaction may still
// read one. It doesn't wait for a merge's output, which has clean data only.
func (s *Store) awaitRemoval(ctx context.Context, deadline <-chan time.Time) (held string, err error) {
	earlier, err := s.files(".sst")
	if err != nil {
		return "", err
	}
	return s.await(ctx, deadline, func() (string, error) {
		if m := s.db.Metrics(); m.Table.ZombieCount+m.Table.ObsoleteCount == 0 {
			return "", nil
		}
		there, err := s.files(".sst")
		if err != nil {
			return "", err
		}
		live, err := s.liveTables()
		if err != nil {
			return "", err
		}
		for _, name := range earlier {
			if slices.Contains(there, name) && !live[name] {
				return "a reader that has " + name + " open", nil
			}
		}
		return "", nil
	})
}

// await calls held until it returns "", or until the deadline.
func (s *Store) await(ctx context.Context, deadline <-chan time.Time, held func() (string, error)) (string, error) {
	for {
		by, err := held()
		if by == "" || err != nil {
			return "", err
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-deadline:
			return by, nil
		case <-time.After(scrubPause):
		}
	}
}

// files lists the names of the store's files with an ending.
func (s *Store) files(ending string) ([]string, error) {
	names, err := s.fs.List(s.options.Dir)
	if err != nil {
		return nil, ioError("list "+s.options.Dir, err)
	}
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasSuffix(name, ending) }), nil
}
