package pebble

import (
	"bytes"

	"github.com/reflectory/reflectory/core/store"
)

// maxRemembered is how many written keys a ledger keeps: a few MB. A transaction
// that is older than what is kept counts as conflicting.
const maxRemembered = 1 << 16

// ledger knows what the newest commits wrote, as far back as a running
// transaction's snapshot. The commit mutex guards it.
type ledger struct {
	// version counts the commits. Those up to floor are forgotten; recent[i] is
	// what commit floor+1+i wrote, and keys is how many keys they wrote together.
	version, floor uint64
	recent         [][]write
	keys           int
	// began counts the running transactions by the version of their snapshot.
	began map[uint64]int
}

// begin notes a transaction that starts now, and returns its version.
func (l *ledger) begin() uint64 {
	l.began[l.version]++
	return l.version
}

// end notes the end of a transaction of that version.
func (l *ledger) end(version uint64) {
	if l.began[version]--; l.began[version] > 0 {
		return
	}
	delete(l.began, version)
	oldest := l.version
	for v := range l.began {
		oldest = min(oldest, v)
	}
	for l.floor < oldest {
		l.forget()
	}
}

// add notes a commit.
func (l *ledger) add(writes []write) {
	l.version++
	l.recent = append(l.recent, writes)
	for l.keys += len(writes); l.keys > maxRemembered; {
		l.forget()
	}
}

func (l *ledger) forget() {
	l.keys -= len(l.recent[0])
	l.recent[0] = nil
	l.recent = l.recent[1:]
	l.floor++
}

// conflicts reports whether something that was read at a version has been
// written since.
func (l *ledger) conflicts(version uint64, r *reads) bool {
	if r.none() {
		return false
	}
	if version < l.floor {
		return true
	}
	for _, writes := range l.recent[version-l.floor:] {
		for _, w := range writes {
			if r.cover(w.key) {
				return true
			}
		}
	}
	return false
}

// reads are the keys and ranges that a transaction read.
type reads struct {
	keys   map[string]struct{}
	ranges []span
}

// span is a range of keys: from <= key < to. An empty to is the end.
type span struct{ from, to []byte }

func (r *reads) none() bool { return len(r.keys) == 0 && len(r.ranges) == 0 }

func (r *reads) addKey(key []byte) {
	if r.keys == nil {
		r.keys = map[string]struct{}{}
	}
	r.keys[string(key)] = struct{}{}
}

func (r *reads) cover(key []byte) bool {
	if _, ok := r.keys[string(key)]; ok {
		return true
	}
	for _, s := range r.ranges {
		if bytes.Compare(s.from, key) <= 0 && (len(s.to) == 0 || bytes.Compare(key, s.to) < 0) {
			return true
		}
	}
	return false
}

// write is a key with its new value; a nil value deletes the key.
type write struct{ key, value []byte }

// overlay holds a transaction's writes, sorted by key.
type overlay struct {
	writes []write
	size   int
}

func (o *overlay) find(key []byte) (int, bool) { return searchWrites(o.writes, key) }

func (o *overlay) put(w write) error {
	if err := store.CheckWrite(w.key, w.value, o.size); err != nil {
		return err
	}
	o.size += len(w.key) + len(w.value)
	i, found := o.find(w.key)
	if found {
		o.writes[i] = w
		return nil
	}
	o.writes = append(o.writes, write{})
	copy(o.writes[i+1:], o.writes[i:])
	o.writes[i] = w
	return nil
}

// between returns a copy of the writes within a range.
func (o *overlay) between(s span) []write {
	i, _ := o.find(s.from)
	j := len(o.writes)
	if len(s.to) > 0 {
		j, _ = o.find(s.to)
	}
	if i >= j {
		return nil
	}
	return append([]write(nil), o.writes[i:j]...)
}
