package pebble

import "container/list"

// maxRecent is how many commits are remembered for transactions that still run.
// A transaction older than that is told that it conflicts and starts afresh.
const maxRecent = 1 << 16

// history is what committed lately: what running transactions are checked
// against. Its user guards it with a mutex.
type history struct {
	// seq counts the commits.
	seq uint64
	// recent are the newest commits, in order; the last is number seq.
	recent []commit
	// running holds the seq at which each running transaction began, in order.
	running list.List
}

// commit is the keys that a transaction wrote.
type commit struct {
	seq  uint64
	keys []string
}

// begin notes a transaction that sees everything committed so far.
func (h *history) begin() *list.Element { return h.running.PushBack(h.seq) }

// end forgets a transaction, and the commits that no other needs.
func (h *history) end(e *list.Element) {
	h.running.Remove(e)
	oldest := h.seq
	if front := h.running.Front(); front != nil {
		oldest = front.Value.(uint64)
	}
	n := 0
	for n < len(h.recent) && h.recent[n].seq <= oldest {
		n++
	}
	h.forget(n)
}

// add notes a commit.
func (h *history) add(keys []string) {
	h.seq++
	h.recent = append(h.recent, commit{h.seq, keys})
	h.forget(len(h.recent) - maxRecent)
}

// forget drops the oldest n commits. The array goes once nothing in it is used.
func (h *history) forget(n int) {
	if n <= 0 {
		return
	}
	clear(h.recent[:n])
	if h.recent = h.recent[n:]; len(h.recent) == 0 {
		h.recent = nil
	}
}

// changed reports whether anything in reads was written after since.
func (h *history) changed(since uint64, reads *readSet) bool {
	missing := h.seq - since
	if missing > uint64(len(h.recent)) {
		return true
	}
	for _, c := range h.recent[uint64(len(h.recent))-missing:] {
		for _, key := range c.keys {
			if reads.has(key) {
				return true
			}
		}
	}
	return false
}

// Commits counts the commits since the store was opened.
func (s *Store) Commits() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.history.seq
}

// readSet is what a transaction read: keys, and ranges of keys.
type readSet struct {
	keys  map[string]struct{}
	spans []span
}

// span is the keys from <= key < to; an empty to is the end.
type span struct{ from, to string }

func (r *readSet) addKey(key []byte) {
	if r.keys == nil {
		r.keys = map[string]struct{}{}
	}
	r.keys[string(key)] = struct{}{}
}

func (r *readSet) has(key string) bool {
	if _, ok := r.keys[key]; ok {
		return true
	}
	for _, s := range r.spans {
		if s.from <= key && (s.to == "" || key < s.to) {
			return true
		}
	}
	return false
}
