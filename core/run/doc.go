// Package run stores runs: what a run started with, each attempt and visit that it
// recorded, and how it ended.
//
// [Repository] is where runs are created, resumed, found and recorded. A record, its
// index and its journal entry are written in one transaction of a [core.Store]. So a
// program that is killed leaves complete steps, and a resume continues after the last
// step. [Checker] proves that records, indices and events agree, [Pruner] finds the
// runs that may be moved to a file, and [Memories] removes a purged memory from the
// results that hold it. [Replies] is the cache of models' replies, which runs share.
//
// The layout of its keys and records is in core/store/FORMAT.md.
//
// It is internal to Reflectory: its API may change in any release.
package run
