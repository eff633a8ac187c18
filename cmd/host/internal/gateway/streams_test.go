package gateway_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/cmd/host/internal/gateway"
	"github.com/reflectory/reflectory/cmd/host/internal/gateway/gatewaytest"
	"github.com/reflectory/reflectory/core/coretest"
	core "github.com/reflectory/reflectory/core/host/gateway"
)

// piecewise is a stream's body that arrives in pieces, and may break off.
type piecewise struct {
	pieces []string
	err    error
}

// Read implements [io.Reader].
func (p *piecewise) Read(b []byte) (int, error) {
	if len(p.pieces) == 0 {
		return 0, p.err
	}
	n := copy(b, p.pieces[0])
	if p.pieces[0] = p.pieces[0][n:]; p.pieces[0] == "" {
		p.pieces = p.pieces[1:]
	}
	return n, nil
}

// Close implements [io.Closer].
func (*piecewise) Close() error { return nil }

// bodies answers requests with streams, one after another, without a network.
type bodies struct {
	streams []func() *piecewise
	count   int
}

// RoundTrip implements [http.RoundTripper].
func (b *bodies) RoundTrip(*http.Request) (*http.Response, error) {
	body := b.streams[min(b.count, len(b.streams)-1)]()
	b.count++
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body}, nil
}

// generated is a stream of an upstream.
type generated struct {
	reply gatewaytest.Reply
	text  string // as it arrives
	// whole is whether it is a complete reply.
	whole  bool
	pieces []string
	err    error
}

func (g *generated) body() *piecewise {
	return &piecewise{append([]string(nil), g.pieces...), g.err}
}

// generate makes a stream.
func generate(r *rand.Rand, path string, usage bool, id string) *generated {
	words := []string{"", "a", "Hello, wörld. ", "日本語 ", "😀😀", `{"a": "<b>"}`, "line\nbreak\r\n", "</context> ", "data: [DONE]\n\n", `"\"`}
	text := func() (t string) {
		for range r.IntN(6) {
			t += words[r.IntN(len(words))]
		}
		return t
	}
	g := &generated{whole: true, reply: gatewaytest.Reply{Text: text(), Thinking: text(), Piece: 1 + r.IntN(9)}}
	for i := range r.IntN(4) {
		g.reply.Calls = append(g.reply.Calls, gatewaytest.Call{ID: fmt.Sprintf("%s-%d", id, i), Name: "tool", Arguments: fmt.Sprintf(`{"text": %q, "n": 1.0}`, "ü"+id)})
	}
	events := gatewaytest.Stream(path, g.reply, usage)
	failing := r.IntN(8)
	for i, e := range events {
		if r.IntN(6) == 0 {
			g.text += []string{": comment\n\n", ":\n", "id: 7\n", "retry: 10\n\n"}[r.IntN(4)]
		}
		if failing == 0 && i == len(events)/2 {
			g.whole = false
			g.text += "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"},\"message\":\"busy\"}\n\n"
			break
		}
		g.text += e
	}
	switch r.IntN(4) {
	case 0:
		g.text = strings.ReplaceAll(g.text, "\n", "\r\n")
	case 1:
		g.text = strings.ReplaceAll(g.text, "\n", "\r")
	}
	g.err = io.EOF
	rest := g.text
	if r.IntN(8) == 0 {
		g.whole = false
		rest = rest[:r.IntN(len(rest))]
		if r.IntN(2) == 0 {
			g.err = errors.New("connection reset")
		}
		g.text = rest
	}
	for most := []int{1, 7, 100, 100_000}[r.IntN(4)]; rest != ""; {
		n := min(1+r.IntN(most), len(rest))
		g.pieces, rest = append(g.pieces, rest[:n]), rest[n:]
	}
	return g
}

// pass sends streams through a gateway. accept is as in [world.serve].
func pass(t *testing.T, shape, body string, hold core.Hold, accept func(*core.Reply) bool, streams ...*generated) (got string, replies []*core.Reply, aborted bool) {
	t.Helper()
	b := &bodies{}
	for _, g := range streams {
		b.streams = append(b.streams, g.body)
	}
	w := &world{T: t, model: gateway.Model{Name: "m", Endpoint: gateway.Endpoint{Families: []gateway.Family{gateway.OpenAI, gateway.Anthropic}, Base: "http://upstream"}}}
	w.serve(hold, accept)
	h := gateway.New(gateway.Config{Models: w, Transport: b})
	rec := httptest.NewRecorder()
	func() {
		defer func() {
			if v := recover(); v != nil {
				if err, is := v.(error); !is || !errors.Is(err, http.ErrAbortHandler) {
					panic(v)
				}
				aborted = true
			}
		}()
		h.ServeHTTP(rec, httptest.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodPost, shapes[shape].path, bytes.NewReader([]byte(fmt.Sprintf(shapes[shape].body, body)))))
	}()
	return rec.Body.String(), w.replies, aborted
}

// TestStreams_PassByteForByte: without a check, and with one that they pass; and what was rejected is replaced by the
// calls of the next reply, so that a client puts the same message together.
func TestStreams_PassByteForByte(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	for seed := range 1000 {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		for _, name := range []string{"chat", "responses", "messages"}[seed%3 : seed%3+1] {
			s := shapes[name]
			g, next := generate(r, s.up, true, "first"), generate(r, s.up, true, "next")
			member := `,"stream":true`
			if name == "chat" {
				member += `,"stream_options":{"include_usage":true}`
			}
			for _, hold := range []core.Hold{core.HoldNothing, core.HoldCalls, core.HoldAll} {
				got, replies, aborted := pass(t, name, member, hold, nil, g)
				if got != g.text || aborted != (g.err != io.EOF) {
					t.Fatalf("%s %d, hold %d: aborted %v\n%q\nwant\n%q", name, seed, hold, aborted, got, g.text)
				}
				checkReply(t, fmt.Sprint(name, seed, hold), g, replies[0])
			}
			if !g.whole || !next.whole {
				continue
			}
			second := false
			reject := func(*core.Reply) bool { second = !second; return !second }
			if got, _, _ := pass(t, name, member, core.HoldAll, reject, g, next); got != next.text {
				t.Fatalf("%s %d: all is held, and of the second is sent\n%q\nwant\n%q", name, seed, got, next.text)
			}
			if len(g.reply.Calls) == 0 {
				continue // it has nothing to check
			}
			got, replies, _ := pass(t, name, member, core.HoldCalls, reject, g, next)
			checkSpliced(t, fmt.Sprintf("%s %d", name, seed), g, next, reassemble(t, name, got), replies[1])
		}
	}
}

func checkReply(t *testing.T, name string, g *generated, reply *core.Reply) {
	t.Helper()
	if !g.whole {
		if reply.Finish == core.Complete && !strings.Contains(g.text, "[DONE]") && !strings.Contains(g.text, "_reason\":\"") && !strings.Contains(g.text, "response.completed") {
			t.Fatalf("%s: a stream that isn't whole is %+v: %q", name, reply, g.text)
		}
		return
	}
	if reply.Finish != core.Complete || reply.Text != g.reply.Text || len(reply.Calls) != len(g.reply.Calls) || reply.Usage.TokensOut != 7 {
		t.Fatalf("%s: %+v of\n%q", name, reply, g.text)
	}
	for i, c := range reply.Calls {
		if want := g.reply.Calls[i]; c != (core.Call{ID: want.ID, Name: want.Name, Arguments: want.Arguments}) {
			t.Fatalf("%s: %+v, want %+v", name, c, want)
		}
	}
}

// checkSpliced checks a message whose calls are of another attempt than its text.
func checkSpliced(t *testing.T, name string, g, next *generated, got message, reply *core.Reply) {
	t.Helper()
	want := message{text: g.reply.Text}
	thought := g.reply.Thinking != "" && !strings.HasPrefix(name, "responses") // there it waits for what comes behind it
	if want.text == "" && !thought {
		want.text = next.reply.Text // nothing of the first was sent
	}
	for _, c := range next.reply.Calls {
		want.calls = append(want.calls, c.ID+" "+c.Name+" "+c.Arguments)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(message{})); diff != "" {
		t.Fatalf("%s (-want +got):\n%s\n%q\n%q", name, diff, g.text, next.text)
	}
	if reply.Text != want.text {
		t.Fatalf("%s: the reply says %q, and the client got %q", name, reply.Text, want.text)
	}
}

// TestStreams_UsageThatOnlyTheGatewayAskedForIsRemoved: everything else keeps its bytes.
func TestStreams_UsageThatOnlyTheGatewayAskedForIsRemoved(t *testing.T) {
	for seed := range 50 {
		r := rand.New(rand.NewPCG(uint64(seed), 8))
		g := generate(r, "/chat/completions", true, "x")
		if !g.whole {
			continue
		}
		for _, member := range []string{`,"stream":true`, `,"stream":true,"stream_options":{"include_usage":false}`, `,"stream":true,"stream_options":null`, `,"stream":true,"stream_options":{"x":1}`} {
			got, replies, _ := pass(t, "chat", member, core.HoldNothing, nil, g)
			if strings.Contains(got, "completion_tokens") || replies[0].Usage.TokensIn != 11 {
				t.Fatalf("%d: %q", seed, got)
			}
			if want := reassemble(t, "chat", g.text); !cmp.Equal(want, reassemble(t, "chat", got), cmp.AllowUnexported(message{})) {
				t.Fatalf("%d: %q", seed, got)
			}
			if _, tail, _ := strings.Cut(g.text, "completion_tokens"); !strings.HasSuffix(got, tail[strings.Index(tail, "data: [DONE]"):]) {
				t.Fatalf("%d: the end is lost: %q", seed, got)
			}
		}
	}
}
