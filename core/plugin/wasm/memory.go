package wasm

import (
	"bytes"

	"github.com/tetratelabs/wazero/experimental"
)

// linear is a guest's linear memory. If the system supports it, the address space of a
// large one is reserved up to its maximum, so that growing copies nothing. It can also
// shrink, which WebAssembly's own memory can't.
type linear struct {
	room     []byte
	max      uint64
	reserved bool   // room is mapped rather than from Go's heap, and has max bytes
	size     uint64 // that the engine was given
	fixed    bool   // it may not move
	forced   uint64 // if not 0, the size that the engine is given next, whatever it asks for
	shown    *image // what is mapped at the start of room; nil is nothing
}

// allocate is how the engine gets a memory.
func (g *guest) allocate(_, most uint64) experimental.LinearMemory {
	g.linear = &linear{max: most, fixed: g.module.info.Shared}
	return g.linear
}

// Reallocate changes the size of the memory. Nil means that it can't have that size.
func (m *linear) Reallocate(size uint64) []byte {
	if m.forced > 0 {
		size = m.forced
	}
	if size > m.max {
		return nil
	}
	if size > uint64(len(m.room)) {
		m.enlarge(size)
	}
	m.size = size
	return m.room[:size:size]
}

// enlarge makes more room, and copies the memory into it.
func (m *linear) enlarge(size uint64) {
	old := m.room
	if size >= imageFrom || m.fixed {
		m.room, m.reserved = reserve(m.max)
	}
	switch {
	case m.reserved:
	case m.fixed:
		m.room = make([]byte, m.max)
	default:
		m.room = make([]byte, max(size, min(2*uint64(len(old)), m.max)))
	}
	copy(m.room, old[:m.size])
}

// Free frees the room. The memory must not be used afterwards.
func (m *linear) Free() {
	if m.reserved {
		release(m.room)
	}
	m.room = nil
}

// clearFrom sets everything from a size on to zero, as in new memory.
func (m *linear) clearFrom(size uint64) {
	if m.size <= size {
		return
	}
	plain := min(max(size, m.imageSize()), m.size) // discarded pages of an image would come back
	clear(m.room[size:plain])
	if tail := m.room[plain:m.size]; !m.reserved || len(tail) < imageFrom || !discard(tail) {
		clear(tail)
	}
}

// imageSize is how much of the room an image covers.
func (m *linear) imageSize() uint64 {
	if m.shown == nil {
		return 0
	}
	return m.shown.size
}

// imageFrom is the size of a memory from which mapping costs less than comparing,
// copying or clearing.
const imageFrom = 256 << 10

// resize changes the size of the guest's memory, and reports whether it has that size now.
// To shrink it, the engine is made to ask for one more page and is given less.
func (g *guest) resize(size uint32) bool {
	now := g.memory.Size()
	switch {
	case now < size:
		g.memory.Grow((size - now) / pageBytes)
	case now > size && size > 0:
		g.linear.clearFrom(uint64(size))
		g.linear.forced = uint64(size)
		g.memory.Grow(1)
		g.linear.forced = 0
	}
	return g.memory.Size() == size
}

// framePage is the unit in which memories are compared, copied and kept.
const framePage = 4 << 10

// zeroPage is a page of new memory.
var zeroPage = make([]byte, framePage)

func isZero(page []byte) bool { return bytes.Equal(page, zeroPage) }
