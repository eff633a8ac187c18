package postgres

import (
	"maps"
	"sync"
)

// entry is the value of a key with its version, the id of the commit that wrote it.
// Version 0 means that the key doesn't exist. Entries are never changed.
type entry struct {
	value   []byte
	version int64
}

// readSet is what a transaction read from the database, or from the cache: what a commit
// has to find unchanged.
type readSet struct {
	keys   map[string]entry
	ranges []readRange
	// moments counts the states of the database that the reads may come from. What was
	// read in one statement needs no check.
	moments int
	// group is whether it also read what an earlier member of its group writes.
	group bool
}

// readRange is the keys from <= key < to, to the end if to is "", with the versions that
// they had, in the order of the keys. Versions are enough: two keys with the same one
// were written together, so a list can't come back with other keys.
type readRange struct {
	from, to string
	versions []int64
}

func (r *readRange) contains(key string) bool { return key >= r.from && (r.to == "" || key < r.to) }

// note adds a key that was read. The first read of a key counts: a later one that
// differs shows that the transaction has to run again.
func (r *readSet) note(key string, e entry) {
	if _, ok := r.keys[key]; ok {
		return
	}
	if r.keys == nil {
		r.keys = map[string]entry{}
	}
	r.keys[key] = e
}

// sees reports whether any of the written keys was read.
func (r *readSet) sees(writes map[string]write) bool {
	for key := range r.keys {
		if _, ok := writes[key]; ok {
			return true
		}
	}
	for i := range r.ranges {
		for key := range writes {
			if r.ranges[i].contains(key) {
				return true
			}
		}
	}
	return false
}

// write sets the value of a key, or deletes it.
type write struct {
	value   []byte
	deleted bool
}

// overlay is what the members of a group write that come before a member which runs on
// top of them. A member that was too slow may still read it while more is added; what it
// does is then dropped.
type overlay struct {
	mu     sync.RWMutex
	writes map[string]write
}

func (o *overlay) get(key string) (w write, ok bool) {
	if o == nil {
		return write{}, false
	}
	o.mu.RLock()
	defer o.mu.RUnlock()
	w, ok = o.writes[key]
	return w, ok
}

// within returns the writes in a range; none of a nil overlay.
func (o *overlay) within(r readRange) map[string]write {
	if o == nil {
		return nil
	}
	o.mu.RLock()
	defer o.mu.RUnlock()
	return within(o.writes, r)
}

func (o *overlay) add(writes map[string]write) {
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.Copy(o.writes, writes)
}

// within returns the writes in a range.
func within(writes map[string]write, r readRange) map[string]write {
	found := map[string]write{}
	for key, w := range writes {
		if r.contains(key) {
			found[key] = w
		}
	}
	return found
}
