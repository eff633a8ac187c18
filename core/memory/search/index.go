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

// Source is the store as an index reads it.
type Source interface {
	// Namespaces returns, in order, the namespaces that hold something.
	Namespaces(ctx context.Context) ([]string, error)
	// Load calls fn for each document of one namespace that can be found, as of one
	// moment that isn't before the call: with nil for one that is damaged. What is
	// given, but for its texts, is valid only during fn.
	Load(ctx context.Context, namespace string, fn func(*Doc) error) error
	// Languages returns the language of each namespace, by a name that
	// [text.LanguageOf] knows.
	Languages(ctx context.Context, namespaces []string) ([]string, error)
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
	// listed is whether spaces has all namespaces of the store; listing is held by
	// who reads them.
	listed  bool
	listing sync.Mutex
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

// Apply keeps the index in step with a commit: call it after the commit, before
// anybody knows of it. Changes may arrive in any order.
func (x *Index) Apply(changes ...Change) {
	for _, c := range changes {
		x.bytes.Add(x.space(c.Namespace).apply(c))
	}
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
// order. There is none for a namespace that nothing was ever written to.
func (x *Index) scope(ctx context.Context, namespace string, subtree bool) ([]*space, error) {
	if err := x.list(ctx); err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !subtree {
		if s := x.spaces[namespace]; s != nil {
			return []*space{s}, nil
		}
		return nil, nil
	}
	var spaces []*space
	for name, s := range x.spaces {
		if name == namespace || strings.HasPrefix(name, namespace+"/") {
			spaces = append(spaces, s)
		}
	}
	slices.SortFunc(spaces, func(a, b *space) int { return strings.Compare(a.namespace, b.namespace) })
	return spaces, nil
}

// list makes all namespaces known. Those that come later are known by their
// changes.
func (x *Index) list(ctx context.Context) error {
	x.listing.Lock()
	defer x.listing.Unlock()
	if x.listed {
		return nil
	}
	names, err := x.source.Namespaces(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		x.space(name)
	}
	x.listed = true
	return nil
}

// load returns the contents of spaces, which it makes warm. Others are given up
// for them where memory runs out.
func (x *Index) load(ctx context.Context, spaces []*space) ([]*contents, error) {
	languages, err := x.languages(ctx, spaces)
	if err != nil {
		return nil, err
	}
	list := make([]*contents, len(spaces))
	for i, s := range spaces {
		var grown int64
		if list[i], grown, err = s.load(ctx, x.source, languages[i]); err != nil {
			return nil, err
		}
		x.bytes.Add(grown)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.searches++
	for _, s := range spaces {
		s.used = x.searches
	}
	x.shrink(x.searches)
	return list, nil
}

// languages are those that the words of spaces have now. Contents of others are
// loaded again, so that a change holds from the next search on.
func (x *Index) languages(ctx context.Context, spaces []*space) ([]string, error) {
	names := make([]string, len(spaces))
	for i, s := range spaces {
		names[i] = s.namespace
	}
	return x.source.Languages(ctx, names)
}

// shrink gives up spaces that weren't used for longest, until the bound is kept
// or only those of the given search are left.
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

// Forget gives a namespace up, so that the next search reads it again: for changes
// that [Index.Apply] didn't get.
func (x *Index) Forget(ctx context.Context, namespace string) error {
	freed, err := x.space(namespace).forget(ctx)
	x.bytes.Add(-freed)
	return err
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
		if x.list(ctx) != nil {
			return
		}
		for _, s := range x.all() {
			if len(namespaces) > 0 && !slices.Contains(namespaces, s.namespace) {
				continue
			}
			if ctx.Err() != nil || x.bytes.Load() > x.options.MaxBytes {
				return
			}
			languages, err := x.languages(ctx, []*space{s})
			if err != nil {
				continue
			}
			if _, grown, err := s.load(ctx, x.source, languages[0]); err == nil {
				x.bytes.Add(grown)
			}
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
