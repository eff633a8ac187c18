package decisions

import (
	"context"
	"sync"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/sdk"
)

const (
	// gather is how long the first decision of a batch waits for others. A crash may lose
	// the decisions of that time.
	gather = 100 * time.Millisecond
	// batchCount and batchBytes bound a batch, so that a commit takes a few milliseconds
	// and stays far below the limits of a transaction.
	batchCount = 500
	batchBytes = 4 << 20
	// queueCount is how many decisions may wait, and queueWait how long the caller then
	// waits for the store to catch up.
	queueCount = 4096
	queueWait  = time.Second
)

// Decision is a policy decision to be recorded.
type Decision struct {
	Point policypoint.Point
	// Subject is who was authorised to make the request that was decided, see
	// [core.Caller]; "" is nobody.
	Subject string
	// Make returns the event, without ID, Lost and Record, and the record as JSON. It is
	// called later, by another goroutine, so that the caller needn't wait for it; the
	// data that it refers to must not change.
	Make func() (journal.PolicyDecided, []byte, error)
}

// Options are the parts and settings of a [Log].
type Options struct {
	// IDs makes the decisions' ids.
	IDs core.IDs
	// Writer writes to the store.
	Writer *journal.Writer
	// Ready is closed once the store may be written to. Until then decisions wait,
	// because a store isn't opened only for them. Nil means that the store is ready.
	Ready <-chan struct{}
}

// Log writes decisions to a store. It is safe for concurrent use, and must be closed.
type Log struct {
	options Options

	room chan struct{} // has capacity for each waiting decision
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

// lost counts the decisions that couldn't be written, and has the cause.
type lost struct {
	count, reported uint64
	cause           error
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

// Add queues a decision. It waits for the store only if the queue is full.
func (l *Log) Add(d Decision) { l.put(queued{id: l.options.IDs.NewID(), decision: d}) }

// Record appends an event to the stream of the policies.
func (l *Log) Record(e journal.Event) { l.put(queued{event: e}) }

func (l *Log) put(q queued) {
	if !l.enter() {
		l.lose(sdk.Errorf(sdk.Exhausted, "decision_queue_full", "more than %d decisions were waiting", queueCount))
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

// enter waits for room in the queue, if the queue is being emptied.
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

// Waiting counts the decisions and events that aren't written yet.
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

// write writes batches until the log is closed, and then everything that is left.
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

// Discard closes the log and drops what is queued: it isn't worth opening a store for.
func (l *Log) Discard() {
	l.mu.Lock()
	l.queue = nil
	l.mu.Unlock()
	_ = l.Close() // nothing is left to be written
}

// Close writes what is queued, and waits until it is written. The error, sdk.Unavailable
// of reason "decisions_lost", says how many decisions couldn't be written, and why. Close
// is idempotent.
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
	return sdk.Errorf(sdk.Unavailable, "decisions_lost", "%d policy decisions weren't recorded: %w", l.lost.count, l.lost.cause).
		WithHint("they took effect all the same; fix the cause before the next run").WithDetail("count", l.lost.count)
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
		l.queue = nil // frees the memory of what was written
	}
	for range taken {
		<-l.room
	}
	return len(l.queue) > 0
}
