// Package feed is what the indices of recall read: all memories or knowledge of a namespace
// when they load it, and what changed since then. How they find what is asked for is
// package search's, which knows no store.
package feed
