package postgres

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strings"
)

// Locks make the order of the commits a serial one. Each commit locks the keys that it
// writes exclusively, and those that it read shared. A range has no keys of its own to
// lock, so it locks what contains it: its class, the keys with the same prefix up to the
// first zero byte; or, if it goes over classes, its kind, the keys with the same prefix
// up to the first slash; or else everything. Each written key takes shared locks on what contains it.
// So of two commits of which one read what the other writes, one waits for the other, and
// then finds what the other wrote.
//
// A lock is a number, which is made from what it stands for. Two things with the same
// number only wait for each other without need.

// maxLocks is how many locks a commit takes one by one at most. Beyond, it locks
// everything: PostgreSQL has room for 64 locks times the connections that it allows.
const maxLocks = 2000

// lock is an advisory lock of PostgreSQL.
type lock struct {
	id        int64
	exclusive bool
}

// What a lock stands for.
const (
	ofAll   = 'a'
	ofKind  = 'k'
	ofClass = 'c'
	ofKey   = 'y'
)

func lockID(what byte, name string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte{what})
	_, _ = h.Write([]byte(name))
	return int64(h.Sum64())
}

// lockSet is the locks of a commit. The zero value isn't ready: see newLockSet.
type lockSet map[int64]bool

func newLockSet() lockSet { return lockSet{lockID(ofAll, ""): false} }

func (l lockSet) add(what byte, name string, exclusive bool) {
	id := lockID(what, name)
	l[id] = l[id] || exclusive
}

// read adds the locks of what a transaction read.
func (l lockSet) read(r *readSet) {
	for key := range r.keys {
		l.add(ofKey, key, false)
	}
	for i := range r.ranges {
		what, name := container(&r.ranges[i])
		l.add(what, name, true)
	}
}

// write adds the locks of written keys.
func (l lockSet) write(writes map[string]write) {
	for key := range writes {
		l.add(ofKey, key, true)
		for _, what := range []byte{ofClass, ofKind} {
			if name, ok := prefix(what, key); ok {
				l.add(what, name, false)
			}
		}
	}
}

// cover reports whether the locks of a transaction are among these.
func (l lockSet) cover(t *tx) bool {
	needed := newLockSet()
	needed.read(&t.reads)
	needed.write(t.writes)
	for id, exclusive := range needed {
		if has, ok := l[id]; !ok || exclusive && !has {
			return false
		}
	}
	return true
}

// prefix is the class or the kind of all keys that start with text.
func prefix(what byte, text string) (name string, ok bool) {
	end := byte('/')
	if what == ofClass {
		end = 0
	}
	i := strings.IndexByte(text, end)
	return text[:i+1], i >= 0
}

// container is the smallest lock that contains all keys of a range.
func container(r *readRange) (what byte, name string) {
	common := commonPrefix(r.from, r.to)
	for _, what := range []byte{ofClass, ofKind} {
		if name, ok := prefix(what, common); ok {
			return what, name
		}
	}
	return ofAll, ""
}

// commonPrefix is what all keys from <= key < to start with.
func commonPrefix(from, to string) string {
	n := 0
	for n < len(from) && n < len(to) && from[n] == to[n] {
		n++
	}
	// The keys before "b" and from "a" on start with "a".
	if n < len(from) && n+1 == len(to) && from[n] < to[n] && from[n]+1 == to[n] {
		n++
	}
	return from[:n]
}

// sorted returns the locks in the order in which every commit takes them, so that no two
// wait for each other.
func (l lockSet) sorted() []lock {
	if len(l) > maxLocks {
		return allLocked()
	}
	list := make([]lock, 0, len(l))
	for id, exclusive := range l {
		list = append(list, lock{id, exclusive})
	}
	slices.SortFunc(list, func(a, b lock) int { return cmp.Compare(a.id, b.id) })
	return list
}

// allLocked is the one lock that excludes every other commit.
func allLocked() []lock { return []lock{{lockID(ofAll, ""), true}} }
