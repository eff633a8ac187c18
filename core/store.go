package core

import (
	"context"
)

// Store is a transactional key-value store: serializable transactions over ordered byte
// keys. Nothing in it assumes a single writer or one machine, so an embedded engine and a
// distributed SQL engine can both implement it.
type Store interface {
	// View runs fn on a consistent snapshot.
	View(ctx context.Context, fn func(Reader) error) error
	// Update runs fn in a serializable transaction and commits what it wrote,
	// all or nothing. When it returns nil the writes are durable. On a conflict
	// with another transaction fn runs again, so it must have no effects outside
	// tx; after too many conflicts the error is sdk.Conflict. An error of fn
	// rolls back and is returned unchanged.
	Update(ctx context.Context, fn func(Tx) error) error
}

// View returns what a function reads on a consistent snapshot of a store.
func View[T any](ctx context.Context, s Store, read func(Reader) (T, error)) (out T, err error) {
	err = s.View(ctx, func(r Reader) error {
		out, err = read(r)
		return err
	})
	return out, err
}

// Scrubber is a [Store] whose files keep deleted data until it is overwritten, and that
// can remove such data at once.
type Scrubber interface {
	// MarkPurged notes, in the transaction that deletes or overwrites keys, that their
	// old values have to be removed from the store's files too. The note is as durable as
	// the transaction. Each purge has its own name.
	MarkPurged(tx Tx, name string, keys [][]byte) error
	// Scrub removes from the store's files the values that the noted keys had before
	// their last commit, and the deleted keys themselves. If a reader that began earlier
	// holds the data for too long, held names that reader. Data that remains in this case,
	// or after an error or a crash, is removed by the next Scrub, when the store is closed,
	// or when it is opened. A deleted key at the boundary of a file may stay in the store's
	// list of files until the store is closed; values never stay.
	Scrub(ctx context.Context) (held string, err error)
}

// ScrubberWithCopies is a [Scrubber] whose data is also in copies outside of this
// program.
type ScrubberWithCopies interface {
	Scrubber
	// RetainedIn names what keeps purged data after a Scrub until it is recycled, such as
	// "wal", "standby" and "backup". The caller doesn't change the list.
	RetainedIn() []string
}

// Reader reads one snapshot. It is valid only inside its View or Update and is
// not safe for concurrent use.
type Reader interface {
	// Get returns the value of a key and whether it exists. The caller owns the value.
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

// Reads are keys and prefixes that a function is about to read, and ranges that it is about to scan.
type Reads struct {
	Keys, Prefixes [][]byte
	Ranges         []Range
}

// Range is the keys from <= key < to, as in [Reader].Scan.
type Range struct{ From, To []byte }

// ReaderWithPrefetch is a [Reader] of a store that is far away.
type ReaderWithPrefetch interface {
	Reader
	// Prefetch reads all of it in one round trip, but for what an earlier one read, and keeps it for
	// the reader's Get and Scan. It changes no result.
	Prefetch(Reads) error
}

// Prefetch reads what will be read next in one round trip, if the reader's store is far
// away. Otherwise it does nothing, and doesn't call next.
func Prefetch(r Reader, next func() Reads) error {
	far, ok := r.(ReaderWithPrefetch)
	if !ok {
		return nil
	}
	if reads := next(); len(reads.Keys)+len(reads.Prefixes)+len(reads.Ranges) > 0 {
		return far.Prefetch(reads)
	}
	return nil
}

// PrefixEnd is the first key after all keys that start with prefix; nil, which means the
// end of all keys, if there is none.
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

// Suffixes returns the rest of the keys that start with prefix, in the order of the keys;
// most limits their number.
func Suffixes(r Reader, prefix []byte, most int) (list []string, err error) {
	err = ScanPrefix(r, prefix, func(key, _ []byte) (bool, error) {
		list = append(list, string(key[len(prefix):]))
		return len(list) < most, nil
	})
	return list, err
}

// updateStep is how many keys one transaction of [UpdateEach] handles: few enough that it
// rarely conflicts with others.
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

// keysFrom are the first keys of a range, as many as one transaction handles.
func keysFrom(r Reader, from, to []byte) (keys []string, err error) {
	err = r.Scan(from, to, func(key, _ []byte) (bool, error) {
		keys = append(keys, string(key))
		return len(keys) < updateStep, nil
	})
	return keys, err
}

// Problem is something that is wrong with stored data.
type Problem struct {
	// Part is the part whose data it is, such as "runs" or "journal".
	Part string `json:"part"`
	// Key is the key at fault, in readable form.
	Key string `json:"key"`
	// Message describes what is wrong. It holds no content.
	Message string `json:"message"`
	// Rebuildable is whether [Rebuilder.Rebuild] fixes it.
	Rebuildable bool `json:"rebuildable,omitempty"`
}

// Checker proves that the data of a part is consistent: records with their indices, links
// and events.
type Checker interface {
	// Check reports each problem that it finds, in the order of the keys, with memory
	// that doesn't grow with the store. An error comes from the store or from ctx;
	// problems aren't errors.
	Check(ctx context.Context, r Reader, report func(Problem)) error
}

// Rebuilder is a [Checker] whose part has keys that are derived from its others, such as
// indices.
type Rebuilder interface {
	Checker
	// Derived are the prefixes of these keys. Exports leave them out.
	Derived() []string
	// Rebuild makes the derived keys agree with the records: it writes missing keys and
	// deletes stray keys, in transactions of bounded size. It may be repeated after an
	// interruption.
	Rebuild(ctx context.Context, s Store) error
}

// Prover is a [Checker] whose part has records that events prove, so that both can be
// copied to another store together.
type Prover interface {
	Checker
	// Proven lists the records that a stream of the journal proves.
	Proven(ctx context.Context, r Reader, stream string) ([]Proven, error)
}

// Proven is a record that events prove.
type Proven struct {
	Key []byte
	// Excludes is a key that no store may have together with this record; nil if there is
	// none.
	Excludes []byte
	// Needs are keys of which at least one has to be copied too; none if it needs
	// nothing.
	Needs [][]byte
}

// Prunable is the beginning of a journal stream that may be removed, once it is in a
// file, with the records that its events report.
type Prunable struct {
	Stream string
	// First and Last are the numbers of its entries.
	First, Last uint64
	// Records are the keys of the records that the file holds too.
	Records [][]byte
	// Others are keys that are removed without being in the file: data derived from the
	// records.
	Others [][]byte
	// Emptied are keys that stay in the store without their values. The values aren't in the
	// file, where a purge of a memory couldn't find them; the keys let a purge report which
	// runs received the memory.
	Emptied [][]byte
	// Remove, if set, changes other data that is derived from the records, such as a count
	// of them, in the transaction that removes the records. It may run again.
	Remove func(Tx) error
}

// Pruner is a part of a store whose older events and records may be pruned.
type Pruner interface {
	// Prunable calls fn for what may be pruned, stream by stream, until fn returns false or
	// an error. A call on a later snapshot continues after the last part that fn received. A
	// stream that may be split is passed in parts of at most that many entries. Damaged data
	// is an error and isn't removed: it is evidence.
	Prunable(ctx context.Context, r Reader, entries int, fn func(Prunable) (more bool, err error)) error
}
