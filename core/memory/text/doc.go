// Package text finds documents by the words that they share with a query. It is
// a BM25 index in memory, exact after each change: nothing in a score depends on
// what was there before, or in which order it came.
//
// Documents are numbered by the caller, with small numbers that may be used again
// after a removal.
package text
