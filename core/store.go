package core

import (
	"context"
)

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
	// commit, and the deleted keys themselves. Where a reader that began before
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

// PrefixEnd is the first key after all keys that start with prefix; nil, which is
// the end of all keys, where there is none.
func PrefixEnd(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xff {
			end := append([]byte{}, prefix[:i+1]...)
			end[i]++
			return end
		}
	}
	return nil
}

// ScanPrefix is [Reader.Scan] over the keys that start with prefix.
func ScanPrefix(r Reader, prefix []byte, fn func(key, value []byte) (more bool, err error)) error {
	return r.Scan(prefix, PrefixEnd(prefix), fn)
}

// Suffixes returns what follows prefix in the keys that start with it, in the order
// of the keys, at most so many.
func Suffixes(r Reader, prefix []byte, most int) (list []string, err error) {
	err = ScanPrefix(r, prefix, func(key, _ []byte) (bool, error) {
		list = append(list, string(key[len(prefix):]))
		return len(list) < most, nil
	})
	return list, err
}

// updateStep is how many keys one transaction of [UpdateEach] looks at: few enough
// that it seldom meets another.
const updateStep = 500

// UpdateEach calls fn for each key that starts with prefix, in the order of the
// keys and in transactions of bounded size. fn may run again for the same key, so it
// must have no effects outside tx; it may delete the key.
func UpdateEach(ctx context.Context, s Store, prefix string, fn func(tx Tx, key string) error) error {
	for from := []byte(prefix); from != nil; {
		var next []byte
		err := s.Update(ctx, func(tx Tx) error {
			keys, err := keysFrom(tx, from, PrefixEnd([]byte(prefix)))
			if err != nil {
				return err
			}
			for _, key := range keys {
				if err := fn(tx, key); err != nil {
					return err
				}
			}
			if next = nil; len(keys) == updateStep {
				next = []byte(keys[len(keys)-1] + "\x00")
			}
			return nil
		})
		if err != nil {
			return err
		}
		from = next
	}
	return nil
}

// keysFrom are the first keys of a range, as many as one transaction looks at.
func keysFrom(r Reader, from, to []byte) (keys []string, err error) {
	err = r.Scan(from, to, func(key, _ []byte) (bool, error) {
		keys = append(keys, string(key))
		return len(keys) < updateStep, nil
	})
	return keys, err
}

// Problem is something that is wrong with what is stored.
type Problem struct {
	// Part says whose data it is, such as "runs" or "journal".
	Part string `json:"part"`
	// Key is the key at fault, readable: what isn't text in it is written out.
	Key string `json:"key"`
	// Message says what is wrong. It holds no content.
	Message string `json:"message"`
	// Rebuildable is whether [Rebuilder.Rebuild] fixes it.
	Rebuildable bool `json:"rebuildable,omitempty"`
}

// Checker proves that what a part stores agrees with itself: records with their
// indices, links and events.
type Checker interface {
	// Check reports each problem that it finds, in the order of the keys, with
	// memory that doesn't grow with the store. An error is one of the store, or
	// ctx's end: problems are none.
	Check(ctx context.Context, r Reader, report func(Problem)) error
}

// Rebuilder is a [Checker] whose part keeps keys that follow from its others,
// such as indices.
type Rebuilder interface {
	Checker
	// Derived are the prefixes of these keys. Exports leave them out.
	Derived() []string
	// Rebuild makes the derived keys agree with the records: it writes those that
	// are missing and deletes those that are stray, in transactions of bounded
	// size. It may be repeated after it was interrupted.
	Rebuild(ctx context.Context, s Store) error
}

// Prover is a [Checker] whose part keeps records that events prove, so that both can be
// copied to another store together.
type Prover interface {
	Checker
	// Proven lists the records that a stream of the journal proves.
	Proven(ctx context.Context, r Reader, stream string) ([]Proven, error)
}

// Proven is a record that events prove.
type Proven struct {
	Key []byte
	// Excludes is a key that no store may have together with this one; nil for none.
	Excludes []byte
	// Needs are keys of which one has to come along; none for no such need.
	Needs [][]byte
}

// Prunable is a beginning of a stream of the journal that may be removed, once it is in a
// file, with the records that its events tell of.
type Prunable struct {
	Stream string
	// First and Last are the numbers of its entries.
	First, Last uint64
	// Records are the keys of the records that the file holds too.
	Records [][]byte
	// Others are the keys that go without being in the file: what follows from the records.
	Others [][]byte
	// Emptied are the keys that stay without their values, which aren't in the file: a
	// purge of a memory couldn't find them there, but has to say who was given it.
	Emptied [][]byte
}

// Pruner is a part of a store whose older events and records may be pruned.
type Pruner interface {
	// Prunable calls fn for what may be pruned, stream by stream, until it returns false
	// or an error. A call on a later snapshot goes on after what fn was given. A stream
	// that may be cut is given in parts of at most so many entries. What is damaged is an
	// error: it stays, as evidence.
	Prunable(ctx context.Context, r Reader, entries int, fn func(Prunable) (more bool, err error)) error
}
