package postgres

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/store"
)

// source is where transactions read. What it returns may be outdated, since a commit
// checks it.
type source interface {
	// get returns a key. fresh is whether it comes from one statement of the database, and
	// not from memory.
	get(ctx context.Context, key string) (e entry, fresh bool, err error)
	// scan calls fn for the pairs of a range in order, page by page, until it returns
	// false. pages is how many statements it took.
	scan(ctx context.Context, r readRange, fn func(key string, e entry) (more bool)) (pages int, err error)
}

// tx is one run of a transaction. It collects writes, and notes what it read.
type tx struct {
	ctx    context.Context
	source source
	below  *overlay // nil unless it runs on top of others of its group
	reads  readSet
	writes map[string]write
	size   int // bytes written, as the limit counts them
	// failed is a read that the database refused. The run has then no result.
	failed error
	ended  atomic.Bool
}

// run runs fn, and returns its panic or error.
func (t *tx) run(fn func(core.Tx) error) (panicked any, err error) {
	defer t.ended.Store(true)
	defer func() { panicked = recover() }()
	return nil, fn(t)
}

// wrote reports whether it has something to commit.
func (t *tx) wrote() bool { return len(t.writes) > 0 }

// Get implements [core.Reader].
func (t *tx) Get(key []byte) ([]byte, bool, error) {
	if t.ended.Load() {
		return nil, false, store.ErrEnded()
	}
	if err := store.CheckKey(key); err != nil {
		return nil, false, err
	}
	name := string(key)
	if w, ok := t.writes[name]; ok {
		return cloned(w.value, !w.deleted), !w.deleted, nil
	}
	if w, ok := t.below.get(name); ok {
		t.reads.group = true
		return cloned(w.value, !w.deleted), !w.deleted, nil
	}
	e, ok := t.reads.keys[name]
	if !ok {
		var fresh bool
		var err error
		if e, fresh, err = t.source.get(t.ctx, name); err != nil {
			t.failed = err
			return nil, false, err
		}
		t.reads.note(name, e)
		if t.reads.moments++; !fresh {
			t.reads.moments++ // by itself it isn't known to be current
		}
	}
	return cloned(e.value, e.version != 0), e.version != 0, nil
}

// cloned copies a value; the copy of an existing value is never nil.
func cloned(value []byte, found bool) []byte {
	if !found {
		return nil
	}
	return append([]byte{}, value...)
}

// Scan implements [core.Reader]. Writes that fn makes are not seen by the scan that
// calls it.
func (t *tx) Scan(from, to []byte, fn func(key, value []byte) (bool, error)) error {
	if t.ended.Load() {
		return store.ErrEnded()
	}
	if len(to) > 0 && bytes.Compare(from, to) >= 0 {
		return nil
	}
	seen := readRange{from: string(from), to: string(to)}
	own := t.below.within(seen)
	if len(own) > 0 {
		t.reads.group = true
	} else {
		own = map[string]write{}
	}
	maps.Copy(own, within(t.writes, seen))
	order := slices.Sorted(maps.Keys(own))
	var stopped bool
	var stop error
	last := "" // the last key that fn was given
	give := func(key string, value []byte) bool {
		last = key
		more, err := fn([]byte(key), cloned(value, true))
		stopped, stop = err != nil || !more, err
		return !stopped
	}
	pages, err := t.source.scan(t.ctx, seen, func(key string, e entry) bool {
		for len(order) > 0 && order[0] < key && !stopped {
			if w := own[order[0]]; !w.deleted {
				give(order[0], w.value)
			}
			order = order[1:]
		}
		if stopped {
			return false
		}
		seen.versions = append(seen.versions, e.version)
		if len(order) > 0 && order[0] == key {
			order = order[1:]
			if w := own[key]; !w.deleted {
				return give(key, w.value)
			}
			return true
		}
		return give(key, e.value)
	})
	if err != nil {
		t.failed = err
		return err
	}
	for ; len(order) > 0 && !stopped; order = order[1:] {
		if w := own[order[0]]; !w.deleted {
			give(order[0], w.value)
		}
	}
	if stopped {
		seen.to = last + "\x00"
	}
	t.reads.ranges = append(t.reads.ranges, seen)
	if t.reads.moments += pages; pages == 0 {
		t.reads.moments += 2
	}
	return stop
}

// Put implements [core.Tx].
func (t *tx) Put(key, value []byte) error {
	return t.write(key, write{value: cloned(value, true)})
}

// Delete implements [core.Tx].
func (t *tx) Delete(key []byte) error { return t.write(key, write{deleted: true}) }

func (t *tx) write(key []byte, w write) error {
	if t.ended.Load() {
		return store.ErrEnded()
	}
	if err := store.CheckWrite(key, w.value, t.size); err != nil {
		return err
	}
	t.size += len(key) + len(w.value)
	if t.writes == nil {
		t.writes = map[string]write{}
	}
	t.writes[string(key)] = w
	return nil
}
