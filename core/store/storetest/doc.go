// Package storetest is the conformance suite of [core.Store]: every engine
// passes [Run], and [Model] compares two engines on random operations.
//
// The suite interleaves transactions by running one inside another's function, without
// goroutines, so that each case is deterministic. So an engine must not make a
// transaction wait for one that has only read.
//
// It is internal to Reflectory: its API may change in any release.
package storetest
