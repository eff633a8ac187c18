// Package feed reads the store for the indices of recall: all memories or knowledge of a
// namespace when an index loads it, and what changed since then. How the indices search
// is up to package search, which knows no store.
package feed
