// Package journal keeps what happened, so that a later change of it shows: an
// append-only chain of events per stream, each entry holding the hash of the one
// before it.
//
// A stream is whatever should be ordered by itself, such as a run, so writers to
// different streams don't contend. Events are written inside the transaction
// that does what they tell of: either both are there or neither is. They hold
// digests, never content, so that deleting content leaves the chain whole.
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
// The stream "root" records the heads of the other streams: each of its entries
// the ones that changed since the last. A reader that keeps its head elsewhere can prove
// later that nothing was changed or cut off before, in any stream. See [Rooter].
//
// # Pruning
//
// The beginning of a run's stream or of a policy point's decisions may be removed once it
// is in a file ([Tx.Prune]). Its seal, an event in the stream "pruned", has the hash that
// the rest follows from.
//
// # Hash
//
// An entry's hash is the SHA-256 of these fields, in this order. Numbers are 8
// bytes big-endian, and every text is preceded by its length as such a number.
//
//	"reflectory event 1" · stream · seq · at (Unix nanoseconds) · type · data · prev [· subject]
//
// Data is the event's JSON exactly as stored, prev the hash before it as it is
// written ("sha256:…"), and "" for the first entry. The subject is left out where there is
// none, so that entries from before there were subjects keep their hashes; since every
// text has its length before it, none can be taken for another.
package journal
