package postgres

import (
	"container/list"
	"strings"
	"sync"

	"github.com/reflectory/reflectory/core"
)

// cache is the newest known entries of keys, the least recently used dropped first. It
// may be outdated, since other hosts write too: a commit that finds a difference corrects
// it. It is safe for concurrent use.
type cache struct {
	mu    sync.Mutex
	limit int // bytes
	size  int
	used  list.List // of cached, the most recently used first
	at    map[string]*list.Element
}

type cached struct {
	key string
	entry
}

// cachedBytes is what an entry takes besides its key and value: the list's and the map's
// part of it.
const cachedBytes = 160

func newCache(limit int) *cache { return &cache{limit: limit, at: map[string]*list.Element{}} }

func (c *cache) get(key string) (e entry, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, known := c.at[key]
	if !known {
		return entry{}, false
	}
	c.used.MoveToFront(at)
	return at.Value.(cached).entry, true
}

// put notes an entry in the place of an older one.
func (c *cache) put(key string, e entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set(key, e)
}

// add notes an entry that was read, unless another is known, which may be newer.
func (c *cache) add(key string, e entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.at[key]; !known {
		c.set(key, e)
	}
}

// wrote notes what a commit wrote.
func (c *cache) wrote(writes map[string]write, version int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, w := range writes {
		if w.deleted {
			c.set(key, entry{})
		} else {
			c.set(key, entry{w.value, version})
		}
	}
}

// drop forgets a key.
func (c *cache) drop(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(key)
}

func (c *cache) set(key string, e entry) {
	c.remove(key)
	c.at[key] = c.used.PushFront(cached{key, e})
	for c.size += len(key) + len(e.value) + cachedBytes; c.size > c.limit; {
		c.remove(c.used.Back().Value.(cached).key)
	}
}

func (c *cache) remove(key string) {
	at, known := c.at[key]
	if !known {
		return
	}
	e := c.used.Remove(at).(cached)
	delete(c.at, key)
	c.size -= len(e.key) + len(e.value) + cachedBytes
}

// maxFresh is how many new ids are remembered: many more than transactions run at once.
const maxFresh = 4096

// FreshIDs are ids that this host just made and hasn't written yet. Keys with one are
// taken as absent, which saves the look. A commit checks that too, so a wrong guess costs
// another run and nothing else. The zero value is ready. It is safe for concurrent use.
type FreshIDs struct {
	mu  sync.Mutex
	ids map[string]struct{}
	// ring is the ids in the order of their making; next is the oldest once it is full.
	ring []string
	next int
}

// made notes a new id.
func (f *FreshIDs) made(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.ring) < maxFresh {
		f.ring = append(f.ring, id)
	} else {
		delete(f.ids, f.ring[f.next])
		f.ring[f.next] = id
		f.next = (f.next + 1) % maxFresh
	}
	if f.ids == nil {
		f.ids = map[string]struct{}{}
	}
	f.ids[id] = struct{}{}
}

// isIn reports whether a whole part of a key is a new id. Slashes and zero bytes separate
// the parts.
func (f *FreshIDs) isIn(key string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.ids) == 0 {
		return false
	}
	for part := range strings.FieldsFuncSeq(key, between) {
		if _, ok := f.ids[part]; ok {
			return true
		}
	}
	return false
}

func between(r rune) bool { return r == '/' || r == 0 }

// wrote forgets the ids in keys that were written.
func (f *FreshIDs) wrote(writes map[string]write) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.ids) == 0 {
		return
	}
	for key := range writes {
		for part := range strings.FieldsFuncSeq(key, between) {
			delete(f.ids, part)
		}
	}
}

// forget drops the ids in a key that exists.
func (f *FreshIDs) forget(key string) {
	f.wrote(map[string]write{key: {}})
}

// Note returns ids that are noted here when inner makes them.
func (f *FreshIDs) Note(inner core.IDs) core.IDs { return notedIDs{inner, f} }

type notedIDs struct {
	core.IDs
	fresh *FreshIDs
}

// NewID implements [core.IDs].
func (n notedIDs) NewID() string {
	id := n.IDs.NewID()
	n.fresh.made(id)
	return id
}
