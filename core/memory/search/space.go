package search

import (
	"context"
	"hash/maphash"
	"sync"
)

// Contents are what the store held as of one entry of the namespace's stream, and go
// forward only: from that entry to a later one, by what changed between them. So there is
// one order of changes, the journal's, and nothing that may overtake another; a commit
// does nothing for an index, and it doesn't matter which process made it.

const (
	// alwaysFollowed is how many entries of a stream are followed in any case, which
	// takes about 40 ms.
	alwaysFollowed = 1000
	// docsPerEntry is how many documents load in the time in which one entry is
	// followed (measured: 17 µs each against 38, in 10,000 memories). A longer way
	// than that is loaded.
	docsPerEntry = 2
)

// space is a namespace: cold until its contents are loaded, and again once they
// are given up.
type space struct {
	namespace string
	seed      maphash.Seed
	// used is the last search that needed it; the index's mutex guards it.
	used int64

	mu       sync.Mutex
	contents *contents // nil while cold or loading
	seq      uint64    // what the contents have, by the stream's entries
	bytes    int64     // what the contents took at the last look
	// moving is closed when the one who loads the contents, or takes in what changed,
	// is done; nil without one.
	moving chan struct{}
}

// look notes how large the contents are, and returns the difference.
func (s *space) look() (grown int64) {
	before := s.bytes
	s.bytes = s.contents.bytes()
	return s.bytes - before
}

// reach returns the contents at a position or after it, and by how much they grew. Of
// several callers that need more than there is one gets it and the others wait; if it
// fails, the next tries. Who has enough waits for nobody.
func (s *space) reach(ctx context.Context, source Source, p Position) (*contents, int64, error) {
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
			return s.move(ctx, source, p, c, seq)
		}
		s.mu.Unlock()
		select {
		case <-moving:
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		}
	}
}

// move has contents, which are at a sequence, take in what changed since, and loads new
// ones where there are none of the language, or the way is too far. It locks nothing
// but the contents, while they change.
func (s *space) move(ctx context.Context, source Source, p Position, c *contents, seq uint64) (_ *contents, grown int64, err error) {
	complete := false
	if c != nil && p.Seq-seq <= uint64(max(alwaysFollowed, c.documents()/docsPerEntry)) {
		seq, complete, err = source.Changes(ctx, s.namespace, seq, func(id string, d *Doc) error {
			c.apply(id, d)
			return ctx.Err()
		})
	}
	loaded := err == nil && !complete
	if loaded {
		c, seq, err = read(ctx, source, s.namespace, p.Language, s.seed)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.moving)
	s.moving = nil
	if err != nil {
		return nil, 0, err
	}
	if loaded {
		s.contents = c
	}
	if s.contents == c { // they weren't given up meanwhile
		s.seq, grown = seq, s.look()
	}
	return c, grown, nil
}

// drop gives the contents up, and returns how large they were. A search that has
// them may go on with them.
func (s *space) drop() (freed int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	freed = s.bytes
	s.contents, s.bytes = nil, 0
	return freed
}

// count is how many documents there are and how many can't be read, where they
// are loaded.
func (s *space) count() (documents, damaged int, warm bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.contents == nil {
		return 0, 0, false
	}
	documents, damaged = s.contents.count()
	return documents, damaged, true
}
