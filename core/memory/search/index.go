package search

import (
	"cmp"
	"context"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Source is the store as an index reads it. What a namespace holds changes together
// with the number of the last entry of its stream in the journal, its sequence, so that
// the two tell an index what it misses, whichever process wrote it.
type Source interface {
	// Positions returns where a namespace is now, with subtree also those below it, or
	// with subtree and "" all: in order, and only those that were ever written to.
	Positions(ctx context.Context, namespace string, subtree bool) ([]Position, error)
	// Load calls fn for each document of one namespace that can be found, as of one
	// moment that isn't before the call: with nil for one that is damaged. It returns the
	// sequence at that moment. What is given, except its texts, is valid only during fn.
	Load(ctx context.Context, namespace string, fn func(*Doc) error) (seq uint64, err error)
	// Changes calls fn for each document that may have changed after a sequence, by its
	// id: with what it is now, or nil where it can't be found any more. Otherwise it is as
	// Load. It is complete unless nobody knows any more what changed: then fn may
	// have been called for a part.
	Changes(ctx context.Context, namespace string, after uint64, fn func(id string, d *Doc) error) (seq uint64, complete bool, err error)
}

// Position is where a namespace is.
type Position struct {
	Namespace string
	// Seq is its sequence.
	Seq uint64
	// Language is what its words are read in, by a name that [text.LanguageOf] knows.
	Language string
}

// DefaultMaxBytes is how much memory an index takes before it gives namespaces
// up: the size of about 1,000,000 memories with vectors of 384 dimensions.
const DefaultMaxBytes = 3 << 30

// Options set up an index. A zero field is its default.
type Options struct {
	// MaxBytes is about how much memory is taken before namespaces that weren't
	// searched for longest are given up; 0 is [DefaultMaxBytes]. What one search
	// needs is held in any case.
	MaxBytes int64
	// DepthBoost is the factor of reflections, before what their depth adds; 0 is
	// [DefaultDepthBoost], and 1 has none at all.
	DepthBoost float64
	// Plain leaves q and depth out of the score: it is fused alone.
	Plain bool
}

// Index finds documents. It is safe for concurrent use.
type Index struct {
	source  Source
	options Options
	seed    maphash.Seed

	mu     sync.Mutex
	spaces map[string]*space
	// searches counts, to tell which space was used last.
	searches int64
	bytes    atomic.Int64

	background sync.WaitGroup
	cancel     context.CancelFunc
}

// New makes an index that is cold.
func New(source Source, o Options) *Index {
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.DepthBoost == 0 {
		o.DepthBoost = DefaultDepthBoost
	}
	return &Index{source: source, options: o, seed: maphash.MakeSeed(), spaces: map[string]*space{}}
}

// space returns the space of a namespace, a cold one where there was none.
func (x *Index) space(namespace string) *space {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := x.spaces[namespace]
	if s == nil {
		s = &space{namespace: namespace, seed: x.seed}
		x.spaces[namespace] = s
	}
	return s
}

// scope returns the spaces of a namespace, with subtree also those below it, in
// order, with contents that have all that was committed before the call. There is none
// for a namespace that nothing was ever written to. Spaces are loaded where they are cold,
// and others given up for them where memory runs out.
func (x *Index) scope(ctx context.Context, namespace string, subtree bool) ([]*space, []*contents, error) {
	positions, err := x.source.Positions(ctx, namespace, subtree)
	if err != nil {
		return nil, nil, err
	}
	spaces, list := make([]*space, len(positions)), make([]*contents, len(positions))
	for i, p := range positions {
		spaces[i] = x.space(p.Namespace)
		if list[i], err = x.reach(ctx, spaces[i], p); err != nil {
			return nil, nil, err
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.searches++
	for _, s := range spaces {
		s.used = x.searches
	}
	x.shrink(x.searches)
	return spaces, list, nil
}

// reach returns the contents of a space, at a position or after it.
func (x *Index) reach(ctx context.Context, s *space, p Position) (*contents, error) {
	c, grown, err := s.reach(ctx, x.source, p)
	x.bytes.Add(grown)
	return c, err
}

// shrink gives up spaces that weren't used for longest, until the bound is kept
// or only the spaces of the given search are left.
func (x *Index) shrink(search int64) {
	if x.bytes.Load() <= x.options.MaxBytes {
		return
	}
	byUse := slices.SortedFunc(maps.Values(x.spaces), func(a, b *space) int { return cmp.Compare(a.used, b.used) })
	for _, s := range byUse {
		if s.used == search || x.bytes.Load() <= x.options.MaxBytes {
			return
		}
		x.bytes.Add(-s.drop())
	}
}

// Warm loads the given namespaces in the background, all where none is given, as
// far as the bound of memory lets. It returns at once, and only the first call does
// something. [Index.Close] ends it and waits for it. What can't be read is left for
// the search that needs it to tell.
func (x *Index) Warm(namespaces ...string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.cancel != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	x.cancel = cancel
	x.background.Go(func() {
		positions, err := x.source.Positions(ctx, "", true)
		if err != nil {
			return
		}
		for _, p := range positions {
			s := x.space(p.Namespace)
			if len(namespaces) > 0 && !slices.Contains(namespaces, p.Namespace) {
				continue
			}
			if ctx.Err() != nil || x.bytes.Load() > x.options.MaxBytes {
				return
			}
			_, _ = x.reach(ctx, s, p)
		}
	})
}

// all are the known spaces, in order.
func (x *Index) all() []*space {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.SortedFunc(maps.Values(x.spaces), func(a, b *space) int { return strings.Compare(a.namespace, b.namespace) })
}

// Close ends the loading in the background and waits for it. Searches go on to
// work.
func (x *Index) Close() {
	x.mu.Lock()
	if x.cancel != nil {
		x.cancel()
	}
	x.mu.Unlock()
	x.background.Wait()
}

// Progress says how much of the store an index holds.
type Progress struct {
	// Namespaces counts those that are known, Warm those that are loaded.
	Namespaces int `json:"namespaces"`
	Warm       int `json:"warm"`
	// Documents counts what is loaded, and Bytes estimates the memory for it.
	Documents int   `json:"documents"`
	Bytes     int64 `json:"bytes"`
	// Damaged counts what couldn't be read, and so isn't found.
	Damaged int `json:"damaged,omitempty"`
}

// Progress tells how much is loaded.
func (x *Index) Progress() Progress {
	p := Progress{Bytes: x.bytes.Load()}
	for _, s := range x.all() {
		p.Namespaces++
		if documents, damaged, warm := s.count(); warm {
			p.Warm++
			p.Documents += documents
			p.Damaged += damaged
		}
	}
	return p
}
