package pebble

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
)

// A purge is complete when its transaction is committed, but the files are scrubbed after
// that, which may fail, or be interrupted by a kill. So the transaction itself writes a
// mark that names its keys, and the next scrub works from the marks: after the purge,
// when the store is closed, or when it is next opened. A store in memory needs no marks.
//
// Keys reveal something too: an index key may contain a tag. So a mark is removed like
// the data that it names. It is emptied when its keys are scrubbed, then scrubbed itself,
// and only then deleted, so that a kill in between leaves a mark that shows how far it
// got.

// markPrefix is the prefix of the keys of marks. Exports leave all of meta/ out.
const markPrefix = "meta/purged/"

var _ core.Scrubber = (*Store)(nil)

// MarkPurged implements [core.Scrubber].
func (s *Store) MarkPurged(tx core.Tx, name string, keys [][]byte) error {
	return tx.Put([]byte(markPrefix+name), jsontext.MustEncode(keys))
}

// Scrub implements [core.Scrubber].
func (s *Store) Scrub(ctx context.Context) (held string, err error) {
	if err := s.enter(ctx); err != nil {
		return "", err
	}
	defer s.users.Done()
	return s.scrubMarked(ctx)
}

// scrubMarked scrubs the keys that the marks name, and then the marks.
func (s *Store) scrubMarked(ctx context.Context) (held string, err error) {
	s.scrubbing.Lock()
	defer s.scrubbing.Unlock()
	marks, keys, err := s.marks()
	if err != nil || len(marks) == 0 {
		return "", err
	}
	if len(keys) > 0 {
		if held, err = s.scrub(ctx, keys); err != nil || held != "" {
			return held, err
		}
		if err := s.eachMark(marks, func(b *pebble.Batch, mark []byte) error { return b.Set(mark, nil, nil) }); err != nil {
			return "", err
		}
	}
	if held, err = s.scrub(ctx, marks); err != nil || held != "" {
		return held, err
	}
	return "", s.eachMark(marks, func(b *pebble.Batch, mark []byte) error { return b.Delete(mark, nil) })
}

// marks are the keys of all marks, and the keys that they name, each sorted and without
// repetitions.
func (s *Store) marks() (marks, keys [][]byte, err error) {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: []byte(markPrefix), UpperBound: core.PrefixEnd([]byte(markPrefix))})
	if err != nil {
		return nil, nil, ioError("read", err)
	}
	defer func() { _ = it.Close() }() // it.Error has said what failed
	for it.First(); it.Valid(); it.Next() {
		marks = append(marks, bytes.Clone(it.Key()))
		value, err := it.ValueAndErr()
		if err != nil {
			return nil, nil, ioError("read", err)
		}
		var named [][]byte
		if len(value) > 0 {
			if err := json.Unmarshal(value, &named); err != nil {
				return nil, nil, ioError("read", engineError("the mark of a purge, %s: %w", it.Key(), err))
			}
		}
		keys = append(keys, named...)
	}
	if err := it.Error(); err != nil {
		return nil, nil, ioError("read", err)
	}
	slices.SortFunc(keys, bytes.Compare)
	return marks, slices.CompactFunc(keys, bytes.Equal), nil
}

// eachMark changes marks, and waits for the disk.
func (s *Store) eachMark(marks [][]byte, change func(b *pebble.Batch, mark []byte) error) error {
	durable, err := s.direct(func(b *pebble.Batch) error {
		for _, mark := range marks {
			if err := change(b, mark); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return durable()
}
