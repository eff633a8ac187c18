package memory

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/search"
	"github.com/reflectory/reflectory/sdk"
)

// Options are what the memories need of the rest of the program. A zero field
// but for Store is its default.
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
	// Evidence keeps the tool outcomes that feedback brings; without it they only
	// help to judge the turn.
	Evidence Evidence
	// Summarizer says what is reusable in a memory that is promoted; without it
	// that is its title and beginning.
	Summarizer Summarizer
	// Embedder makes the vectors of new memories; without it they have none.
	Embedder core.Embedder
	// IndexBytes is about how much memory the index of memories may take, and that
	// of knowledge as well; 0 is [search.DefaultMaxBytes].
	IndexBytes int64
	// Forgetters keep contents of memories elsewhere, or what models made of them, and
	// remove what they keep of a memory that is purged.
	Forgetters []core.Forgetter
	// Random is where the salts of records come from, 16 bytes each; the default is
	// crypto/rand's. It is read by several goroutines at once.
	Random io.Reader
	// DepthBoost is the factor of reflections in recall; 0 is
	// [search.DefaultDepthBoost], and 1 has none.
	DepthBoost float64
	// Subscribers get each journal entry.
	Subscribers []journal.Subscriber
}

// Memories is the repository of memories. It is safe for concurrent use.
type Memories struct {
	options Options
	writer  journal.Writer
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
	m := &Memories{options: o, writer: journal.Writer{Store: o.Store, Clock: o.Clock, Subscribers: o.Subscribers}}
	m.index = search.New(memorySource{namespaces{&m.options}}, search.Options{MaxBytes: o.IndexBytes, DepthBoost: o.DepthBoost})
	m.knowledge = search.New(knowledgeSource{namespaces{&m.options}}, search.Options{MaxBytes: o.IndexBytes, Plain: true})
	return m, nil
}

// tx is a transaction on memories. Like the one in it, it is valid only inside
// its update.
type tx struct {
	*journal.Tx
	// counts are what namespaces hold, of those that it changed. They are written at
	// the end.
	counts map[string]*Count
	// purged are the keys that a purge has written so far, so that the store's files can
	// be rid of what they held; nil where nothing is purged.
	purged [][]byte
	// proofs are the digests of what it wrote, by stream and key: see proof.go.
	proofs map[string]map[string]string
	random io.Reader
}

// Put implements [core.Tx].
func (t *tx) Put(key, value []byte) error {
	t.note(key)
	return t.Tx.Put(key, value)
}

// Delete implements [core.Tx].
func (t *tx) Delete(key []byte) error {
	t.note(key)
	return t.Tx.Delete(key)
}

func (t *tx) note(key []byte) {
	if t.purged != nil {
		t.purged = append(t.purged, bytes.Clone(key))
	}
}

// markPurged has the store remove from its files what the keys held that were written
// since a purge began, where it keeps files.
func (t *tx) markPurged(s core.Store, id string) error {
	keys := t.purged
	t.purged = nil
	if scrubber, ok := s.(core.Scrubber); ok {
		return scrubber.MarkPurged(t, id, keys)
	}
	return nil
}

// update runs fn in a transaction, which it completes. fn may run several times, so it
// must have no effects outside tx. The indices learn of it from the journal: see changes.go.
func (m *Memories) update(ctx context.Context, fn func(*tx) error) error {
	return m.writer.Update(ctx, func(inner *journal.Tx) error {
		t := &tx{Tx: inner, random: m.options.Random}
		if err := fn(t); err != nil {
			return err
		}
		if err := t.putCounts(); err != nil {
			return err
		}
		return t.putProofs()
	})
}

// updateAsking is update for a transaction that asks policies, with the context
// to ask them in: what they decide is recorded after the last run, and only that.
func (m *Memories) updateAsking(ctx context.Context, fn func(context.Context, *tx) error) error {
	var told core.Later
	defer told.Do()
	return m.update(ctx, func(t *tx) error { return fn(told.Begin(ctx), t) })
}

// untold is a context to ask policies in where nothing follows from what they
// decide, and so nothing is recorded of it.
func untold(ctx context.Context) context.Context { return new(core.Later).Begin(ctx) }

// millisSince is the time since another, in milliseconds, for events.
func (m *Memories) millisSince(began time.Time) float64 {
	return float64(m.options.Clock.Now().Sub(began)) / float64(time.Millisecond)
}

// record appends an event to a namespace's stream, and notes it in the history
// of the memories that it is about. They must be of that namespace.
func (t *tx) record(namespace string, event journal.Event, ids ...string) error {
	stream := journal.NamespaceStream(namespace)
	if err := t.Append(stream, event); err != nil || len(ids) == 0 {
		return err
	}
	head, err := t.Head(stream)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := t.write(namespace, historyKey(id, head.Seq), nil); err != nil {
			return err
		}
	}
	return nil
}

// governance is what holds in a namespace, read within the transaction.
func (m *Memories) governance(r core.Reader, namespace string) (*core.Governance, error) {
	return m.options.governance(r, namespace)
}

func (o *Options) governance(r core.Reader, namespace string) (*core.Governance, error) {
	if o.Governor != nil {
		return o.Governor.Resolve(r, namespace)
	}
	return &core.Governance{
		Namespace: namespace, MaxReflectionDepth: core.DefaultMaxReflectionDepth, DecidedBy: "default",
		Retention: core.DefaultRetentionWeights(), MinGateConfidence: core.DefaultMinGateConfidence,
	}, nil
}
