package core

import "context"

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
