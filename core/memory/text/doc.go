// Package text finds documents by the words that they share with a query, in any
// form and with or without accents: words are stemmed by a [Language] (Snowball), and
// what says little in it is left out. An exact form counts more than another of the
// same stem. Identifiers, and words of other scripts, are held as they are. It is
// a BM25 index in memory, exact after each change: nothing in a score depends on
// what was there before, or in which order it came.
//
// Documents are numbered by the caller, with small numbers that may be used again
// after a removal.
package text
