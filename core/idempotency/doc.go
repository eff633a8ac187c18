// Package idempotency keeps what came of calls that have an idempotency key, so that a
// caller who doesn't know whether a call was done may simply make it again.
//
// A key is a caller's: the same key of two subjects is two keys. For [Lifetime] the first
// call with it is the only one that is done. Another with the same request gets the outcome
// of the first, or waits for it; one with another request is refused.
//
// # What a crash leaves
//
// A call claims its key before it does anything. Its first write sets a mark on the claim
// in the same transaction (see [core.WithMark]), and its outcome is recorded when it ends.
// So after a crash the store says how far it came:
//
//   - no claim: nothing was done, and the next call is the first;
//   - a claim without a mark: nothing was written, and the next call takes it over;
//   - a mark without an outcome: something was written, perhaps all. A call that may be
//     repeated, since it changes nothing more, is: it comes to what the first one came to.
//     Any other is refused, with the reason "outcome_unknown", until the key expires. It is
//     never done twice;
//   - an outcome: it is given again.
//
// A claim whose host is gone is recognised by its owner: each host that opens a store is a new
// one. Where several hosts work on a store at once, another's claim is never taken over:
// nothing says whether that host is gone.
//
// # Keys
//
//	idempotency/<digest>                  the record
//	idempotency-time/<at(8)>/<digest>     empty; the oldest first, for expiry
//	idempotency-memory/<memory>/<digest>  empty; one for each memory that the outcome tells of
//
// The digest is the SHA-256 of the JSON list [subject, key], in hexadecimal. Nothing else
// rests on these records, and they are a promise of this store to its callers, not
// something that was learnt. So exports leave them out, as they do caches: a store
// that was imported begins without them. The journal doesn't mention them.
//
// An outcome may quote a memory, and the digest of a request may prove one's text. So a
// purge of the memory removes both, and leaves only that the key was used.
package idempotency
