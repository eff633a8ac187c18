// Package pebble is the store on disk, on the Pebble engine. It is the only
// package that imports Pebble.
//
// # Transactions
//
// A transaction reads a snapshot and keeps its writes in memory, so transactions
// never wait for each other while they run. It notes the keys and ranges that it
// read. To commit, it takes the commit mutex for the few microseconds that it
// needs to compare these with what was committed since its snapshot and to hand
// its batch to Pebble's log; any overlap is a conflict, and it runs again. That
// makes transactions serializable, in the order of their commits. The wait for
// the disk comes after the mutex, so that one fsync serves all who wait.
//
// # Durability
//
// A commit is visible to others before it is on disk. No one can act on it too
// early: a transaction that read it and commits has its own log record behind
// it, and an fsync covers all records before the one it was asked for; a View,
// and an Update that wrote nothing, returns only after the newest commit that it
// may have seen is on disk.
//
// # Failures
//
// Pebble ends the process when its log or manifest can't be written. Here, the
// first failed write freezes the store instead (guard.go): what is on disk stays
// as a crash at that moment would leave it, the calls under way and all later
// writes return sdk.Unavailable, reason "store_io", and reads go on. They may
// show a write whose call failed: whether that one is on disk is unknown until
// the store is opened again.
package pebble
