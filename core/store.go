package core

import "context"

// Store is a transactional key-value store: serializable transactions over
// ordered byte keys. Nothing in it assumes a single writer or one machine, so
// an embedded engine and a distributed SQL engine can both stand behind it.
type Store interface {
	// View runs fn on a consistent snapshot.
	View(ctx context.Context, fn func(Reader) error) error
	// Update runs fn in a serializable transaction and commits what it wrote,
	// all or nothing. When it returns nil the writes are durable. On a conflict
	// with another transaction fn runs again, so it must have no effects outside
	// tx; after too many conflicts the error is sdk.Conflict. An error of fn
	// rolls back and is returned as it is.
	Update(ctx context.Context, fn func(Tx) error) error
}

// Scrubber is a [Store] that keeps what was deleted in files until it is overwritten,
// and can remove it at once.
type Scrubber interface {
	// MarkPurged notes, in the transaction that deletes or overwrites keys, that what
	// they held has to leave the store's files too. The note is as durable as the
	// transaction. Each purge has a name of its own.
	MarkPurged(tx Tx, name string, keys [][]byte) error
	// Scrub removes from the store's files what the noted keys held before their last
	// commit, and those of the keys that were deleted. Where a reader that began before
	// holds it for longer, held names that reader. What is left then, or after an error
	// or a crash, goes with the next Scrub, when the store is closed, or when it is
	// opened. A deleted key that bounds a file may stay in the store's list of files
	// until it is closed; values never do.
	Scrub(ctx context.Context) (held string, err error)
}

// Reader reads one snapshot. It is valid only inside its View or Update and is
// not safe for concurrent use.
type Reader interface {
	// Get returns the value of a key and whether it is there. The caller owns
	// the value.
	Get(key []byte) (value []byte, found bool, err error)
	// Scan calls fn for each pair with from <= key < to in key order, newest
	// writes of the transaction included, until fn returns false or an error.
	// An empty to means the end. Key and value are valid only during the call.
	Scan(from, to []byte, fn func(key, value []byte) (more bool, err error)) error
}

// Tx reads and writes in one transaction. It keeps no reference to its arguments.
type Tx interface {
	Reader
	Put(key, value []byte) error
	Delete(key []byte) error
}
