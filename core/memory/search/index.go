package search

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/text"
)

// Source is the store as an index reads it. The contents of a namespace always change
// together with its sequence, the number of the last entry of its stream in the journal.
// So the sequence tells an index what it misses, whichever process wrote it.
type Source interface {
	// Positions returns the position of a namespace, with subtree also of those below it,
	// or with subtree and "" of all: in order, and only of namespaces that were ever
	// written to.
	Positions(ctx context.Context, namespace string, subtree bool) ([]Position, error)
	// Load calls fn for each searchable document of one namespace, as of one moment that
	// isn't before the call, and with nil for a damaged one. It returns the sequence at
	// that moment. The arguments of fn, except their texts, are valid only during fn.
	Load(ctx context.Context, namespace string, fn func(*Doc) error) (seq uint64, err error)
	// Changes calls fn for each document that may have changed after a sequence, with its
	// id and its new state, or nil if it can't be found any more. Otherwise it works like
	// Load. complete is false if the changes are no longer known: then fn may have been
	// called for a part of them.
	Changes(ctx context.Context, namespace string, after uint64, fn func(id string, d *Doc) error) (seq uint64, complete bool, err error)
}

// Position is the present state of a namespace.
type Position struct {
	Namespace string
	// Seq is the namespace's sequence.
	Seq uint64
	// Language is the language of its words, by a name that [text.LanguageOf] knows.
	Language string
	// MaxStaleness is for how long a search may take the position to be this one.
	MaxStaleness time.Duration
	// MinP is the least [Found.P] of what is relevant, and PromptMinP that for a prompt; 0 is all.
	MinP, PromptMinP float64
	// Cut is the share of the first one's score, and of the best similarity, below both of which nothing is
	// returned.
	Cut float64
}

// DefaultMaxBytes is how much memory an index takes before it drops namespaces: the size
// of about 1,000,000 memories with vectors of 384 dimensions.
const DefaultMaxBytes = 3 << 30

// DefaultKeepFrom is how many documents a namespace has at least that is kept: fewer are read from
// their records in 40 ms.
const DefaultKeepFrom = 2000

// Options configure an index. A zero field means its default.
type Options struct {
	// MaxBytes is roughly how much memory is taken before the least recently searched
	// namespaces are dropped; 0 is [DefaultMaxBytes]. What one search needs is held in
	// any case.
	MaxBytes int64
	// DepthBoost is the factor of reflections, before their depth is added; 0 is
	// [DefaultDepthBoost], and 1 means no boost.
	DepthBoost float64
	// Plain leaves q and depth out of the score, which is then fused alone.
	Plain bool
	// Holds reports whether vectors of a model are held; nil holds all.
	Holds func(model string) bool
	// Keeper keeps what is loaded for the next program; nil keeps nothing.
	Keeper Keeper
	// KeepFrom is how many documents a namespace has at least that is kept; 0 is [DefaultKeepFrom].
	KeepFrom int
}

// Index finds documents. It is safe for concurrent use.
type Index struct {
	source  Source
	options Options

	mu     sync.Mutex
	spaces map[string]*space
	// searches numbers the searches, to know which space was used last.
	searches int64
	// seen are the positions that searches needn't look at again yet, by their scopes.
	seen  map[scopeKey]sighting
	bytes atomic.Int64

	background sync.WaitGroup
	cancel     context.CancelFunc
	// closed is whether nothing may begin in the background any more.
	closed bool
}

// New makes an index with nothing loaded.
func New(source Source, o Options) *Index {
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.DepthBoost == 0 {
		o.DepthBoost = DefaultDepthBoost
	}
	if o.KeepFrom == 0 {
		o.KeepFrom = DefaultKeepFrom
	}
	return &Index{source: source, options: o, spaces: map[string]*space{}, seen: map[scopeKey]sighting{}}
}

// scopeKey names a scope of searches.
type scopeKey struct {
	namespace string
	subtree   bool
}

// sighting is a look at the positions of a scope: when it was, and for how long it holds.
type sighting struct {
	positions []Position
	at        time.Time
	holds     time.Duration
}

// maxSeen bounds the scopes that are noted. A full map is emptied.
const maxSeen = 1000

// positions are the positions of a scope: those that a source has now, or, where all of its
// namespaces allow that, those that were seen before.
func (x *Index) positions(ctx context.Context, from Source, namespace string, subtree bool) ([]Position, error) {
	key := scopeKey{namespace, subtree}
	x.mu.Lock()
	last, known := x.seen[key]
	x.mu.Unlock()
	if known && time.Since(last.at) < last.holds {
		return last.positions, nil
	}
	now := sighting{at: time.Now()} // before the look
	var err error
	if now.positions, err = from.Positions(ctx, namespace, subtree); err != nil || len(now.positions) == 0 {
		return nil, err
	}
	now.holds = slices.MinFunc(now.positions, func(a, b Position) int { return cmp.Compare(a.MaxStaleness, b.MaxStaleness) }).MaxStaleness
	if now.holds == 0 && !known {
		return now.positions, nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.seen) >= maxSeen {
		clear(x.seen)
	}
	x.seen[key] = now
	return now.positions, nil
}

// space returns the space of a namespace, a new empty one if there was none.
func (x *Index) space(namespace string) *space {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := x.spaces[namespace]
	if s == nil {
		s = &space{namespace: namespace}
		x.spaces[namespace] = s
	}
	return s
}

// scope returns the spaces of a namespace, with subtree also of those below it, in order, and their positions,
// with contents that include everything committed before it was prepared, or before the moment that
// [Position.MaxStaleness] allows; nil prepares it now. A namespace that was
// never written to has no space. Spaces that aren't loaded are loaded, and others are
// dropped for them if memory runs out.
func (x *Index) scope(ctx context.Context, namespace string, subtree bool, prepared *Prepared) ([]*space, []Position, []*contents, error) {
	if prepared == nil {
		positions, err := x.positions(ctx, x.source, namespace, subtree)
		if err != nil {
			return nil, nil, nil, err
		}
		prepared = &Prepared{positions}
	}
	positions := prepared.positions
	spaces, list := make([]*space, len(positions)), make([]*contents, len(positions))
	for i, p := range positions {
		spaces[i] = x.space(p.Namespace)
		var err error
		if list[i], err = x.reach(ctx, spaces[i], p); err != nil {
			return nil, nil, nil, err
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.searches++
	for _, s := range spaces {
		s.used = x.searches
	}
	x.shrink(x.searches)
	return spaces, positions, list, nil
}

// reach returns the contents of a space, at a position or a later one.
func (x *Index) reach(ctx context.Context, s *space, p Position) (*contents, error) {
	c, grown, err := s.reach(ctx, x, p)
	x.bytes.Add(grown)
	x.keepLater(s)
	return c, err
}

// WithRarity calls fn with how rare words are in some namespaces together, as of now.
func (x *Index) WithRarity(ctx context.Context, namespaces []string, fn func(text.Rarity)) error {
	var loaded []*contents
	for _, namespace := range namespaces {
		_, _, list, err := x.scope(ctx, namespace, false, nil)
		if err != nil {
			return err
		}
		loaded = append(loaded, list...)
	}
	indices := make([]*text.Index, len(loaded))
	for i, c := range loaded { // in the order of their namespaces, see Search
		c.mu.RLock()
		defer c.mu.RUnlock()
		indices[i] = c.words
	}
	fn(text.RarityIn(indices...))
	return nil
}

// keepLater keeps the contents of a space in the background, if it is time.
func (x *Index) keepLater(s *space) {
	if x.options.Keeper == nil || !s.takeDue(x.options.KeepFrom, false) {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		s.kept(errKept)
		return
	}
	x.background.Go(func() { x.keep(s) })
}

// keep keeps the contents of a space. If that fails, they are read from the records next time.
func (x *Index) keep(s *space) {
	ctx := context.Background() // Close waits for it
	positions, err := x.source.Positions(ctx, s.namespace, false)
	if err == nil && len(positions) == 1 {
		err = x.options.Keeper.Keep(ctx, s.namespace, settings(positions[0].Language), func(kept func(name string) bool) ([]Part, error) {
			return x.parts(ctx, s, positions[0].Language, kept)
		})
	}
	s.kept(err)
}

// parts are the contents of a space as they can be kept, with all that was committed before the call.
func (x *Index) parts(ctx context.Context, s *space, language string, kept func(name string) bool) ([]Part, error) {
	positions, err := x.source.Positions(ctx, s.namespace, false)
	if err != nil || len(positions) != 1 || positions[0].Language != language {
		return nil, core.JoinErrors(err, errKept)
	}
	c, err := x.reach(ctx, s, positions[0])
	if err != nil {
		return nil, err
	}
	seq, ok := s.at(c)
	if _, damaged := c.count(); !ok || damaged > 0 { // a damaged one may be repaired
		return nil, errKept
	}
	return c.parts(seq, kept), nil
}

// shrink drops the least recently used spaces, until the limit is met or only the spaces
// of the given search are left.
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

// Warm loads the given namespaces in the background, or all if none is given, as far as
// the memory limit allows. It returns at once, and only the first call has an effect.
// [Index.Close] stops it and waits for it. Read errors are left for the search that needs
// the namespace.
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

// all returns the known spaces, in order.
func (x *Index) all() []*space {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.SortedFunc(maps.Values(x.spaces), func(a, b *space) int { return strings.Compare(a.namespace, b.namespace) })
}

// Close stops the loading in the background, waits for what is being kept, and keeps the rest.
// Searches still work.
func (x *Index) Close() {
	x.mu.Lock()
	if x.cancel != nil {
		x.cancel()
	}
	x.closed = true
	x.mu.Unlock()
	x.background.Wait()
	for _, s := range x.all() {
		if x.options.Keeper != nil && s.takeDue(x.options.KeepFrom, true) {
			x.keep(s)
		}
	}
}

// Progress is how much of the store an index holds.
type Progress struct {
	// Namespaces counts the known namespaces, and Warm those that are loaded.
	Namespaces int `json:"namespaces"`
	Warm       int `json:"warm"`
	// Documents counts the loaded documents, and Bytes estimates the memory that they
	// take.
	Documents int   `json:"documents"`
	Bytes     int64 `json:"bytes"`
	// Damaged counts documents that couldn't be read, and so aren't found.
	Damaged int `json:"damaged,omitempty"`
	// Restored counts the loaded namespaces of which an earlier program kept the contents.
	Restored int `json:"restored,omitempty"`
}

// Progress returns how much is loaded.
func (x *Index) Progress() Progress {
	p := Progress{Bytes: x.bytes.Load()}
	for _, s := range x.all() {
		p.Namespaces++
		if documents, damaged, restored, warm := s.count(); warm {
			p.Warm++
			p.Documents += documents
			p.Damaged += damaged
			if restored {
				p.Restored++
			}
		}
	}
	return p
}
