// Package decisions keeps what policies decided: an event of each decision in the
// journal, and next to it a record of what it was decided on. A replay decides the
// records again under other policies.
//
// A decision doesn't wait for the store: decisions are gathered, and written
// many at a time. What couldn't be written is counted, reported when the log is
// closed, and is in the next event that can be written.
//
// # Keys
//
//	decision/<id>   the record: the decision with its inputs and its output, as JSON
//
// A decision takes some 1.2 KB of an export (reflect) to 1.6 KB (gate, retention): its
// event .7 KB, its record .5 to .9. A record of large inputs, such as a loop's, has up
// to 1 MiB (policy.MaxRecordBytes). [Pruner] finds the old ones.
//
// An id is a UUIDv7, so records are in the order in which they were decided. The
// event of a decision, in the stream decision/<point>, holds the digest of its
// record and no content: a record may be deleted, and the chain stays whole.
package decisions
