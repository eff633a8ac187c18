package llmeval

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/tmaxmax/go-sse"

	"github.com/reflectory/reflectory/sdk/modeltext"
)

// maxEventBytes limits one event of a stream, which is all that reading a stream holds.
// An event is usually a few words; an endpoint that sends a whole reply as one event
// may send 60,000 tokens. The limit also bounds the search for an event's end, which
// go-sse begins again after each read: an endpoint that sends a long event in single
// bytes costs time, but at most llm.timeout.
const maxEventBytes = 256 << 10

// streamEnd is the event that ends a complete stream.
const streamEnd = "[DONE]"

// What is waited for once a reply has its finish reason.
const (
	// silence is how long the usage is waited for, which comes later and not always.
	silence = 2 * time.Second
	// grace is for the stream's end, if the usage has come too: a stream that is read to its
	// end leaves a connection that can be used again.
	grace = 100 * time.Millisecond
	// maxEnding limits both if events go on coming.
	maxEnding = 10 * time.Second
)

// stream reads a reply that arrives in pieces, which are events or lines; stop ends the exchange.
func (x *exchange) stream(body io.Reader, lines bool, stop func()) error {
	show := x.show
	if x.question.emit == nil || x.emitted { // an earlier try has shown its pieces
		show = func(string) {}
	}
	shown := scrubber{secret: x.endpoint.key, emit: show}
	r := streamReader{endpoint: x.endpoint, show: shown.write, stop: stop, lines: lines}
	r.Protocol = x.endpoint.protocol.replies
	if err := r.read(body); err != nil {
		x.lost = x.lost.Add(x.endpoint.cost(r.Usage()))
		return err
	}
	shown.flush()
	reply := r.Reply()
	if !r.Finished() {
		reply.Notes = append(reply.Notes, "the stream ended without a finish reason")
	}
	if err := x.accept(reply, 0); err != nil {
		return err
	}
	x.showWhole()
	return nil
}

// streamReader reads the events of a stream until the reply is complete: at the stream's end, or
// at a finish reason after which nothing comes. Some endpoints hold the stream open for ever,
// and a reply that came whole mustn't be paid for again.
type streamReader struct {
	modeltext.Stream
	endpoint *endpoint
	show     func(piece string)
	stop     func() // ends the exchange, and with it a read
	lines    bool   // JSON values one after another, instead of events
	text     bool   // some text has come
	other    bool   // some object has come that has no part in a reply

	ending time.Time   // when the finish reason came
	timer  *time.Timer // calls stop; nil before
}

// read reads the events. What is wrong with them doesn't matter once the reply is complete.
func (r *streamReader) read(body io.Reader) error {
	defer func() {
		if r.timer != nil {
			r.timer.Stop()
		}
	}()
	for event, err := range r.events(body) {
		done, err := r.event(&event, err)
		switch {
		case r.Error() != nil:
			return err
		case done, err != nil && r.Finished():
			return nil
		case err != nil:
			return err
		}
	}
	switch {
	case r.Finished(), r.other && !r.Began(): // the latter isn't of the protocol
	case r.Protocol.EndsWithReason(), !r.Counted() && !r.text:
		return &fault{err: io.ErrUnexpectedEOF, text: "the stream ended before the reply did"}
	}
	return nil
}

// events are the pieces of a stream.
func (r *streamReader) events(body io.Reader) iter.Seq2[sse.Event, error] {
	if r.lines {
		return jsonLines(body)
	}
	// An empty line ends an event. Some endpoints leave it out after the last one.
	return sse.Read(io.MultiReader(body, strings.NewReader("\n\n")), &sse.ReadConfig{MaxEventSize: maxEventBytes})
}

// jsonLines are JSON values one after another, as events. What isn't JSON is an event too, which
// can't be read.
func jsonLines(body io.Reader) iter.Seq2[sse.Event, error] {
	return func(yield func(sse.Event, error) bool) {
		values := json.NewDecoder(body)
		for {
			var value json.RawMessage
			err := values.Decode(&value)
			if errors.Is(err, io.EOF) {
				return
			}
			var syntax *json.SyntaxError
			if errors.As(err, &syntax) {
				rest, _ := io.ReadAll(io.LimitReader(values.Buffered(), maxRefusalBytes))
				value, err = rest, nil
			}
			if !yield(sse.Event{Data: string(value)}, err) || err != nil || syntax != nil {
				return
			}
		}
	}
}

// event reads one event, and reports whether it is the last that is needed.
func (r *streamReader) event(event *sse.Event, err error) (done bool, _ error) {
	switch {
	case errors.Is(err, bufio.ErrTooLong):
		return false, streamless("an event of the stream is too long")
	case err != nil:
		return false, r.endpoint.unread(err)
	case event.Data == "": // it keeps the connection alive
		return false, nil
	case strings.HasPrefix(event.Data, streamEnd):
		return true, nil
	case event.Type == "error":
		return false, refusal(0, []byte(event.Data), r.endpoint.key)
	}
	piece, err := r.Add([]byte(event.Data))
	if err != nil {
		return false, r.endpoint.unreadable(err, []byte(event.Data), "has an event that isn't a JSON object")
	}
	if raw := r.Error(); raw != nil {
		return false, refusal(0, raw, r.endpoint.key)
	}
	r.text, r.other = r.text || piece != "", r.other || r.lines && !r.Began()
	r.show(piece)
	return r.ended(), nil
}

// ended sets the time until which more events are waited for, once there is a finish
// reason, and reports whether it has passed.
func (r *streamReader) ended() bool {
	if !r.Finished() {
		return false
	}
	if r.ending.IsZero() {
		r.ending = time.Now()
	}
	wait := silence
	if r.Counted() {
		wait = grace
	}
	if wait = min(wait, maxEnding-time.Since(r.ending)); wait <= 0 {
		return true
	}
	if r.timer == nil {
		r.timer = time.AfterFunc(wait, r.stop)
	} else {
		r.timer.Reset(wait)
	}
	return false
}

// streamless has the effect of a refusal to stream: the endpoint is then asked for
// whole replies.
func streamless(why string) *fault {
	return &fault{status: http.StatusUnprocessableEntity, param: fieldStream, text: why}
}
