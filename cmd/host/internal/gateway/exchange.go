package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/reflectory/reflectory/core/host/gateway"
	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/modeltext"
)

// exchange is one request of a client, with its attempts.
type exchange struct {
	handler  *Handler
	client   *http.Request
	shape    shape
	request  *request
	model    *Model
	attempts map[int]*attempt
	held     int  // the bytes of the attempts
	whole    bool // the client has a whole reply
	// shown is the text that the client has.
	shown strings.Builder

	// mu guards what is sent.
	mu    sync.Mutex
	w     http.ResponseWriter
	turn  gateway.Turn
	begun bool
	last  time.Time // when something was sent, or the stream began to be held
	quiet func()    // ends the signs of life; nil if there are none
}

// attempt is an upstream's reply as it came.
type attempt struct {
	status int
	header http.Header
	body   []byte // of a whole reply
	// events are a stream's, and sent is how many of them the client has.
	events []event
	sent   int
	// direct is a stream that the client got as it came.
	direct bool
	// broken is a stream that ended with an error of its connection.
	broken bool
}

// serve answers the request.
func (x *exchange) serve() error {
	defer x.silence()
	out, err := x.model.Serve(x.client.Context(), &x.request.Request, x)
	x.silence()
	if err == nil {
		return x.deliver(out)
	}
	if !x.begun {
		x.setTurn(x.turn)
		if out != nil {
			x.judged(out)
		}
		return err
	}
	if x.whole { // the reply is with the client, and what failed came after it
		x.handler.failed(x.client.Context(), err)
	} else if x.client.Context().Err() == nil {
		_ = x.write(nil, append([]byte("\n\n"), x.shape.fault(faultOf(err))...)) // the client may be gone
	}
	return nil
}

// judged sets the headers that say how the reply came about.
func (x *exchange) judged(out *gateway.Outcome) {
	x.setTurn(out.Turn)
	if out.Attempts > 0 {
		x.w.Header().Set("Reflectory-Attempts", strconv.Itoa(out.Attempts))
		x.w.Header().Set("Reflectory-Verdict", out.Verdict)
	}
}

// pass sends a request up as it is, and the answer down.
func (x *exchange) pass(path string) error {
	c := call{endpoint: &x.model.Endpoint, family: x.shape.family(), method: x.client.Method, path: path}
	if x.request.body != nil {
		c.body = x.request.edited(&gateway.Edits{Model: x.model.Name}, false)
	}
	a, err := x.handler.send(x.client.Context(), x.client, c)
	if err != nil {
		return err
	}
	defer a.close()
	if err := a.refused(); err != nil {
		return err
	}
	t := &attempt{status: a.StatusCode, header: a.Header}
	if _, err := x.readWhole(t, a.read); err != nil {
		return err
	}
	return x.write(t, t.body)
}

// Ask implements [gateway.Upstream].
func (x *exchange) Ask(ctx context.Context, a *gateway.Attempt) (*gateway.Reply, error) {
	x.mu.Lock()
	x.turn = a.Turn
	x.mu.Unlock()
	up, err := x.handler.send(ctx, x.client, call{
		endpoint: &x.model.Endpoint, family: x.shape.family(), method: http.MethodPost, path: x.shape.path(), stream: x.request.Stream,
		body: x.request.edited(&a.Edits, true), number: a.Number,
	})
	if err != nil {
		return nil, err
	}
	defer up.close()
	if err := up.refused(); err != nil {
		return nil, err
	}
	t := &attempt{status: up.StatusCode, header: up.Header}
	x.attempts[a.Number] = t
	if !strings.HasPrefix(strings.ToLower(up.Header.Get("Content-Type")), "text/event-stream") {
		return x.readWhole(t, up.read)
	}
	hold := a.Hold
	if !x.request.Stream || a.Number > 1 {
		hold = gateway.HoldAll
	}
	if hold != gateway.HoldNothing && x.request.Stream {
		x.keepAlive(t)
	}
	return x.readStream(t, hold, up.read, a.Whole)
}

// readWhole reads a reply that isn't a stream. One that can't be read counts as cut: it is passed on, and not
// checked.
func (x *exchange) readWhole(t *attempt, body io.Reader) (*gateway.Reply, error) {
	var err error
	if t.body, err = io.ReadAll(io.LimitReader(body, int64(x.handler.config.MaxReply-x.held)+1)); err != nil {
		return nil, err
	}
	if err := x.hold(len(t.body)); err != nil {
		return nil, err
	}
	reply := &gateway.Reply{Finish: gateway.Cut}
	if read, err := modeltext.Read(x.shape.protocol(), t.body); err == nil && !read.NoChoice {
		reply = replyOf(read)
	}
	if v := valid(t.body); v.is('{') {
		reply.IDs, reply.Calls = x.shape.whole(x.request, v)
	}
	return reply, nil
}

// hold counts bytes that are held, or that were read of a stream.
func (x *exchange) hold(n int) error {
	if x.held += n; x.held > x.handler.config.MaxReply {
		return sdk.Errorf(sdk.Unavailable, unreachable, "the upstream's replies have more than %d bytes", x.handler.config.MaxReply)
	}
	return nil
}

func replyOf(read *modeltext.Reply) *gateway.Reply {
	reply := &gateway.Reply{Text: read.Text, Finish: gateway.Cut, Usage: sdk.Usage{TokensIn: read.Usage.In, TokensOut: read.Usage.Out}}
	switch read.Finish {
	case modeltext.Whole:
		reply.Finish = gateway.Complete
	case modeltext.Refused:
		reply.Finish = gateway.Refused
	}
	return reply
}

// reading is a stream that is being read.
type reading struct {
	modeltext.Stream
	events eventReader
	done   bool // the stream's own end has come
	lost   bool // an event can't be read
}

func (r *reading) add(e event) (k kind, text string) {
	v := valid(e.data)
	k = r.events.add(e, v)
	switch {
	case e.data == nil:
	case string(e.data) == "[DONE]":
		r.done = true
	default:
		var err error
		if text, err = r.Add(e.data); err != nil {
			r.lost = true
		}
	}
	return k, text
}

// readStream reads a stream, and sends on what isn't held. It calls whole before the end of a reply reaches the client
// that way.
func (x *exchange) readStream(t *attempt, hold gateway.Hold, body io.Reader, whole func(*gateway.Reply)) (*gateway.Reply, error) {
	r := &reading{events: x.shape.events(x.request)}
	r.Protocol = x.shape.protocol()
	added := x.request.usage.text != nil
	t.direct = hold == gateway.HoldNothing
	var split splitter
	each := func(e event) error {
		k, text := r.add(e)
		if t.direct || hold == gateway.HoldCalls && k != calling {
			x.shown.WriteString(text)
			if whole != nil && (r.done || r.Finished()) {
				text, _ := modeltext.Split(x.shown.String())
				whole(&gateway.Reply{IDs: r.events.ids(), Text: text, Calls: r.events.calls()})
				whole = nil
			}
		}
		switch {
		case added && k == counting: // only the gateway asked for it
			return nil
		case t.direct && added:
			return x.write(t, e.raw)
		case t.direct:
			return nil // its bytes were sent as they came
		}
		t.events = append(t.events, e)
		if hold != gateway.HoldCalls || k == calling || k == opening {
			if k == calling {
				hold = gateway.HoldAll
			}
			return nil
		}
		return x.show(t)
	}
	buffer := make([]byte, 32<<10)
	for {
		n, err := body.Read(buffer)
		if limit := x.hold(n); limit != nil {
			return nil, limit
		}
		if err := split.add(buffer[:n], each); err != nil {
			return nil, err
		}
		if n > 0 && t.direct && !added {
			if err := x.write(t, buffer[:n]); err != nil {
				return nil, err
			}
		}
		if err == nil {
			continue
		}
		if rest, is := split.rest(); is {
			if err := each(rest); err != nil {
				return nil, err
			}
		}
		if !errors.Is(err, io.EOF) {
			if sdk.ReasonOf(err) != unreachable {
				return nil, err
			}
			t.broken = true
		}
		break
	}
	x.whole = !t.broken && (t.direct || t.sent > 0 && t.sent == len(t.events))
	return x.replyOf(t, r), nil
}

// replyOf is what a stream says.
func (x *exchange) replyOf(t *attempt, r *reading) *gateway.Reply {
	reply := replyOf(r.Reply())
	reply.IDs, reply.Calls = r.events.ids(), r.events.calls()
	if t.broken || r.lost || !r.Finished() && !(r.done && r.Began()) {
		reply.Finish = gateway.Cut
	}
	if first := x.attempts[1]; first != nil && first != t && first.sent > 0 {
		reply.Text, _ = modeltext.Split(x.shown.String()) // of this attempt the client gets the calls
	}
	return reply
}

// show sends the events of an attempt that the client hasn't.
func (x *exchange) show(t *attempt) error {
	events := t.events[t.sent:]
	t.sent = len(t.events)
	for _, e := range events {
		if err := x.write(t, e.raw); err != nil {
			return err
		}
	}
	return nil
}

// deliver sends what the client hasn't of the answer.
func (x *exchange) deliver(out *gateway.Outcome) error {
	t, first := x.attempts[out.Attempt], x.attempts[1]
	if t == nil {
		return sdk.Errorf(sdk.Internal, "", "attempt %d is the answer, and wasn't asked for", out.Attempt)
	}
	if !x.begun {
		x.judged(out)
	}
	var err error
	switch {
	case t.events == nil:
		err = x.write(t, t.body)
	case t == first || first == nil || first.sent == 0:
		err = x.show(t)
	default:
		err = x.write(t, x.shape.splice(first.events[:first.sent], t.events))
	}
	if err != nil || t.broken { // an incomplete answer mustn't look complete
		panic(http.ErrAbortHandler)
	}
	return nil
}

// write sends bytes at once. t is the attempt whose status and headers they have if they are the first.
func (x *exchange) write(t *attempt, p []byte) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.writeLocked(t, p)
}

func (x *exchange) writeLocked(t *attempt, p []byte) error {
	if !x.begun {
		x.begun = true
		copyDown(x.w.Header(), t.header)
		x.setTurn(x.turn)
		x.w.WriteHeader(t.status)
	}
	x.last = time.Now()
	_, err := x.w.Write(p)
	if err == nil {
		if err = http.NewResponseController(x.w).Flush(); errors.Is(err, http.ErrNotSupported) {
			err = nil
		}
	}
	if err != nil {
		return sdk.Errorf(sdk.Cancelled, "client_gone", "the client doesn't receive the reply: %w", err)
	}
	return nil
}

// setTurn sets the headers that say where the request belongs.
func (x *exchange) setTurn(t gateway.Turn) {
	h := x.w.Header()
	for name, value := range map[string]string{"Reflectory-Run": t.Run, "Reflectory-Session": t.Session, "Reflectory-Snapshot": t.Snapshot} {
		if value != "" {
			h.Set(name, value)
		}
	}
	if t.Number > 0 {
		h.Set("Reflectory-Turn", strconv.FormatInt(t.Number, 10))
	}
}

// keepAlive begins to send signs of life, once. What is sent are whole events, so they fit between any two.
func (x *exchange) keepAlive(t *attempt) {
	if x.quiet != nil {
		return
	}
	ended, done := make(chan struct{}), make(chan struct{})
	x.mu.Lock()
	x.last = time.Now()
	x.mu.Unlock()
	go func() {
		defer close(done)
		timer := time.NewTimer(keepAlive)
		defer timer.Stop()
		for {
			select {
			case <-ended:
				return
			case <-timer.C:
			}
			x.mu.Lock()
			wait := keepAlive - time.Since(x.last)
			if wait <= 0 {
				wait = keepAlive
				_ = x.writeLocked(t, []byte(x.shape.idle())) // what is sent next finds that the client is gone
			}
			x.mu.Unlock()
			timer.Reset(wait)
		}
	}()
	x.quiet = sync.OnceFunc(func() {
		close(ended)
		<-done
	})
}

// silence ends the signs of life.
func (x *exchange) silence() {
	if x.quiet != nil {
		x.quiet()
	}
}
