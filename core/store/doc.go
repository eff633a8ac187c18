// Package store keeps runs on a transactional key-value store.
//
// The port itself is [core.Store]. This package has what stands on both sides
// of it: the key layout and format version (FORMAT.md), the repository of runs
// ([Runs]), and the limits and errors that every engine shares. The engines are
// store/pebble, on disk, and store/mem, the reference; store/storetest is the
// conformance suite that both pass.
package store
