package memory

import "github.com/reflectory/reflectory/core/memory/search"

// Warm loads the indices of the given namespaces, or of all if none is given, in the
// background, as far as the memory limit allows, so that no recall has to wait. It is
// meant for a long-running host, and for a run that will recall later; a single recall
// needs its namespace immediately anyway. Warm returns at once, and only the first call
// has an effect; [Memories.Close] ends it.
func (m *Memories) Warm(namespaces ...string) {
	m.index.Warm(namespaces...)
	m.knowledge.Warm(namespaces...)
}

// Warmth reports how much of the store the indices of memories and of knowledge hold.
func (m *Memories) Warmth() (memories, knowledge search.Progress) {
	return m.index.Progress(), m.knowledge.Progress()
}

// Close stops what [Memories.Warm] began, and waits for it. It leaves the store open, and
// may be called again.
func (m *Memories) Close() {
	m.index.Close()
	m.knowledge.Close()
	m.archive.Close()
}
