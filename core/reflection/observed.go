package reflection

import (
	"context"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
)

// UserPrefix begins the namespaces of users: a user's namespace is users/ and the user's
// id.
const UserPrefix = "users/"

// UserOf returns the user to whom a namespace's reflections belong: the id after users/, or
// "" if the namespace belongs to no user.
func UserOf(namespace string) string {
	id, is := strings.CutPrefix(namespace, UserPrefix)
	if !is || !core.ValidID(id) || core.CheckNamespace(id) != nil {
		return ""
	}
	return id
}

// Queue is where reflections wait for a worker.
type Queue interface {
	// Queue queues a reflection on a namespace, in the caller's transaction. The reflection
	// won't begin before the given time; the zero time means at once. Queue returns the id of
	// the new job. It returns "" and writes nothing if such a job is active or the queue is
	// full.
	Queue(ctx context.Context, tx core.Tx, namespace string, notBefore time.Time) (id string, err error)
	// Postpone postpones a job that hasn't begun, to a time no later than latest. It doesn't
	// change a job that is gone or has begun.
	Postpone(ctx context.Context, tx core.Tx, id string, until, latest time.Time) error
}

// Triggers counts what is observed, and queues reflections. It is meant for the field
// Observed of memory.Options.
type Triggers struct {
	// Queue receives the reflections that are due. If it is nil, observations are only
	// counted.
	Queue Queue
	// Ready reports whether there is a generator. Without one nothing is queued.
	Ready func() bool
	// Debounce is how long a reflection waits after the observation that made it due. Each
	// further observation makes it wait again, up to ten times as long in all. Default 0.
	Debounce time.Duration
}

// maxDebounce is the most by which a job is postponed, in multiples of the debounce.
const maxDebounce = 10

// Observed implements memory.Observed.
func (t *Triggers) Observed(ctx context.Context, tx *journal.Tx, g *core.Governance, memories []*core.Memory) error {
	namespace := g.Namespace
	c, changed, err := countObserved(tx, namespace, memories)
	if err != nil || !changed || t.Queue == nil || t.Ready == nil || !t.Ready() {
		return err
	}
	s, err := ReadState(tx, namespace)
	if err != nil {
		return err
	}
	now := tx.Now().UTC().Round(0)
	if t.Debounce > 0 && s.JobID != "" && s.QueuedAt != nil {
		if err := t.Queue.Postpone(ctx, tx, s.JobID, now.Add(t.Debounce), s.QueuedAt.Add(maxDebounce*t.Debounce)); err != nil {
			return err
		}
	}
	if s.RestUntil != nil && now.Before(*s.RestUntil) && s.RestUntil.Sub(now) <= maxRest {
		return nil
	}
	if d := due(&c, &s, g.Reflection, now); !d.Due {
		return nil
	}
	var notBefore time.Time
	if t.Debounce > 0 {
		notBefore = now.Add(t.Debounce)
	}
	id, err := t.Queue.Queue(ctx, tx, namespace, notBefore)
	if err != nil || id == "" {
		return err
	}
	s.JobID, s.QueuedAt = id, &now
	return putState(tx, namespace, &s)
}
