package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Limits of a session on standard input and output.
const (
	// maxLine is how many bytes a line has at most, 16 MiB: the library's own limit.
	maxLine = mcp.DefaultMaxLineLength
	// drainTime is how long calls may take to end once the input has ended: as long as a server
	// waits for its requests.
	drainTime = 22 * time.Second
	// maxUnanswered is how many bytes the calls that aren't answered yet have at most: 64 MiB.
	// callCost is added for each, for what it needs besides its text. If there are more, no
	// further line is read until a call is answered.
	maxUnanswered, callCost = 64 << 20, 4 << 10
)

// codeEnding is the code of the error for calls that the end of the session stopped, from the
// range that JSON-RPC leaves to servers.
const codeEnding = -32000

// lines is a session on standard input and output: each line is a message. The library has such
// a transport too, but that one ends the session at the first line that isn't a message, and
// drops what was read when the input ends. Here such a line is answered with an error, and the
// end of the input is reported only after all calls have been answered or [drainTime] has
// passed. It implements [mcp.Transport] and [mcp.Connection].
type lines struct {
	in    io.ReadCloser
	out   io.Writer
	stop  <-chan struct{} // when it is closed, reading ends as if the input had ended; nil never is
	exact exact

	incoming chan line
	closed   chan struct{}
	close    func() error

	output sync.Mutex // for writing one line at a time

	mu      sync.Mutex
	calls   map[jsonrpc.ID]int // the cost of each call that isn't answered
	cost    int                // of all of them
	writing int                // answers that are being written
	changed chan struct{}      // gets an element when a call has been answered
}

// line is a line, or the error that ended the input.
type line struct {
	text []byte
	long bool // it is longer than maxLine, and not in text
	err  error
}

func newLines(in io.ReadCloser, out io.Writer, stop <-chan struct{}) *lines {
	l := &lines{
		in: in, out: out, stop: stop, exact: newExact(), incoming: make(chan line), closed: make(chan struct{}),
		calls: map[jsonrpc.ID]int{}, changed: make(chan struct{}, 1),
	}
	l.close = sync.OnceValue(func() error {
		close(l.closed)
		return l.in.Close()
	})
	return l
}

// Connect implements [mcp.Transport].
func (l *lines) Connect(context.Context) (mcp.Connection, error) {
	go l.readLines() // until the input ends, which Close sees to if it can be closed
	return l, nil
}

// SessionID implements [mcp.Connection].
func (*lines) SessionID() string { return "" }

// Close implements [mcp.Connection].
func (l *lines) Close() error { return l.close() }

// readLines reads lines until the input ends.
func (l *lines) readLines() {
	r := bufio.NewReaderSize(l.in, 64<<10)
	for {
		next := readLine(r)
		if next.err == nil || len(next.text) > 0 || next.long {
			select {
			case l.incoming <- line{text: next.text, long: next.long}:
			case <-l.closed:
				return
			}
		}
		if next.err != nil {
			select {
			case l.incoming <- line{err: next.err}:
			case <-l.closed:
			}
			return
		}
	}
}

// readLine reads a line. The last one may have an error too.
func readLine(r *bufio.Reader) (l line) {
	for {
		part, err := r.ReadSlice('\n')
		if l.long = l.long || len(l.text)+len(part) > maxLine+1; l.long { // its end isn't counted
			l.text = nil
		} else {
			l.text = append(l.text, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			l.err = err
			return l
		}
	}
}

// Read implements [mcp.Connection].
func (l *lines) Read(context.Context) (jsonrpc.Message, error) {
	for {
		if !l.wait(nil, func() bool { return l.cost <= maxUnanswered }) {
			return nil, l.end(io.EOF)
		}
		var next line
		select {
		case <-l.closed:
			return nil, io.EOF
		case <-l.stop:
			return nil, l.end(io.EOF)
		case next = <-l.incoming:
		}
		if next.err != nil {
			return nil, l.end(next.err)
		}
		m, err := l.message(next)
		if m != nil || err != nil {
			return m, err
		}
	}
}

// message reads a line as a message, or answers it with an error. Nil needs no further answer.
func (l *lines) message(next line) (jsonrpc.Message, error) {
	if next.long {
		return nil, l.refuse("null", jsonrpc.CodeInvalidRequest, fmt.Sprintf("the line is too long: the limit is %d bytes", maxLine))
	}
	m, refused := l.exact.read(next.text, "the line")
	switch {
	case refused != nil:
		return nil, l.writeLine(refused.bytes())
	case m.text == nil || m.response: // this server asks its client nothing
		return nil, nil
	}
	decoded, err := jsonrpc.DecodeMessage(m.text)
	if err != nil {
		return nil, l.refuse("null", jsonrpc.CodeInvalidRequest, err.Error())
	}
	// A call that listens ends with the session, so nothing waits for its answer.
	if r, is := decoded.(*jsonrpc.Request); is && r.IsCall() && r.Method != "subscriptions/listen" && !l.begin(r.ID, len(m.text)+callCost) {
		return nil, l.refuse("null", jsonrpc.CodeInvalidRequest, "the id is in use by a request that isn't answered yet")
	}
	return decoded, nil
}

func (l *lines) refuse(id string, code int64, why string) error {
	return l.writeLine((&notMessage{json.RawMessage(id), jsonrpc.Error{Code: code, Message: why}}).bytes())
}

// begin counts a call until it is answered; false if its id is in use.
func (l *lines) begin(id jsonrpc.ID, cost int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, used := l.calls[id]; used {
		return false
	}
	l.calls[id] = cost
	l.cost += cost
	return true
}

// Write implements [mcp.Connection].
func (l *lines) Write(_ context.Context, m jsonrpc.Message) error {
	text, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	if r, is := m.(*jsonrpc.Response); is {
		l.answering(r.ID) // before it is written, since the client may then use the id again
		defer l.answered()
	}
	return l.writeLine(l.exact.restore(text))
}

func (l *lines) answering(id jsonrpc.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cost -= l.calls[id]
	delete(l.calls, id)
	l.writing++
}

func (l *lines) answered() {
	l.mu.Lock()
	l.writing--
	l.mu.Unlock()
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// wait waits until something is true of the unanswered calls; false if the session is closed,
// the reading is stopped, or there is no more time.
func (l *lines) wait(late <-chan time.Time, done func() bool) bool {
	stop := l.stop
	if late != nil {
		stop = nil // it has ended already
	}
	for {
		l.mu.Lock()
		is := done()
		l.mu.Unlock()
		if is {
			return true
		}
		select {
		case <-l.changed:
		case <-l.closed:
			return false
		case <-stop:
			return false
		case <-late:
			return false
		}
	}
}

// end waits until all calls are answered, or answers them itself if that takes too long, and
// returns why the input has ended.
func (l *lines) end(why error) error {
	timer := time.NewTimer(drainTime)
	defer timer.Stop()
	if l.wait(timer.C, func() bool { return len(l.calls) == 0 && l.writing == 0 }) {
		return why
	}
	l.mu.Lock()
	left := l.calls
	l.calls = map[jsonrpc.ID]int{}
	l.mu.Unlock()
	for id := range left {
		text, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: id, Error: &jsonrpc.Error{
			Code: codeEnding, Message: fmt.Sprintf("the session has ended, and the call took more than %s longer", drainTime),
		}})
		if err != nil || l.writeLine(l.exact.restore(text)) != nil {
			return why // the client doesn't read any more
		}
	}
	return why
}

func (l *lines) writeLine(text []byte) error {
	l.output.Lock()
	defer l.output.Unlock()
	_, err := l.out.Write(append(text, '\n'))
	return err
}
