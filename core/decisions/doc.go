// Package decisions records what policies decided: an event of each decision in the
// journal, and next to it a record of the inputs. A replay decides the recorded inputs
// again with other policies.
//
// A decision doesn't wait for the store: decisions are gathered, and written many at a
// time. Decisions that couldn't be written are counted, reported when the log is closed,
// and in the next event that can be written.
//
// # Keys
//
//	decision/<id>   the record: the decision with its inputs and its output, as JSON
//
// A decision takes about 1.2 KB of an export (reflect) to 1.6 KB (gate, retention): .7 KB
// for its event and .5 to .9 for its record. A record with large inputs, such as a
// loop's, may have up to 1 MiB (policy.MaxRecordBytes). [Pruner] finds old decisions.
//
// An id is a UUIDv7, so records are sorted by the time of their decision. The event of a
// decision, in the stream decision/<point>, holds the digest of its record and no
// content: a record may be deleted, and the chain stays intact.
//
// It is internal to Reflectory: its API may change in any release.
package decisions
