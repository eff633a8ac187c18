package core

import "context"

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

// Compacter is a [Store] that keeps the room of what was deleted until it is compacted.
type Compacter interface {
	// Compact gives back the room of what was deleted from a key on, and before another.
	// What a reader sees that began before stays until a later one.
	Compact(ctx context.Context, from, to []byte) error
}
