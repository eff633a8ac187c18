// Package record is memories as a store keeps them: the keys of all records, their bytes,
// and the transaction that writes them.
//
// A change of a memory is several records at once: the memory, its indices, its links, what
// its namespace counts, and the entries of the journal that say so and prove it. Each of the
// packages around this one writes some of them, so all go through one transaction, [Tx],
// which counts and proves at its end what it was given to write. This package knows nothing
// of why something is written: whether a transition is allowed, or what a turn makes of a
// memory, is its callers' to decide.
//
// It is internal to core/memory, since who can get a [Tx] can purge without a decision of
// the gate, or write a state that no transition leads to.
//
// All keys are in key.go, also of turns and knowledge, since their layout is one table with
// one golden test. What is derived from records is written with them here, and can be
// computed again from them: see package check.
package record
