package pebble

const (
	// maxHotKeys is how many keys each half of the cache has at most, and maxHotBytes how
	// large a value may be: together less than 3 MB, usually a tenth of that.
	maxHotKeys  = 1024
	maxHotBytes = 1 << 10
)

// hotKeys holds the newest values of keys that transactions read again and again, such as
// the head of a stream, a counter, and settings, most of which don't exist. Looking them
// up in Pebble takes most of the time of a small transaction. Keys that are read are
// added to the young half. When it is full it becomes the old half, from which only keys
// that are read again return. The user of hotKeys guards it with a mutex.
type hotKeys struct{ young, old map[string]hotValue }

// hotValue is the value of a key, or that there is none. It is never changed.
type hotValue struct {
	value []byte
	found bool
}

// get returns the value of a key, if it is known.
func (k *hotKeys) get(key string) (v hotValue, known bool) {
	if v, known = k.young[key]; known {
		return v, true
	}
	if v, known = k.old[key]; known {
		k.put(key, v)
	}
	return v, known
}

// put adds a value that was read.
func (k *hotKeys) put(key string, v hotValue) {
	if len(v.value) > maxHotBytes {
		return
	}
	if len(k.young) >= maxHotKeys {
		clear(k.old)
		k.young, k.old = k.old, k.young
	}
	if k.young == nil {
		k.young = make(map[string]hotValue, maxHotKeys)
	}
	k.young[key] = v
}

// change applies a write. A key that was never read isn't added.
func (k *hotKeys) change(w *write) {
	delete(k.old, w.key)
	if _, known := k.young[w.key]; !known {
		return
	}
	if len(w.value) > maxHotBytes {
		delete(k.young, w.key)
		return
	}
	k.young[w.key] = hotValue{w.value, !w.deleted}
}
