// Package store is what every transactional key-value store shares.
//
// The port itself is [core.Store]. This package has what is on both sides of it:
// the format version and its migrations (FORMAT.md is the table of all keys), check,
// export, import, merge and pruning of a whole store, each by the parts that it is
// given, and the limits and errors of the engines. The engines are
// store/pebble, on disk, and store/mem, the reference; store/storetest is the
// conformance suite that both pass.
package store
