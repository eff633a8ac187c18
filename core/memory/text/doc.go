// Package text finds documents by the words that they share with a query, in any
// form and with or without accents: words are stemmed by a [Language] (Snowball), and words
// that say little in that language are left out. An exact form counts more than another
// form with the same stem. Identifiers, and words of other scripts, are kept as they are.
// It is a BM25 index in memory, exact after each change: no score depends on documents that
// were removed, or on the order in which documents were added.
//
// Documents are numbered by the caller, with small numbers that may be used again
// after a removal.
//
// It is internal to Reflectory: its API may change in any release.
package text
