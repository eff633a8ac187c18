// Package inject makes what a model is told in one turn: one immutable [Snapshot], built
// from typed blocks under one [Policy], stored, and provable later.
//
// # Trust
//
// A [Block] can only be made by [NewBlock], which reports everything that is missing at once. Only the
// operator and the host make anchors, which are never cut or dropped. Recalled text is data: it is escaped,
// and put into an element that names its memory, so that, whatever it says, it can't leave that element or
// begin another.
//
// # Assembly
//
// [Assemble] is a pure function of its input, and the order of the blocks in it never
// matters. It has nine steps; the comments of the functions in assemble.go number them.
//
// # Storage
//
// A snapshot is stored without its payloads. They are stored apart, by digest, and those
// of memories with the memory's id in the key, so that a purge finds and removes them. A
// memory's payload has a digest that is keyed with the memory's salt: once both are gone,
// nothing can be guessed from it. The snapshot keeps its digest, which is over the
// digests of its payloads, so that a purge breaks no proof.
package inject
