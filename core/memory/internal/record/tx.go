package record

import (
	"bytes"
	"context"
	"io"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/policypoint"
)

// Records are the records of memories in a store, with what a transaction on them needs.
// Its fields aren't changed once it is in use, and it is safe for concurrent use.
type Records struct {
	// Writer writes to the store and to its journal, and dates what is written.
	Writer journal.Writer
	// Random is the source of salts, 16 bytes each. Several goroutines read it at once.
	Random io.Reader
	// Governor has the settings of namespaces; without it the built-in defaults apply
	// everywhere.
	Governor core.Governor
	// Written notes what transactions wrote.
	Written *Written
}

// View runs fn on a snapshot of the store.
func (s *Records) View(ctx context.Context, fn func(core.Reader) error) error {
	return s.Writer.Store.View(ctx, fn)
}

// Tx is a transaction on memories. Like the transaction that it wraps, it is valid only
// inside its update.
type Tx struct {
	*journal.Tx
	// counts are the counts of the namespaces that it changed. They are written at the
	// end.
	counts map[string]*Tally
	// sums are the sums of the tenants whose counts it changed, written at the end too.
	sums map[string]*sums
	// purged are the keys that a purge has written so far, so that their old values can
	// be removed from the store's files; nil if nothing is purged.
	purged [][]byte
	// proofs are the digests of what it wrote, by stream and key: see proof.go.
	proofs map[string]map[string]string
	random io.Reader
	// waiting are calls to be made after the transaction's end.
	waiting []func()
}

var _ policypoint.Asking = (*Tx)(nil)

// AfterEnd implements [policypoint.Asking], within [Records.UpdateAsking].
func (t *Tx) AfterEnd(do func()) { t.waiting = append(t.waiting, do) }

// Put implements [core.Tx].
func (t *Tx) Put(key, value []byte) error {
	t.note(key)
	return t.Tx.Put(key, value)
}

// Delete implements [core.Tx].
func (t *Tx) Delete(key []byte) error {
	t.note(key)
	return t.Tx.Delete(key)
}

func (t *Tx) note(key []byte) {
	if t.purged != nil {
		t.purged = append(t.purged, bytes.Clone(key))
	}
}

// BeginPurge starts to collect the keys for [Tx.MarkPurged].
func (t *Tx) BeginPurge() { t.purged = [][]byte{} }

// MarkPurged has a store that keeps files remove from them the old values of the keys
// that were written since the purge began.
func (t *Tx) MarkPurged(s core.Store, id string) error {
	keys := t.purged
	t.purged = nil
	if scrubber, ok := s.(core.Scrubber); ok {
		return scrubber.MarkPurged(t, id, keys)
	}
	return nil
}

// Update runs fn in a transaction, and completes it. fn may run several times, so it must
// have no effects outside tx.
func (s *Records) Update(ctx context.Context, fn func(*Tx) error) error {
	var last *Tx
	err := s.Writer.Update(ctx, func(inner *journal.Tx) error {
		return s.Within(inner, func(t *Tx) error {
			last = t
			return fn(t)
		})
	})
	if err == nil {
		s.Written.note(last)
	}
	return err
}

// Within runs fn in another part's transaction, and completes there what it changed.
func (s *Records) Within(inner *journal.Tx, fn func(*Tx) error) error {
	t := &Tx{Tx: inner, random: s.Random}
	if err := fn(t); err != nil {
		return err
	}
	if err := t.putCounts(); err != nil {
		return err
	}
	if err := t.putSums(); err != nil {
		return err
	}
	return t.putProofs()
}

// UpdateAsking is [Records.Update] for a transaction that asks policies: only the decisions
// of the last run are recorded, after it, whether it was committed or refused.
func (s *Records) UpdateAsking(ctx context.Context, fn func(*Tx) error) error {
	var last *Tx
	defer func() {
		if last != nil {
			for _, do := range last.waiting {
				do()
			}
		}
	}()
	return s.Update(ctx, func(t *Tx) error {
		last = t
		return fn(t)
	})
}

// MillisSince is the time since began, in milliseconds, for events.
func (s *Records) MillisSince(began time.Time) float64 {
	return float64(s.Writer.Clock.Now().Sub(began)) / float64(time.Millisecond)
}

// Record appends an event to a namespace's stream, and adds it to the history of the
// memories that it is about. They must be in that namespace.
func (t *Tx) Record(namespace string, event journal.Event, ids ...string) error {
	stream := journal.NamespaceStream(namespace)
	if err := t.Append(stream, event); err != nil || len(ids) == 0 {
		return err
	}
	head, err := t.Head(stream)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := t.Write(namespace, HistoryKey(id, head.Seq), nil); err != nil {
			return err
		}
	}
	return nil
}

// Governance returns the settings in force in a namespace, read within the transaction.
func (s *Records) Governance(r core.Reader, namespace string) (*core.Governance, error) {
	if s.Governor != nil {
		return s.Governor.Resolve(r, namespace)
	}
	return &core.Governance{
		Namespace: namespace, MaxReflectionDepth: core.DefaultMaxReflectionDepth, DecidedBy: "default",
		Retention: core.DefaultRetentionWeights(), MinGateConfidence: core.DefaultMinGateConfidence,
		Reflection: core.DefaultReflectionThresholds(),
	}, nil
}
