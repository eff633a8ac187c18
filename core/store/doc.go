// Package store is what every transactional key-value store shares.
//
// The port itself is [core.Store]. This package has what callers and engines share: the format
// version and its migrations (FORMAT.md is the table of all keys); check, export, import, merge and
// pruning of a whole store; the limits and errors of the engines; and what servers on one store
// know about each other: hosts, leases, fences. There are three engines: store/pebble, on disk,
// store/postgres, a database for several hosts, and store/mem, the reference. All of them pass
// store/storetest, the conformance suite.
//
// It is internal to Reflectory: its API may change in any release.
package store
