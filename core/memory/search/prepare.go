package search

import "context"

// Prepared is a scope that [Index.Prepare] prepared: where its namespaces were at one moment.
type Prepared struct{ positions []Position }

// Prepare prepares a scope for a [Query], which then includes everything that was committed before: it
// reads where the namespaces are, and follows what changed in those that are loaded. Both come from a source that
// its caller has bound to one moment, with all else that it reads at the time. What isn't loaded, or can't
// be followed, is left for the search.
func (x *Index) Prepare(ctx context.Context, from Source, namespace string, subtree bool) (*Prepared, error) {
	positions, err := x.positions(ctx, from, namespace, subtree)
	if err != nil {
		return nil, err
	}
	for _, p := range positions {
		grown, err := x.space(p.Namespace).follow(ctx, from, p)
		x.bytes.Add(grown)
		if err != nil {
			return nil, err
		}
	}
	return &Prepared{positions}, nil
}

// Known is the entry of a namespace's stream that the index is at, if it has it loaded.
func (x *Index) Known(namespace string) (seq uint64, loaded bool) {
	s := x.space(namespace)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seq, s.contents != nil
}

// follow updates loaded contents to a position, and returns by how much they grew. It leaves them
// to [space.reach], which loads and waits, if another caller updates them, if they are too far behind, or
// if what changed isn't known any more.
func (s *space) follow(ctx context.Context, from Source, p Position) (grown int64, err error) {
	s.mu.Lock()
	c, seq := s.contents, s.seq
	if c == nil || c.language != p.Language || seq >= p.Seq || s.moving != nil || !c.isNear(seq, p) {
		s.mu.Unlock()
		return 0, nil
	}
	s.moving = make(chan struct{})
	s.mu.Unlock()
	seq, changed, complete, err := c.follow(ctx, from, s.namespace, seq)
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.moving)
	s.moving = nil
	if err == nil && complete && s.contents == c { // they weren't dropped meanwhile
		s.seq, grown = seq, s.look()
		s.changed += changed
	}
	return grown, err
}

// isNear reports whether contents at an entry of the stream are so near a position that they follow the
// changes between the two. Otherwise it is faster to load.
func (c *contents) isNear(seq uint64, p Position) bool {
	return p.Seq-min(seq, p.Seq) <= uint64(max(alwaysFollowed, c.documents()/docsPerEntry))
}

// follow applies what changed after an entry of the stream, and returns the entry that this leads to and how
// many documents changed. Unless that is complete, the contents have to be loaded.
func (c *contents) follow(ctx context.Context, from Source, namespace string, after uint64) (seq uint64, changed int, complete bool, err error) {
	seq, complete, err = from.Changes(ctx, namespace, after, func(id string, d *Doc) error {
		c.apply(id, d)
		changed++
		return ctx.Err()
	})
	c.settle()
	return seq, changed, complete, err
}
