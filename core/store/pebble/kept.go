package pebble

const (
	// maxKept is how many keys each half of what is kept has at most, and
	// maxKeptBytes how large a value may be: together less than 3 MB, as a rule a
	// tenth of it.
	maxKept      = 1024
	maxKeptBytes = 1 << 10
)

// kept holds the newest values of keys that transactions read again and again, such
// as the head of a stream, a counter, and settings, as a rule those that aren't
// there. To look them up in Pebble takes most of the time of a small transaction. The
// young half fills with what is read; once it is full it becomes the old one, from
// which only what is read again returns. Its user guards it with a mutex.
type kept struct{ young, old map[string]held }

// held is the value of a key, or that there is none. It is never changed.
type held struct {
	value []byte
	found bool
}

// get returns what is known of a key.
func (k *kept) get(key string) (v held, known bool) {
	if v, known = k.young[key]; known {
		return v, true
	}
	if v, known = k.old[key]; known {
		k.put(key, v)
	}
	return v, known
}

// put keeps a value that was read.
func (k *kept) put(key string, v held) {
	if len(v.value) > maxKeptBytes {
		return
	}
	if len(k.young) >= maxKept {
		clear(k.old)
		k.young, k.old = k.old, k.young
	}
	if k.young == nil {
		k.young = make(map[string]held, maxKept)
	}
	k.young[key] = v
}

// change takes in what was written. What was never read isn't kept for it.
func (k *kept) change(w *write) {
	delete(k.old, w.key)
	if _, known := k.young[w.key]; !known {
		return
	}
	if len(w.value) > maxKeptBytes {
		delete(k.young, w.key)
		return
	}
	k.young[w.key] = held{w.value, !w.deleted}
}
