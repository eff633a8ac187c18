package reflection

import (
	"context"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
)

// UserPrefix begins the namespaces of users: a user's is users/ and the user's id.
const UserPrefix = "users/"

// UserOf is whose reflections a namespace's are: the id behind users/, else "", which is
// nobody by name.
func UserOf(namespace string) string {
	id, is := strings.CutPrefix(namespace, UserPrefix)
	if !is || !core.ValidID(id) || core.CheckNamespace(id) != nil {
		return ""
	}
	return id
}

// Queue is where reflections wait for a worker.
type Queue interface {
	// Queue has a namespace reflected on, in the caller's transaction, from a time on; zero
	// is at once. It returns the id of the job that it made; "" where one is active, or
	// there is no room, in which case nothing was written.
	Queue(ctx context.Context, tx core.Tx, namespace string, notBefore time.Time) (id string, err error)
	// Postpone puts a job off that hasn't begun, to a time that isn't beyond latest. One
	// that is gone or has begun stays as it is.
	Postpone(ctx context.Context, tx core.Tx, id string, until, latest time.Time) error
}

// Triggers counts what is observed, and queues reflections. It is what memory.Options takes
// as Observed.
type Triggers struct {
	// Queue takes the reflections that are due; nil only counts.
	Queue Queue
	// Ready reports whether there is a generator. Without one nothing is queued.
	Ready func() bool
	// Debounce has a reflection wait for so long after the observation that made it due, and
	// each further observation has it wait again, up to ten times that in all. Default 0.
	Debounce time.Duration
}

// maxDebounce is how many times the debounce a job is put off at most.
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
