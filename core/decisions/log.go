package decisions

import (
	"context"
	"sync"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/sdk"
)

const (
	// gather is how long the first decision of a batch waits for others: what a
	// crash may lose.
	gather = 100 * time.Millisecond
	// batchCount and batchBytes are where a batch ends: a commit of some
	// milliseconds, far below the limits of a transaction.
	batchCount = 500
	batchBytes = 4 << 20
	// queueCount is how many decisions wait at most, and queueWait how long a caller that
	// decides waits then for the store to catch up.
	queueCount = 4096
	queueWait  = time.Second
)

// Decision is one to keep.
type Decision struct {
	Point core.Point
	// Subject is who was authorised to do what the decision is on, see [core.Caller]; ""
	// is nobody.
	Subject string
	// Make makes the event, without ID, Lost and Record, and the record as JSON. It
	// is called later, and by another goroutine, so that the caller needn't
	// wait for it; what it refers to must not change.
	Make func() (journal.PolicyDecided, []byte, error)
}

// Options are what a [Log] is made of.
type Options struct {
	// IDs names the decisions.
	IDs core.IDs
	// Writer changes the store that they are written to.
	Writer *journal.Writer
	// Ready is closed once the store may be written to: until then decisions wait, since
	// a store isn't opened for them alone. Nil is at once.
	Ready <-chan struct{}
}

// Log writes decisions to a store. It is safe for concurrent use, and must be closed.
type Log struct {
	options Options

	room chan struct{} // a place for each decision that waits
	more chan struct{} // a batch is complete
	end  chan struct{}
	done chan struct{} // closed once the writer has ended

	mu     sync.Mutex
	timer  *time.Timer
	queue  []queued
	closed bool
	lost   lost
}

// queued is a decision, or an event of the policies themselves.
type queued struct {
	id       string
	decision Decision
	event    journal.Event
}

// lost counts what couldn't be written, and says why.
type lost struct {
	count, told uint64
	cause       error
}

// NewLog returns a log that writes until it is closed.
func NewLog(o Options) *Log {
	l := &Log{
		options: o, room: make(chan struct{}, queueCount), more: make(chan struct{}, 1),
		end: make(chan struct{}), done: make(chan struct{}), timer: time.NewTimer(gather),
	}
	go l.write()
	return l
}

// Add keeps a decision. It doesn't wait for the store, unless that can't keep up.
func (l *Log) Add(d Decision) { l.put(queued{id: l.options.IDs.NewID(), decision: d}) }

// Tell adds an event to the stream of the policies.
func (l *Log) Tell(e journal.Event) { l.put(queued{event: e}) }

func (l *Log) put(q queued) {
	if !l.enter() {
		l.lose(sdk.Errorf(sdk.Exhausted, "decision_queue_full", "more decisions waited than %d", queueCount))
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		<-l.room
		l.lost.add(1, sdk.Errorf(sdk.Unavailable, "decision_log_closed", "the log was closed"))
		return
	}
	l.queue = append(l.queue, q)
	switch len(l.queue) {
	case 1:
		l.timer.Reset(gather)
	case batchCount:
		select {
		case l.more <- struct{}{}:
		default:
		}
	}
}

// enter waits for a place in the queue, where it is being emptied.
func (l *Log) enter() bool {
	select {
	case l.room <- struct{}{}:
		return true
	default:
	}
	if !l.emptied() {
		return false
	}
	timer := time.NewTimer(queueWait)
	defer timer.Stop()
	select {
	case l.room <- struct{}{}:
		return true
	case <-timer.C:
		return false
	}
}

// Waiting counts what isn't written yet.
func (l *Log) Waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queue)
}

// emptied reports whether decisions are being written.
func (l *Log) emptied() bool {
	select {
	case <-l.options.Ready:
	default:
		if l.options.Ready != nil {
			return false
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.closed
}

// write writes batches until the log is closed, and then all that is left.
func (l *Log) write() {
	defer close(l.done)
	defer l.timer.Stop()
	if l.options.Ready != nil {
		select {
		case <-l.options.Ready:
		case <-l.end:
		}
	}
	for open := true; open; {
		select {
		case <-l.timer.C:
		case <-l.more:
		case <-l.end:
			open = false
		}
		for l.flush() {
		}
	}
}

// Discard closes the log and drops what waits, which isn't worth opening a store.
func (l *Log) Discard() {
	l.mu.Lock()
	l.queue = nil
	l.mu.Unlock()
	_ = l.Close() // nothing is left to be written
}

// Close writes what waits, and waits for that. The error, sdk.Unavailable of
// reason "decisions_lost", says how many decisions couldn't be written, and why.
// It is idempotent.
func (l *Log) Close() error {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.end)
	}
	l.mu.Unlock()
	<-l.done
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost.count == 0 {
		return nil
	}
	return sdk.Errorf(sdk.Unavailable, "decisions_lost", "%d decisions of policies weren't recorded: %w", l.lost.count, l.lost.cause).
		WithHint("they were made all the same; fix the cause before the next run").WithDetail("count", l.lost.count)
}

func (l *Log) lose(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost.add(1, cause)
}

func (o *lost) add(n int, cause error) {
	o.count += uint64(n)
	if n > 0 && o.cause == nil {
		o.cause = cause
	}
}

// flush writes one batch, and reports whether more waits.
func (l *Log) flush() bool {
	l.mu.Lock()
	batch := l.queue[:min(len(l.queue), batchCount)]
	l.mu.Unlock()
	if len(batch) == 0 {
		return false
	}
	taken, failed, err := l.commit(context.Background(), batch)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost.add(failed, err)
	if l.queue = l.queue[min(taken, len(l.queue)):]; len(l.queue) == 0 {
		l.queue = nil // what was written may go
	}
	for range taken {
		<-l.room
	}
	return len(l.queue) > 0
}
