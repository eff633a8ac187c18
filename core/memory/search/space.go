package search

import (
	"context"
	"sync"
)

// Contents are the state of the store at one entry of the namespace's stream, and they
// only move forward: to a later entry, by the changes between the two. So there is one
// order of changes, the journal's, and no change can overtake another; a commit needn't
// notify an index, and it doesn't matter which process made it.

const (
	// alwaysFollowed is how many entries of a stream are followed in any case, which
	// takes about 40 ms.
	alwaysFollowed = 1000
	// docsPerEntry is how many documents load in the time in which one entry is followed
	// (measured: 17 µs each against 38, in 10,000 memories). If following would take
	// longer than loading, the contents are loaded.
	docsPerEntry = 2
)

// space is a namespace in the index: cold until its contents are loaded, and again once
// they are dropped.
type space struct {
	namespace string
	// used is the number of the last search that needed it; the index's mutex guards it.
	used int64

	mu       sync.Mutex
	contents *contents // nil while cold or loading
	seq      uint64    // the entry of the stream that the contents are at
	bytes    int64     // the size of the contents when last measured
	// moving is closed when the goroutine that loads or updates the contents is done; nil
	// if there is none.
	moving chan struct{}
	// changed counts the documents that changed since the contents were kept, and unkept is whether
	// much of them isn't kept at all. keeping is whether a goroutine keeps them.
	changed         int
	unkept, keeping bool
	// restored is whether the contents were kept by an earlier program.
	restored bool
}

const (
	// keptShare is the share of the documents, as a divisor, of which so many have changed that the
	// contents are kept again.
	keptShare = 8
	// keptAtEnd is how many of them are enough at the end of the program: half of what a load follows
	// in any case.
	keptAtEnd = alwaysFollowed / 2
)

// takeDue reports whether the contents should be kept now, by the caller if so: it calls kept then.
// Fewer documents than least load as fast from the store.
func (s *space) takeDue(least int, atEnd bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.contents == nil || s.keeping {
		return false
	}
	documents := s.contents.documents()
	if documents < least || !s.unkept && s.changed*keptShare < documents && !(atEnd && s.changed >= keptAtEnd) {
		return false
	}
	s.keeping, s.unkept, s.changed = true, false, 0
	return true
}

// kept notes that a try to keep the contents ended. After a failure, the end of the program is the
// next time to try.
func (s *space) kept(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keeping = false
	if err != nil {
		s.changed += keptAtEnd
	}
}

// at is the entry of the stream that contents are at or after, if they are the space's.
func (s *space) at(c *contents) (seq uint64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seq, s.contents == c
}

// look measures the contents, and returns by how much they grew.
func (s *space) look() (grown int64) {
	before := s.bytes
	s.bytes = s.contents.bytes()
	return s.bytes - before
}

// reach returns the contents at a position or a later one, and by how much they grew. If
// several callers need newer contents, one gets them and the others wait; if it fails,
// the next one tries. A caller whose contents are new enough doesn't wait.
func (s *space) reach(ctx context.Context, x *Index, p Position) (*contents, int64, error) {
	for {
		s.mu.Lock()
		c, seq, moving := s.contents, s.seq, s.moving
		if c != nil && c.language != p.Language {
			c = nil
		}
		if c != nil && seq >= p.Seq {
			s.mu.Unlock()
			return c, 0, nil
		}
		if moving == nil {
			s.moving = make(chan struct{})
			s.mu.Unlock()
			return s.move(ctx, x, p, c, seq)
		}
		s.mu.Unlock()
		select {
		case <-moving:
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		}
	}
}

// move updates contents from their sequence by what changed since. It loads new ones if
// there are none in the language, or if too much changed: what is kept of them, or else everything.
// It locks only the contents, while they change.
func (s *space) move(ctx context.Context, x *Index, p Position, c *contents, seq uint64) (_ *contents, grown int64, err error) {
	restored, whole, complete, changed := false, true, false, 0
	if c == nil && x.options.Keeper != nil {
		c, seq, whole = x.restore(ctx, s.namespace, p.Language)
		restored = c != nil
	}
	if c != nil && c.isNear(seq, p) {
		seq, changed, complete, err = c.follow(ctx, x.source, s.namespace, seq)
	}
	loaded := err == nil && !complete
	if loaded {
		c, seq, err = read(ctx, x.source, s.namespace, p.Language, x.options.Holds)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.moving)
	s.moving = nil
	if err != nil {
		return nil, 0, err
	}
	if loaded || restored {
		s.contents, s.changed, s.restored = c, 0, !loaded
		s.unkept = loaded || !whole
	}
	if s.contents == c { // they weren't dropped meanwhile
		s.seq, grown = seq, s.look()
		s.changed += changed
	}
	return c, grown, nil
}

// drop drops the contents, and returns their size. A search that holds them may continue
// with them.
func (s *space) drop() (freed int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	freed = s.bytes
	s.contents, s.bytes = nil, 0
	return freed
}

// count is how many documents there are, how many can't be read, and whether an earlier program kept
// them, if they are loaded.
func (s *space) count() (documents, damaged int, restored, warm bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.contents == nil {
		return 0, 0, false, false
	}
	documents, damaged = s.contents.count()
	return documents, damaged, s.restored, true
}
