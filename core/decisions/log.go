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
	// queueCount is how many decisions wait at most, and queueWait how long whoever
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
	// is called later, and by another goroutine, so that whoever decides needn't
	// wait for it; what it refers to must not change.
	Make func() (journal.PolicyDecided, []byte, error)
}

// Log writes decisions to a store. Before it is connected to one, it keeps them.
// It is safe for concurrent use, and must be closed.
type Log struct {
	ids  core.IDs
	room chan struct{} // a place for each decision that waits
	more chan struct{} // a batch is complete
	end  chan struct{}
	done chan struct{} // closed once the writer has ended

	mu     sync.Mutex
	writer *journal.Writer // nil before it is connected
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

// NewLog returns a log that keeps what it is given until it is connected.
func NewLog(ids core.IDs) *Log {
	return &Log{
		ids: ids, room: make(chan struct{}, queueCount), more: make(chan struct{}, 1),
		end: make(chan struct{}), done: make(chan struct{}),
	}
}

// Add keeps a decision. It doesn't wait for the store, unless that can't keep up.
func (l *Log) Add(d Decision) { l.put(queued{id: l.ids.NewID(), decision: d}) }

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
	switch {
	case l.writer == nil:
	case len(l.queue) == 1:
		l.timer.Reset(gather)
	case len(l.queue) == batchCount:
		select {
		case l.more <- struct{}{}:
		default:
		}
	}
}

// enter waits for a place in the queue, as long as somebody empties it.
func (l *Log) enter() bool {
	select {
	case l.room <- struct{}{}:
		return true
	default:
	}
	l.mu.Lock()
	written := l.writer != nil && !l.closed
	l.mu.Unlock()
	if !written {
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

// Connect begins to write to a store, first what was kept so far. It is called
// once.
func (l *Log) Connect(w *journal.Writer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writer, l.timer = w, time.NewTimer(gather)
	go l.write()
}

// write writes batches until the log is closed, and then all that is left.
func (l *Log) write() {
	defer close(l.done)
	defer l.timer.Stop()
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

// Close writes what waits, and waits for that. The error, sdk.Unavailable of
// reason "decisions_lost", says how many decisions couldn't be written, and why.
// It is idempotent.
func (l *Log) Close() error {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.end)
	}
	connected := l.writer != nil
	l.mu.Unlock()
	if connected {
		<-l.done
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost.add(len(l.queue), sdk.Errorf(sdk.Unavailable, "store_missing", "there was no store to write them to"))
	l.queue = nil
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
	if l.queue = l.queue[taken:]; len(l.queue) == 0 {
		l.queue = nil // what was written may go
	}
	for range taken {
		<-l.room
	}
	return len(l.queue) > 0
}
