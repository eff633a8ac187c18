package httpapi

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// follower passes the entries that readers of the journal find to one connection.
type follower struct {
	api     *API
	request *request
	source
	// after are the numbers of the last entries that were written. Only write changes them.
	after []uint64
	// events are pointers, since each follower has a buffer, and an entry is large.
	events chan *followed
	// lost is closed if the stream has to end for another tenant's.
	lost <-chan struct{}
	stop context.CancelFunc

	mu     sync.Mutex
	lagged bool
	err    error
}

// followed is an entry of one of the streams, or the message that older entries are gone.
type followed struct {
	stream int
	entry  journal.Entry
	// gone is set if entries no longer exist: the stream continues after head.
	gone bool
	head uint64
	// last is set if the run or job that is followed has ended: with the entry, or without one.
	last bool
}

var errLagged = errors.New("the reader lags")

// read follows one stream until the context ends.
func (f *follower) read(ctx context.Context, stream int) {
	defer f.stop()
	next := f.after[stream]
	for ctx.Err() == nil {
		if f.ended && next >= f.until {
			f.fail(f.pass(ctx, &followed{last: true}))
			<-ctx.Done()
			return
		}
		err := f.streams[stream].host.Feed.Follow(ctx, f.streams[stream].name, next, func(e journal.Entry) error {
			next = e.Seq
			last, err := f.isLast(ctx, &e)
			switch {
			case err != nil:
				return err
			case !f.has(&e) && last:
				return f.pass(ctx, &followed{last: true})
			case !f.has(&e):
				return nil
			}
			return f.pass(ctx, &followed{stream: stream, entry: e, last: last})
		})
		if !journal.IsGone(err) {
			f.fail(err)
			return
		}
		head, _ := sdk.AsError(err).Details["head"].(uint64)
		next = head
		if err := f.pass(ctx, &followed{stream: stream, gone: true, head: head}); err != nil {
			f.fail(err)
			return
		}
	}
}

// fail records why a reader ended.
func (f *follower) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if errors.Is(err, errLagged) {
		f.lagged = true
	} else if f.err == nil && !errors.Is(err, context.Canceled) {
		f.err = err
	}
}

// pass puts an event into the buffer. If the buffer stays full, the reader lags.
func (f *follower) pass(ctx context.Context, e *followed) error {
	select {
	case f.events <- e:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	default:
	}
	wait := time.NewTimer(f.api.limits.StreamTime)
	defer wait.Stop()
	select {
	case f.events <- e:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-wait.C:
		return errLagged
	}
}

// write writes events until the readers, the connection or the server end.
func (f *follower) write(ctx context.Context, w http.ResponseWriter) {
	out := &eventWriter{w: w, control: http.NewResponseController(w), limit: 2 * f.api.limits.StreamTime}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	// The id comes first, without an event: if the connection breaks before the first event,
	// the reader continues from here.
	out.raw("retry: 1000\nid: " + eventID(f.after) + "\n\n")
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	again := time.NewTicker(authenticateAgain)
	defer again.Stop()
	var pause <-chan time.Time // until pieces may come again; nil if they may
	for out.err == nil {
		more := f.pieces.More()
		if pause != nil {
			more = nil
		}
		select {
		case e := <-f.events:
			f.putPieces(out) // they were made before
			if e.entry.Seq > 0 || e.gone {
				f.put(out, e)
			}
			if e.last { // a reader that connects again after this id learns that nothing follows
				f.after[0] = max(f.after[0], f.until)
				out.event(eventID(f.after), "bye", client.StreamBye{})
				return
			}
		case <-more:
			f.putPieces(out)
			pause = time.After(piecePause)
		case <-pause:
			pause = nil
		case progress := <-f.progress:
			out.event("", "job.progress", client.StreamProgress{JobID: f.job, Progress: progress})
		case <-beat.C:
			out.raw(": \n\n")
		case <-again.C:
			if !f.api.stillKnown(f.request) {
				out.event("", "bye", client.StreamBye{})
				return
			}
		case <-f.api.draining.Done():
			out.event("", "bye", client.StreamBye{})
			return
		case <-f.lost:
			out.event("", "bye", client.StreamBye{})
			return
		case <-ctx.Done():
			f.last(out)
			return
		}
	}
}

const (
	// piecePause is the least time between two writes of pieces, which would otherwise be one for each of a
	// model's tokens and follower. Text that grows ten times a second is smooth enough to read.
	piecePause = 100 * time.Millisecond
	// maxPiece is how many bytes of text an event has at most: its line then has less than 64 KiB, which is
	// all that some readers take, even if each of them is escaped with six.
	maxPiece = 8 << 10
)

// putPieces writes the pieces that have come.
func (f *follower) putPieces(out *eventWriter) {
	for _, c := range f.pieces.Take() {
		for rest := c.Text; rest != ""; {
			n := min(len(rest), maxPiece)
			for n < len(rest) && n > maxPiece-utf8.UTFMax && !utf8.RuneStart(rest[n]) {
				n--
			}
			text := rest[:n]
			rest = rest[n:]
			out.event("", "run.piece", client.StreamPiece{RunID: f.run, Visit: c.Visit, Node: c.Node, Iteration: c.Iteration, Offset: c.Offset, Text: text})
			c.Offset += utf8.RuneCountInString(text)
		}
	}
}

// put writes an event.
func (f *follower) put(out *eventWriter, e *followed) {
	if e.gone {
		f.after[e.stream] = e.head
		out.event(eventID(f.after), "reset", client.StreamReset{Stream: f.streams[e.stream].name, Head: e.head})
		return
	}
	f.after[e.stream] = e.entry.Seq
	name := e.entry.Type
	if own := eventNames[name]; own != "" {
		name = own
	}
	out.event(eventID(f.after), name, client.StreamEvent{
		Stream: f.streams[e.stream].name, Seq: e.entry.Seq, At: e.entry.At, Subject: e.entry.Subject, Status: endedAs(name, e.entry.Type), Data: e.entry.Data,
	})
}

// endedAs is how a job ended, according to the event of its end; "" for other events.
func endedAs(name, entryType string) string {
	if name != jobEnded {
		return ""
	}
	return entryType[strings.LastIndexByte(entryType, '.')+1:]
}

// last sends the reader the reason why the events end, unless the reader ended them.
func (f *follower) last(out *eventWriter) {
	f.mu.Lock()
	lagged, err := f.lagged, f.err
	f.mu.Unlock()
	switch {
	case lagged:
		out.event("", "lagged", client.StreamLagged{LastID: eventID(f.after)})
	case err != nil:
		out.event("", "failed", client.StreamFailed{Code: sdk.ReasonOf(err)})
	}
}

// eventWriter writes the lines of events, until a line can't be written.
type eventWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	limit   time.Duration
	err     error
}

// event writes an event. Without an id the reader keeps the previous one.
func (o *eventWriter) event(id, name string, data any) {
	var b bytes.Buffer
	if id != "" {
		b.WriteString("id: " + id + "\n")
	}
	b.WriteString("event: " + name + "\ndata: ")
	b.Write(jsontext.MustEncode(data)) // on one line
	b.WriteString("\n\n")
	o.raw(b.String())
}

func (o *eventWriter) raw(text string) {
	if o.err != nil {
		return
	}
	_ = o.control.SetWriteDeadline(time.Now().Add(o.limit)) // a test's writer has none
	if _, o.err = o.w.Write([]byte(text)); o.err == nil {
		o.err = o.control.Flush()
	}
}
