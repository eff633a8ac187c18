// Package inject makes the prompt of one turn: one immutable [Snapshot], built from typed blocks
// under one [Policy], stored, and provable later.
//
// # Trust
//
// A [Block] can only be made by [NewBlock], which reports everything that is wrong at once. Only
// the operator and the host make anchors, which are never cut or dropped. Recalled text is data: it
// becomes one line, escaped, after what the host knows of its memory. Whatever the text contains, it
// can't begin another line or end the group of lines.
//
// # Assembly
//
// [Assemble] is a pure function of its input, and the order of the blocks in it never
// matters. It has nine steps; the comments of the functions in assemble.go number them.
//
// # Storage
//
// A snapshot is stored without its payloads. The payloads are stored separately, by digest. A
// payload with a memory's text has the memory's id in its key, so that a purge finds and removes
// it. Its digest is keyed with the memory's salt: once the payload and the salt are gone, nothing
// can be guessed from the digest. The snapshot's own digest is over the digests of its payloads, so
// a purge breaks no proof.
//
// It is internal to Reflectory: its API may change in any release.
package inject
