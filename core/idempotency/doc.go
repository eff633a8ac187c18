// Package idempotency stores the outcomes of calls that have an idempotency key, so that a
// caller who doesn't know whether a call was done may simply repeat it.
//
// A key belongs to its caller: two subjects may use the same key independently. For
// [Lifetime] only the first call with a key is done. A second call with the same request
// gets the outcome of the first, or waits for it; a call with another request is refused.
//
// # What a crash leaves
//
// A call claims its key before it does anything. Its first write sets a mark on the claim
// in the same transaction (see [core.WithMark]), and its outcome is recorded when it ends.
// So after a crash the store shows how far it came:
//
//   - no claim: nothing was done, and the next call is the first;
//   - a claim without a mark: nothing was written, and the next call takes it over;
//   - a mark without an outcome: something was written, perhaps everything. A call that changes nothing more when it is repeated, since what it makes carries the claim's name, is repeated, and has the outcome of the first. Any other call is refused, with the reason "outcome_unknown", until the key expires. It is never done twice;
//   - an outcome: it is given again.
//
// A claim whose host is gone is recognised by its owner, since each host that opens a store
// has a new name. If several hosts work on a store at once, a claim of another host is taken
// over once that host's beat has stopped. Should the host live after all, it writes nothing
// more for the call: each of its transactions checks the claim.
//
// # Keys
//
//	idempotency/<digest>                  the record
//	idempotency-time/<at(8)>/<digest>     empty; the oldest first, for expiry
//	idempotency-memory/<memory>/<digest>  empty; one for each memory that the outcome mentions
//
// The digest is the SHA-256 of the JSON list [subject, key], in hexadecimal. Nothing else
// depends on these records. They are a promise of this store to its callers, not something
// that was learned. So exports leave them out, like caches, and an imported store begins
// without them. The journal doesn't mention them.
//
// An outcome may quote a memory, and the digest of a request may prove one's text. So a
// purge of the memory removes both, and leaves only that the key was used.
//
// It is internal to Reflectory: its API may change in any release.
package idempotency
