package conversation

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/table"
	"github.com/reflectory/reflectory/sdk"
)

const (
	// maxWaiting bounds the bytes that wait for a commit: what two of the largest requests hold.
	maxWaiting = 64 << 20
	// sweepCount is how many records that have ended a commit removes of each kind: more than a request
	// adds, so that they become fewer.
	sweepCount = 16
)

// Log has the records of conversations, and writes them with the runs of their requests. It is safe for
// concurrent use.
type Log struct {
	// Store and Clock are required.
	Store core.Store
	Clock core.Clock
	// KeepRuns is how long runs are kept, and messages with them; 0 is for ever.
	KeepRuns time.Duration

	flushing sync.Mutex // one commit at a time
	// viewing is held by readers, so that what is committed meanwhile, which their snapshot of the store
	// doesn't have, still waits for them.
	viewing sync.RWMutex

	mu      sync.Mutex
	waiting map[string]*write // by key
	steps   []Step
	size    int
	failure error // of the newest commit
}

// write is a record that waits for its commit.
type write struct {
	value []byte
	put   func(core.Tx) error
}

// Step is what a request does to its run. It may be called again if its commit has to be repeated.
type Step struct {
	Run  string
	Do   func(core.Tx) error
	Size int
}

// Add lets steps of runs wait for the next commit. It refuses them if too much waits already.
func (l *Log) Add(steps ...Step) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size > maxWaiting {
		return sdk.Errorf(sdk.Unavailable, "log_full", "%d bytes wait for the store (limit %d)", l.size, maxWaiting)
	}
	l.steps = append(l.steps, steps...)
	for _, s := range steps {
		l.size += s.Size
	}
	return nil
}

// put lets a record wait for the next commit.
func put[R any](l *Log, k *table.Kind[R], id string, rec *R) error {
	value, err := k.Value(id, rec)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting == nil {
		l.waiting = map[string]*write{}
	}
	if before := l.waiting[k.Prefix+id]; before != nil {
		l.size -= len(before.value)
	}
	l.waiting[k.Prefix+id] = &write{value, func(tx core.Tx) error { return k.Put(tx, id, rec) }}
	l.size += len(value)
	return nil
}

// Failure is why the newest commit failed; nil if it didn't.
func (l *Log) Failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failure
}

// Commit commits everything that waits. A step that is wrong by itself, such as one of a run that is
// too large, is left out with the rest of its run; its error is returned, but isn't a failure.
func (l *Log) Commit(ctx context.Context) error {
	l.flushing.Lock()
	defer l.flushing.Unlock()
	l.mu.Lock()
	steps, writes := l.steps, maps.Clone(l.waiting)
	l.mu.Unlock()
	if len(steps)+len(writes) == 0 {
		return nil
	}
	failed := map[string]error{} // by run
	var err error
	for range steps { // each try leaves out one run
		var wrong string
		if wrong, err = l.write(ctx, steps, writes, failed); wrong == "" || sdk.Transient(err) || ctx.Err() != nil {
			break
		}
		failed[wrong] = err
	}
	if len(steps) == 0 {
		_, err = l.write(ctx, nil, writes, nil)
	}
	l.viewing.Lock()
	defer l.viewing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failure = err; err != nil {
		return err
	}
	l.steps = l.steps[len(steps):]
	for _, s := range steps {
		l.size -= s.Size
	}
	for key, w := range writes {
		if l.waiting[key] == w { // otherwise it was changed since
			l.size -= len(w.value)
			delete(l.waiting, key)
		}
	}
	var errs []error
	for _, err := range failed {
		errs = append(errs, err)
	}
	return core.JoinErrors(errs...)
}

// write writes everything in one transaction, but for runs that failed. wrong is the run whose step
// failed.
func (l *Log) write(ctx context.Context, steps []Step, writes map[string]*write, failed map[string]error) (wrong string, err error) {
	err = l.Store.Update(ctx, func(tx core.Tx) error {
		wrong = ""
		for _, s := range steps {
			if failed[s.Run] != nil {
				continue
			}
			if err := s.Do(tx); err != nil {
				wrong = s.Run
				return err
			}
		}
		for _, w := range writes {
			if err := w.put(tx); err != nil {
				return err
			}
		}
		return l.sweep(tx)
	})
	return wrong, err
}

// sweep removes some records that have ended.
func (l *Log) sweep(tx core.Tx) error {
	now := l.Clock.Now()
	err := core.JoinErrors(sweep(tx, &places, placeAge, now.Add(-unnamedLifetime)), sweep(tx, &sessions, sessionAge, now.Add(-unnamedLifetime)))
	if l.KeepRuns > 0 {
		err = core.JoinErrors(err, sweep(tx, &messages, messageAge, now.Add(-l.KeepRuns-touchEvery)))
	}
	return err
}

func sweep[R any](tx core.Tx, k *table.Kind[R], index string, before time.Time) error {
	var ids []string
	of := table.AfterNumber(index, 1)
	err := tx.Scan([]byte(index), table.NumberKey(index, uint64(before.UnixNano()), ""), func(key, value []byte) (bool, error) {
		ids = append(ids, of(key, value))
		return len(ids) < sweepCount, nil
	})
	for _, id := range ids {
		err = core.JoinErrors(err, k.Delete(tx, id))
	}
	return err
}

// Reader reads a log: what is committed, and what waits.
type Reader struct {
	core.Reader
	log *Log
}

// View calls fn with a reader.
func (l *Log) View(ctx context.Context, fn func(*Reader) error) error {
	l.viewing.RLock()
	defer l.viewing.RUnlock()
	return l.Store.View(ctx, func(r core.Reader) error { return fn(&Reader{r, l}) })
}

// Get implements [core.Reader].
func (r *Reader) Get(key []byte) ([]byte, bool, error) {
	r.log.mu.Lock()
	w := r.log.waiting[string(key)]
	r.log.mu.Unlock()
	if w != nil {
		return w.value, true, nil
	}
	return r.Reader.Get(key)
}

// Session returns a session; nil if there is none.
func (r *Reader) Session(namespace, name string) (*Session, error) {
	return sessions.Get(r, key(namespace, name))
}

// Place returns a place; nil if there is none.
func (r *Reader) Place(namespace, digest string) (*Place, error) {
	p, err := places.Get(r, key(namespace, digest))
	if table.Corrupt(err) {
		return nil, nil //nolint:nilnil // it counts as none
	}
	return p, err
}

// PutSession and PutPlace let a record wait for the next commit. It mustn't be changed after that.
func (l *Log) PutSession(namespace, name string, s *Session) error {
	return put(l, &sessions, key(namespace, name), s)
}

// PutPlace is like PutSession.
func (l *Log) PutPlace(namespace, digest string, p *Place) error {
	return put(l, &places, key(namespace, digest), p)
}

// Waiting lists sessions with a turn that has waited for its feedback since before a time.
func (l *Log) Waiting(ctx context.Context, before time.Time, most int) (list []Named, err error) {
	of := table.AfterNumber(waitingPrefix, 1)
	err = l.Store.View(ctx, func(r core.Reader) error {
		list = nil
		return r.Scan([]byte(waitingPrefix), table.NumberKey(waitingPrefix, uint64(before.UnixNano()), ""), func(key, value []byte) (bool, error) {
			namespace, name, _ := strings.Cut(of(key, value), keySeparator)
			list = append(list, Named{namespace, name})
			return len(list) < most, nil
		})
	})
	return list, err
}

// Named names a session.
type Named struct{ Namespace, Session string }

// touchEvery is how often the time of a message is written again while runs name it: seldom, since all
// messages before it have to be written too.
const touchEvery = 24 * time.Hour

// AddMessages lets the messages of a conversation wait that aren't on file yet. digests are the
// digests of the messages up to each.
func (l *Log) AddMessages(ctx context.Context, namespace string, digests []string, list []Message) error {
	now := l.Clock.Now().UnixNano()
	first := 0
	err := l.View(ctx, func(r *Reader) error {
		for first = len(list); first > 0; first-- {
			known, err := messages.Get(r, key(namespace, digests[first-1]))
			if err != nil && !table.Corrupt(err) {
				return err
			}
			if known != nil && now-known.At < int64(touchEvery) {
				return nil
			}
		}
		return nil
	})
	for i := first; i < len(list) && err == nil; i++ {
		m := list[i]
		if m.At = now; i > 0 {
			m.Before = digests[i-1]
		}
		err = put(l, &messages, key(namespace, digests[i]), &m)
	}
	return err
}

// Messages returns the messages of a conversation up to a digest, the oldest first.
func (l *Log) Messages(ctx context.Context, namespace, digest string) (list []Message, err error) {
	err = l.View(ctx, func(r *Reader) error {
		list = nil
		for next := digest; next != "" && len(list) < math.MaxInt16; {
			m, err := messages.Get(r, key(namespace, next))
			if err != nil || m == nil {
				return err
			}
			list = append(list, *m)
			next = m.Before
		}
		return nil
	})
	slices.Reverse(list)
	return list, err
}
