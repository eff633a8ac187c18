// Package journal records what happened, so that later changes to the record are
// detected: an append-only chain of events per stream, in which each entry holds the hash
// of the previous one.
//
// A stream holds events that have their own order, such as a run's, so writers to
// different streams don't contend. Events are written in the same transaction as what
// they report: either both exist or neither does. They hold digests, never content, so
// deleting content leaves the chain intact.
//
// # Keys
//
//	event/<stream> 00 <seq, 8 bytes big-endian>   the entry, as JSON
//	event-head/<stream>                           {"seq","hash"} of the last one
//	event-new/<stream> 00 <seq>                   empty: that head isn't in the root yet
//	event-start/<stream>                          {"seq","seal"} of where it begins, if it was pruned
//
// # Root
//
// The stream "root" records the heads of the other streams: each of its entries has the
// heads that changed since the last entry. A reader that keeps the root's head elsewhere
// can later prove that nothing before it was changed or cut off, in any stream. See
// [Rooter].
//
// # Pruning
//
// The beginning of a run's stream, or of a policy point's decisions, may be removed once
// it is in a file ([Tx.Prune]). Its seal, an event in the stream "pruned", has the hash
// that the rest of the stream continues from.
//
// # Hash
//
// An entry's hash is the SHA-256 of these fields, in this order. Numbers are 8
// bytes big-endian, and every text is preceded by its length as such a number.
//
//	"reflectory event 1" · stream · seq · at (Unix nanoseconds) · type · data · prev [· subject]
//
// data is the event's JSON exactly as stored; prev is the previous entry's hash as it is
// written ("sha256:…"), and "" for the first entry. The subject is left out if there is
// none, so that entries from before there were subjects keep their hashes; since every
// text is preceded by its length, the two forms can't be confused.
//
// It is internal to Reflectory: its API may change in any release.
package journal
