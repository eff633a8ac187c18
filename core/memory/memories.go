package memory

import (
	"context"
	"crypto/rand"
	"io"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/internal/feed"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/memory/search"
	"github.com/reflectory/reflectory/core/memory/turn"
	"github.com/reflectory/reflectory/sdk"
)

// Options are what the memories need of the rest of the program. A zero field,
// except Store, is its default.
type Options struct {
	// Store keeps them. It is required.
	Store core.Store
	// Clock dates what is written; the default is the system's.
	Clock core.Clock
	// IDs names memories; the default is [core.SystemIDs].
	IDs core.IDs
	// Governor says what holds in a namespace; without it the built-in defaults
	// hold everywhere.
	Governor core.Governor
	// Reflection may deny reflections; without it none is denied.
	Reflection core.ReflectPolicy
	// Retention decides which state a memory is in; without it none
	// changes its state.
	Retention core.RetentionPolicy
	// Gate decides on memories that wait for it; without it they wait on.
	Gate core.Gate
	// DeferGate leaves it to the caller to have the gate decide, as a server does
	// that runs jobs: a feedback and a sweep only tell which memories wait for it.
	DeferGate bool
	// Turned hears, in the transaction of a turn's first feedback, that a namespace has come
	// to a turn, and in that of any whether memories of it came before the gate by it. It is
	// for a server that has jobs do what follows: a feedback then leaves the gate to them. An
	// error fails the feedback. Nil hears nothing.
	Turned func(ctx context.Context, tx core.Tx, namespace string, turn int64, waiting bool) error
	// Evidence keeps the tool outcomes that feedback brings; without it they only
	// help to judge the turn.
	Evidence Evidence
	// Summarizer says what is reusable in a memory that is promoted; without it
	// that is its title and beginning.
	Summarizer Summarizer
	// Embedder makes the vectors of new memories; without it they have none.
	Embedder core.Embedder
	// IndexBytes is about how much memory the index of memories may take, and as
	// much again the index of knowledge; 0 is [search.DefaultMaxBytes].
	IndexBytes int64
	// Forgetters keep contents of memories elsewhere, or what models made of them, and
	// remove what they keep of a memory that is purged.
	Forgetters []core.Forgetter
	// Observed hears of new memories; without it nobody does.
	Observed Observed
	// Random is where the salts of records come from, 16 bytes each; the default is
	// crypto/rand's. It is read by several goroutines at once.
	Random io.Reader
	// DepthBoost is the factor of reflections in recall; 0 is
	// [search.DefaultDepthBoost], and 1 has none.
	DepthBoost float64
	// Observer follows what is searched, changed and erased; nil follows nothing.
	Observer core.Observer
	// Subscribers get each journal entry.
	Subscribers []journal.Subscriber
}

// Observed hears of what was observed, in the transaction that stores it.
type Observed interface {
	// Observed gets the new memories of a namespace, in order, after their events were
	// appended, with what holds there. An error has none of them stored. It may be called
	// again for the same ones, like any transaction's function.
	Observed(ctx context.Context, tx *journal.Tx, g *core.Governance, memories []*core.Memory) error
}

// Memories is the repository of memories. It is safe for concurrent use.
type Memories struct {
	options Options
	records *record.Records
	turns   *turn.Turns
	// index and knowledge find what is recalled.
	index, knowledge *search.Index
}

// New returns the repository on a store.
func New(o Options) (*Memories, error) {
	if o.Store == nil {
		return nil, sdk.Errorf(sdk.Invalid, "memory_options_invalid", "memory options: no store is given").
			WithHint("open one, such as core/store/pebble's")
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
		Random: o.Random, Governor: o.Governor,
	}
	return &Memories{
		options: o, records: records,
		turns:     &turn.Turns{Records: records, Retention: o.Retention, Evidence: o.Evidence, Turned: o.Turned},
		index:     search.New(feed.Memories(records), search.Options{MaxBytes: o.IndexBytes, DepthBoost: o.DepthBoost}),
		knowledge: search.New(feed.Knowledge(records), search.Options{MaxBytes: o.IndexBytes, Plain: true}),
	}, nil
}
