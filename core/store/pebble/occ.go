package pebble

import (
	"container/list"
	"slices"
	"sync"
	"sync/atomic"
)

// maxRecent is how many commits are remembered for transactions that still run.
// An older transaction gets a conflict and runs again.
const maxRecent = 1 << 16

// history is the recent commits, against which running transactions are checked. A
// commit is added before Pebble makes it visible, so any transaction that can read its
// writes also finds it here. The zero value is not ready: see newHistory.
type history struct {
	// seq counts the commits. It is changed under mu.
	seq atomic.Uint64

	mu sync.Mutex
	// applied is the newest commit that is visible, with all before it. risen signals
	// when it grows.
	applied uint64
	risen   *sync.Cond
	// recent are the newest commits, in order; the last has the number seq. written has
	// their keys, each with its newest commit.
	recent  []commit
	written map[string]uint64
	// hot are values as of commit seq.
	hot hotKeys
	// running holds the moment of each running transaction, in order: the commit up
	// to which it sees everything.
	running list.List
}

// commit is the keys that a transaction wrote, in order.
type commit struct {
	seq  uint64
	keys []string
}

func newHistory() *history {
	h := &history{written: map[string]uint64{}}
	h.risen = sync.NewCond(&h.mu)
	return h
}

// moment is the moment of a running transaction.
func moment(e *list.Element) uint64 { return e.Value.(uint64) }

// begin notes a transaction that sees everything committed so far.
func (h *history) begin() *list.Element {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.running.PushBack(h.applied)
}

// end forgets a transaction, and the commits that no other needs.
func (h *history) end(e *list.Element) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.leave(e)
}

// leave is end; the caller holds mu.
func (h *history) leave(e *list.Element) {
	h.running.Remove(e)
	oldest := h.applied
	if front := h.running.Front(); front != nil {
		oldest = moment(front)
	}
	n := 0
	for n < len(h.recent) && h.recent[n].seq <= oldest {
		n++
	}
	h.forget(n)
}

// add notes a commit, unless something that its transaction read was written since its
// moment. The caller holds the store's mutex, makes the commit visible and then calls
// apply.
func (h *history) add(e *list.Element, reads *readSet, writes *writeSet, keys []string) (conflict bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.changed(moment(e), reads) {
		return true
	}
	h.note(keys)
	for i := range writes.list {
		h.hot.change(&writes.list[i])
	}
	return false
}

func (h *history) note(keys []string) {
	seq := h.seq.Add(1)
	h.recent = append(h.recent, commit{seq, keys})
	for _, key := range keys {
		h.written[key] = seq
	}
	h.forget(len(h.recent) - maxRecent)
}

// apply notes that the newest commit is visible, and ends its transaction.
func (h *history) apply(e *list.Element) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.applied = h.seq.Load()
	h.risen.Broadcast()
	h.leave(e)
}

// forget drops the oldest n commits. The array is freed once nothing in it is used.
func (h *history) forget(n int) {
	if n <= 0 {
		return
	}
	for _, c := range h.recent[:n] {
		for _, key := range c.keys {
			if h.written[key] == c.seq {
				delete(h.written, key)
			}
		}
	}
	clear(h.recent[:n])
	if h.recent = h.recent[n:]; len(h.recent) == 0 {
		h.recent = nil
	}
}

// move advances a transaction that found something newer than its moment to the newest
// visible moment. It first waits until all commits so far are visible. It reports false,
// and changes nothing, if something that the transaction read was written since.
func (h *history) move(e *list.Element, reads *readSet) (moved bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for wanted := h.seq.Load(); h.applied < wanted; {
		h.risen.Wait()
	}
	// This also counts commits after the newest visible one, which is harmless.
	if h.changed(moment(e), reads) {
		return false
	}
	e.Value = h.applied
	h.running.MoveToBack(e)
	return true
}

// hotValue returns the hot value of a key, if it is what a transaction sees at its moment.
func (h *history) hotValue(e *list.Element, key string) (v hotValue, known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if v, known = h.hot.get(key); known && h.wrote(moment(e), key) {
		return hotValue{}, false
	}
	return v, known
}

// keep stores Pebble's value of a key as hot, unless it may be newer than a transaction's
// moment.
func (h *history) keep(e *list.Element, key string, v hotValue) (outdated bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if outdated = h.wrote(moment(e), key); !outdated {
		h.hot.put(key, v)
	}
	return outdated
}

// lose drops the hot values, because Pebble may have failed to apply the newest commit.
func (h *history) lose() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hot = hotKeys{}
}

// crossed reports whether a range may contain something newer than a transaction's
// moment.
func (h *history) crossed(e *list.Element, s span) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.changed(moment(e), &readSet{spans: []span{s}})
}

// wrote reports whether a key was written after since.
func (h *history) wrote(since uint64, key string) bool {
	return h.seq.Load()-since > uint64(len(h.recent)) || h.written[key] > since
}

// changed reports whether anything in reads was written after since.
func (h *history) changed(since uint64, reads *readSet) bool {
	missing := h.seq.Load() - since
	if missing > uint64(len(h.recent)) {
		return true
	}
	if missing == 0 {
		return false
	}
	for _, key := range reads.keys {
		if h.wrote(since, key) {
			return true
		}
	}
	for _, c := range h.recent[uint64(len(h.recent))-missing:] {
		if slices.ContainsFunc(reads.spans, c.within) {
			return true
		}
	}
	return false
}

// within reports whether the commit wrote in a range.
func (c *commit) within(s span) bool {
	i, _ := slices.BinarySearch(c.keys, s.from)
	return i < len(c.keys) && (s.to == "" || c.keys[i] < s.to)
}

// visible counts the commits that are visible.
func (h *history) visible() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.applied
}

// Commits counts the commits since the store was opened. A View that begins later sees
// all of them.
func (s *Store) Commits() uint64 {
	s.snapshots.mu.Lock()
	defer s.snapshots.mu.Unlock()
	if current := s.snapshots.current; current != nil && s.snapshots.synced {
		return current.commits
	}
	return s.history.visible()
}

// readSet is what a transaction read: keys, and ranges of keys.
type readSet struct {
	keys  []string
	spans []span
}

// span is the keys from <= key < to; an empty to is the end.
type span struct{ from, to string }
