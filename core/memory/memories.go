package memory

import (
	"context"
	"crypto/rand"
	"io"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/internal/feed"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/memory/search"
	"github.com/reflectory/reflectory/core/memory/turn"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/core/work"
	"github.com/reflectory/reflectory/sdk"
)

// Options are the parts of the program that memories depend on. A zero field, except
// Store, means its default.
type Options struct {
	// Store holds everything. It is required.
	Store core.Store
	// Clock gives the time of what is written; the default is the system clock.
	Clock core.Clock
	// IDs makes the ids of memories; the default is [core.SystemIDs].
	IDs core.IDs
	// Governor has the settings of namespaces; without it the built-in defaults apply
	// everywhere.
	Governor core.Governor
	// Reflection may deny reflections; without it none is denied.
	Reflection policypoint.ReflectPolicy
	// Retention decides which state a memory is in; without it no memory changes its state.
	Retention policypoint.RetentionPolicy
	// Gate decides on memories that wait for it; without it they keep waiting.
	Gate verdict.Gate
	// DeferGate means that the caller lets the gate decide, as a server with jobs does:
	// feedback and sweeps then only report which memories are waiting.
	DeferGate bool
	// Turned is called in the transaction of a turn's first feedback, when a namespace has
	// reached the turn, and in the transaction of any feedback after which memories wait for
	// the gate. It is for a server whose jobs do the work that follows, so that a feedback
	// doesn't wait for the gate. If it returns an error, the feedback fails. It may be nil.
	Turned func(ctx context.Context, tx core.Tx, namespace string, turn int64, waiting bool) error
	// Ended is called in the transaction of the feedback on a turn, unless a run began the turn:
	// with what the turn is now, and what it was after an earlier feedback, nil for the first one.
	// It may be nil.
	Ended func(tx core.Tx, now, before *EndedTurn) error
	// RunOf is the run whose context it is, which begins the turns that begin in it; "" is none. It
	// may be nil.
	RunOf func(context.Context) string
	// Evidence records the tool outcomes that feedback brings; without it they are only
	// used to judge the turn.
	Evidence Evidence
	// Injection reports what was in the prompt of a turn; without it, what a turn recalled
	// counts as offered.
	Injection Injection
	// Near returns the lowest cosines at which vectors count as near, by the names of
	// calibrated models; without it a pass compares no vectors.
	Near func(core.Reader) (map[string]float64, error)
	// Summarizer describes what is reusable in a promoted memory; without it, its title
	// and the start of its content are used.
	Summarizer Summarizer
	// Embedder makes the vectors of new memories; without it they have none.
	Embedder core.Embedder
	// IndexBytes is roughly how much memory the index of memories may take, and the indices
	// of knowledge and of the archive as much again; 0 is [search.DefaultMaxBytes].
	IndexBytes int64
	// IndexKeptFrom is how many memories a namespace has at least whose index is kept in the store; 0
	// is [search.DefaultKeepFrom].
	IndexKeptFrom int
	// Forgetters hold copies of memories' contents, or texts that models made from them,
	// and remove everything from a purged memory.
	Forgetters []core.Forgetter
	// Observed is called with new memories; it may be nil.
	Observed Observed
	// Random is the source of the salts of records, 16 bytes each; the default is
	// crypto/rand. Several goroutines read it at once.
	Random io.Reader
	// DepthBoost is the factor of reflections in recall; 0 is [search.DefaultDepthBoost],
	// and 1 means no boost.
	DepthBoost float64
	// Observer follows what is searched, changed and erased; nil follows nothing.
	Observer work.Observer
	// Subscribers receive each journal entry.
	Subscribers []journal.Subscriber
}

// Observed is called with new observations, in the transaction that stores them.
type Observed interface {
	// Observed gets the new memories of a namespace, in order, after their events were
	// appended, with the namespace's settings. After an error none of them is stored. It may
	// be called again for the same memories, like any transaction's function.
	Observed(ctx context.Context, tx *journal.Tx, g *core.Governance, memories []*core.Memory) error
}

// Memories is the repository of memories. It is safe for concurrent use.
type Memories struct {
	*base
	// Gate decides on memories, and erases them.
	Gate *Gate
	// Sessions are the turns in which memories are used.
	Sessions *Sessions
	// Knowledge is what was promoted.
	Knowledge *Knowledge
	// Dreams do the housekeeping.
	Dreams *Dreams
	// Vectors are the vectors of stored memories.
	Vectors *Vectors
}

// Gate decides on memories, as the policy and the conditions of the gate say, and erases them.
type Gate struct{ *base }

// Sessions are the sessions whose turns recall memories and give feedback on them.
type Sessions struct{ *base }

// Knowledge are the entries that memories were promoted to.
type Knowledge struct{ *base }

// Vectors are the vectors of stored memories.
type Vectors struct{ *base }

// Dreams do the housekeeping of memories.
type Dreams struct {
	*base
	all *Memories
	// dreaming are the namespaces in which a pass is working.
	dreaming *dreaming
}

// base is what each part of the memories works with.
type base struct {
	options Options
	records *record.Records
	turns   *turn.Turns
	source  feed.MemorySource // of the index
	// index, knowledge and archive are the indices of recall. The archive's is loaded where it is needed.
	index, knowledge, archive *search.Index
}

// memories are the parts on a base.
func (m *base) memories(d *dreaming) *Memories {
	all := &Memories{base: m, Gate: &Gate{m}, Sessions: &Sessions{m}, Knowledge: &Knowledge{m}, Vectors: &Vectors{m}}
	all.Dreams = &Dreams{m, all, d}
	return all
}

// New returns the repository on a store.
func New(o Options) (*Memories, error) {
	if o.Store == nil {
		return nil, sdk.Errorf(sdk.Invalid, "memory_options_invalid", "memory options: no store is given").
			WithHint("open a store, such as core/store/pebble")
	}
	if o.Clock == nil {
		o.Clock = core.SystemClock{}
	}
	if o.IDs == nil {
		o.IDs = &core.SystemIDs{}
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	records := &record.Records{
		Writer: journal.Writer{Store: o.Store, Clock: o.Clock, Subscribers: o.Subscribers},
		Random: o.Random, Governor: o.Governor, Written: &record.Written{},
	}
	memories := feed.Memories(records, o.holds)
	b := &base{
		options: o, records: records, source: memories,
		turns:     &turn.Turns{Records: records, Retention: o.Retention, Evidence: o.Evidence, Injection: o.Injection, Turned: o.Turned, Ended: o.Ended},
		index:     search.New(memories, search.Options{MaxBytes: o.IndexBytes, DepthBoost: o.DepthBoost, Holds: o.holds, Keeper: memories, KeepFrom: o.IndexKeptFrom}),
		archive:   search.New(feed.Archived(records, o.holds), search.Options{MaxBytes: o.IndexBytes, DepthBoost: o.DepthBoost, Holds: o.holds}),
		knowledge: search.New(feed.Knowledge(records), search.Options{MaxBytes: o.IndexBytes, Plain: true}),
	}
	return b.memories(&dreaming{}), nil
}

// holds reports whether the index holds the vectors of a model: of the embedder's, unless they serve only
// where words find nothing.
func (o *Options) holds(model string) bool {
	return o.Embedder != nil && o.Embedder.Model() == model && !vectorsLast(o.Embedder)
}

// vectorsLast reports whether the vectors of an embedder know the pieces of words only, so that words
// alone find more.
func vectorsLast(e core.Embedder) bool {
	weighted, ok := e.(core.EmbedderWithWeight)
	return ok && weighted.Weight() < search.DefaultVectorWeight
}

// runOf is the run whose context it is; "" if none is.
func (m *base) runOf(ctx context.Context) string {
	if m.options.RunOf == nil {
		return ""
	}
	return m.options.RunOf(ctx)
}
