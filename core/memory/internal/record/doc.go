// Package record is the stored form of memories: the keys of all records, their bytes,
// and the transaction that writes them.
//
// A change of a memory is several records at once: the memory, its indices, its links,
// the counts of its namespace, and the journal entries that report and prove it. Each of
// the packages around this one writes some of them, so all use one transaction, [Tx],
// which at its end writes the counts and the proofs. This package doesn't know why
// something is written: whether a transition is allowed, or how a turn changes a memory,
// is decided by its callers.
//
// It is internal to core/memory, because code that can get a [Tx] can purge without a
// decision of the gate, or write a state that no transition leads to.
//
// All keys are in key.go, including the keys of turns and knowledge, because their layout is
// one table with one golden test. Data derived from records is written with them here, and
// can be computed again from them: see package check.
package record
