package memory

import "github.com/reflectory/reflectory/core/memory/search"

// Warm loads the indices in the background, as far as their memory lets, so that
// no recall has to wait for it: of the given namespaces, or of all where none
// is given. It is for a host that stays, and for a run that will recall; what
// recalls once needs its namespace at once. It returns at once, and only the first
// call does something; [Memories.Close] ends it.
func (m *Memories) Warm(namespaces ...string) {
	m.index.Warm(namespaces...)
	m.knowledge.Warm(namespaces...)
}

// Warmth says how much of the store the indices of memories and of knowledge hold.
func (m *Memories) Warmth() (memories, knowledge search.Progress) {
	return m.index.Progress(), m.knowledge.Progress()
}

// Close ends what [Memories.Warm] began and waits for it. It leaves the store
// open, and may be called again.
func (m *Memories) Close() {
	m.index.Close()
	m.knowledge.Close()
}
