package search

import (
	"context"
	"hash/maphash"
	"sync"
)

// Change is one document that changed in the store.
type Change struct {
	Namespace string
	ID        string
	// Version is Doc's, or the one that the document went with.
	Version int64
	// Doc is what it is now; nil where it can't be found any more.
	Doc *Doc
	// SupersededBy, where set, is all that changed: this memory supersedes it.
	SupersededBy string
}

// space is a namespace: cold until its contents are loaded, and again once they
// are given up.
type space struct {
	namespace string
	seed      maphash.Seed
	// used is the last search that needed it; the index's mutex guards it.
	used int64

	mu       sync.Mutex
	contents *contents // nil while cold or loading
	bytes    int64     // what the contents took at the last look
	// loading is closed when the load under way ends; nil without one. Changes wait
	// in late for it, since what it reads may be older.
	loading chan struct{}
	late    []Change
}

// apply keeps the contents in step with a commit, and returns by how much they
// grew. A cold space ignores it: what is loaded later includes it.
func (s *space) apply(c Change) (grown int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.contents != nil:
		s.contents.apply(c)
		return s.look()
	case s.loading != nil:
		s.late = append(s.late, c)
	}
	return 0
}

// look notes how large the contents are, and returns the difference.
func (s *space) look() (grown int64) {
	before := s.bytes
	s.bytes = s.contents.bytes()
	return s.bytes - before
}

// load returns the contents with words of a language, and by how much they grew. Of
// several callers on a cold space one loads and the others wait; if it fails, the
// next tries. Contents of another language are given up for it.
func (s *space) load(ctx context.Context, source Source, language string) (*contents, int64, error) {
	for {
		s.mu.Lock()
		c, wait := s.contents, s.loading
		if c != nil && c.language != language {
			c = nil
		}
		if c == nil && wait == nil {
			s.contents, s.loading = nil, make(chan struct{})
			s.mu.Unlock()
			return s.fill(ctx, source, language)
		}
		s.mu.Unlock()
		if c != nil {
			return c, 0, nil
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		}
	}
}

// fill reads the contents. Nothing is locked meanwhile, so commits go on.
func (s *space) fill(ctx context.Context, source Source, language string) (*contents, int64, error) {
	fresh, err := read(ctx, source, s.namespace, language, s.seed)
	s.mu.Lock()
	defer s.mu.Unlock()
	late := s.late
	s.late = nil
	close(s.loading)
	s.loading = nil
	if err != nil {
		return nil, 0, err
	}
	for _, c := range late {
		fresh.apply(c)
	}
	s.contents = fresh
	return fresh, s.look(), nil
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

// forget gives the contents up, also of a load under way, so that the next search
// reads the store again. It returns how large they were.
func (s *space) forget(ctx context.Context) (freed int64, err error) {
	for {
		s.mu.Lock()
		wait := s.loading
		s.mu.Unlock()
		if wait == nil {
			return s.drop(), nil
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
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
