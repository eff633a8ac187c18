package wasm

import (
	"bytes"
	"container/list"
	"crypto/sha256"
	"sync"

	"github.com/reflectory/reflectory/sdk"
)

// snapshot is all the state of an instance: its linear memory, its mutable
// globals, and the host's state for it. It never changes, and any instance of the same
// module can be restored from it.
type snapshot struct {
	size uint32 // of the memory, in bytes
	// The memory is an image if the system supports images and the size justifies one.
	// Otherwise it is a list of pages; a nil page is all zeros.
	image   *image
	pages   [][]byte
	own     int // bytes that no earlier snapshot holds
	globals []uint64
	ambient ambient
}

// capture copies the guest's state. Pages that equal base's are shared with it.
func (g *guest) capture(base *snapshot) *snapshot {
	s := &snapshot{ambient: g.streams.ambient, globals: make([]uint64, len(g.globals))}
	for i, global := range g.globals {
		s.globals[i] = global.Get()
	}
	if g.memory == nil {
		return s
	}
	s.size = g.memory.Size()
	memory, _ := g.memory.Read(0, s.size)
	if s.image, s.own = newImage(memory); s.image != nil {
		return s
	}
	s.pages = make([][]byte, s.size/framePage)
	for i := range s.pages {
		now := memory[i*framePage : (i+1)*framePage]
		switch {
		case base != nil && i < len(base.pages) && bytes.Equal(now, base.page(i)):
			s.pages[i] = base.pages[i]
		case !isZero(now):
			s.pages[i] = bytes.Clone(now)
			s.own += framePage
		}
	}
	return s
}

func (s *snapshot) page(i int) []byte {
	if p := s.pages[i]; p != nil {
		return p
	}
	return zeroPage
}

// restore sets the guest to a snapshot's state, and reports whether it could.
func (g *guest) restore(s *snapshot) bool {
	if g.state == s {
		return true
	}
	if g.memory != nil && !g.restoreMemory(s) {
		return false
	}
	for i, v := range s.globals {
		g.globals[i].Set(v)
	}
	g.streams.ambient = s.ambient
	g.state = s
	return true
}

func (g *guest) restoreMemory(s *snapshot) bool {
	shown := s.image != nil && g.linear.show(s.image)
	if !g.resize(s.size) {
		return false
	}
	memory, _ := g.memory.Read(0, s.size)
	if s.image != nil && !shown {
		return s.image.read(memory)
	}
	for i := range s.pages {
		now := memory[i*framePage : (i+1)*framePage]
		if want := s.page(i); !bytes.Equal(now, want) {
			copy(now, want)
		}
	}
	return true
}

// snapshotKey names the state after a config was prepared; without a kind, the state of a
// new guest. The owner is the plugin with its environment. The scope is the digest of its
// calls' scope, if it may ask the host for that.
type snapshotKey struct {
	owner  string
	scope  [sha256.Size]byte
	kind   sdk.Kind
	digest string
}

// Bounds of the snapshots of one module; the least recently used are dropped first.
const (
	maxSnapshots     = 64
	maxSnapshotBytes = 64 << 20
)

// snapshots are the snapshots of one module. It is safe for concurrent use.
type snapshots struct {
	mu      sync.Mutex
	entries map[snapshotKey]*list.Element
	recent  *list.List // of *keptSnapshot, the most recently used first
	bytes   int
}

type keptSnapshot struct {
	key snapshotKey
	*snapshot
}

func newSnapshots() *snapshots {
	return &snapshots{entries: map[snapshotKey]*list.Element{}, recent: list.New()}
}

func (c *snapshots) get(key snapshotKey) *snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	el := c.entries[key]
	if el == nil {
		return nil
	}
	c.recent.MoveToFront(el)
	return el.Value.(*keptSnapshot).snapshot
}

// put keeps a snapshot. If there is one of that key, which is equal, it stays.
func (c *snapshots) put(key snapshotKey, s *snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries[key] != nil {
		return
	}
	c.entries[key] = c.recent.PushFront(&keptSnapshot{key, s})
	c.bytes += s.own
	for c.recent.Len() > 1 && (c.recent.Len() > maxSnapshots || c.bytes > maxSnapshotBytes) {
		last := c.recent.Back()
		old := c.recent.Remove(last).(*keptSnapshot)
		delete(c.entries, old.key)
		c.bytes -= old.own
	}
}
