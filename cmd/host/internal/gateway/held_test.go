package gateway_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/cmd/host/internal/gateway"
	"github.com/reflectory/reflectory/cmd/host/internal/gateway/gatewaytest"
	core "github.com/reflectory/reflectory/core/host/gateway"
)

// feed is a stream that the test sends piece by piece.
type feed struct {
	ctx    context.Context
	pieces chan string
	rest   string
}

// Read implements [io.Reader].
func (f *feed) Read(p []byte) (int, error) {
	for f.rest == "" {
		select {
		case piece, open := <-f.pieces:
			if !open {
				return 0, io.EOF
			}
			f.rest = piece
		case <-f.ctx.Done():
			return 0, f.ctx.Err()
		}
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// Close implements [io.Closer].
func (*feed) Close() error { return nil }

// fed is an upstream whose stream is fed. gone is closed when the gateway gives its request up.
type fed struct {
	pieces chan string
	gone   chan struct{}
}

// RoundTrip implements [http.RoundTripper].
func (f *fed) RoundTrip(r *http.Request) (*http.Response, error) {
	go func() {
		<-r.Context().Done()
		close(f.gone)
	}()
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: &feed{ctx: r.Context(), pieces: f.pieces}}, nil
}

// TestStream_HeldSaysThatItIsAlive: every 5 s in which nothing is sent, in a way that no reader takes for an event.
func TestStream_HeldSaysThatItIsAlive(t *testing.T) {
	for shape, idle := range map[string]string{"chat": ": keep-alive\n", "responses": ": keep-alive\n", "messages": "event: ping\ndata: {\"type\": \"ping\"}\n\n"} {
		t.Run(shape, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				up := &fed{make(chan string), make(chan struct{})}
				w := &world{T: t, model: gateway.Model{Name: "m", Endpoint: gateway.Endpoint{Families: []gateway.Family{gateway.OpenAI, gateway.Anthropic}, Base: "http://up"}}}
				w.serve(core.HoldAll, nil)
				h, rec, done := gateway.New(gateway.Config{Models: w, Transport: up}), httptest.NewRecorder(), make(chan struct{})
				go func() {
					defer close(done)
					h.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodPost, shapes[shape].path, strings.NewReader(strings.Replace(shapes[shape].body, "%s", `,"stream":true`, 1))))
				}()
				events := gatewaytest.Stream(shapes[shape].up, gatewaytest.Reply{Text: "Hello, this is long."}, false)
				want := ""
				for i, e := range events {
					up.pieces <- e
					if i == 2 {
						time.Sleep(11 * time.Second)
						want = idle + idle
					}
				}
				synctest.Wait()
				if got := rec.Body.String(); got != want {
					t.Errorf("while it is held: %q, want %q", got, want)
				}
				close(up.pieces)
				<-done
				if got := rec.Body.String(); got != want+strings.Join(events, "") {
					t.Errorf("got %q", got)
				}
			})
		})
	}
}

// TestStream_TextArrivesWhileCallsAreHeld: a text is with the client before the reply is whole, and a call isn't.
func TestStream_TextArrivesWhileCallsAreHeld(t *testing.T) {
	for shape, s := range shapes {
		t.Run(shape, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				up := &fed{make(chan string), make(chan struct{})}
				w := &world{T: t, model: gateway.Model{Name: "m", Endpoint: gateway.Endpoint{Families: []gateway.Family{gateway.OpenAI, gateway.Anthropic}, Base: "http://up"}}}
				w.serve(core.HoldCalls, nil)
				h, rec, done := gateway.New(gateway.Config{Models: w, Transport: up}), httptest.NewRecorder(), make(chan struct{})
				go func() {
					defer close(done)
					h.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodPost, s.path, strings.NewReader(strings.Replace(s.body, "%s", `,"stream":true,"stream_options":{"include_usage":true}`, 1))))
				}()
				all, call := "", false
				for _, e := range gatewaytest.Stream(s.up, badCall, true) {
					call = call || strings.Contains(e, "bad-1")
					up.pieces <- e
					all += e
					synctest.Wait()
					if got := rec.Body.String(); call && strings.Contains(got, "bad-1") || !call && strings.Contains(e, "I'll ") && got != all {
						t.Fatalf("after %q: %q", e, got)
					}
				}
				close(up.pieces)
				<-done
				if rec.Body.String() != all {
					t.Errorf("got %q", rec.Body.String())
				}
			})
		})
	}
}

// TestStream_EachByteAtOnce: half an event is with the client before the other half comes.
func TestStream_EachByteAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := &fed{make(chan string), make(chan struct{})}
		w := &world{T: t, model: gateway.Model{Name: "m", Endpoint: gateway.Endpoint{Families: []gateway.Family{gateway.Anthropic}, Base: "http://up"}}}
		w.serve(core.HoldNothing, nil)
		h, rec, done := gateway.New(gateway.Config{Models: w, Transport: up}), httptest.NewRecorder(), make(chan struct{})
		go func() {
			defer close(done)
			h.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodPost, shapes["messages"].path, strings.NewReader(strings.Replace(shapes["messages"].body, "%s", `,"stream":true`, 1))))
		}()
		all := ""
		for _, c := range strings.Join(gatewaytest.Stream("/messages", gatewaytest.Reply{Text: "ä"}, false), "") {
			up.pieces <- string(c)
			all += string(c)
			synctest.Wait()
			if rec.Body.String() != all {
				t.Fatalf("%q, want %q", rec.Body.String(), all)
			}
		}
		close(up.pieces)
		<-done
	})
}

// TestStream_UpstreamThatHangs: the client gets an error once nothing has come for long, and the family's own in a
// stream that has begun.
func TestStream_UpstreamThatHangs(t *testing.T) {
	for shape, s := range shapes {
		for _, begun := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				up := &fed{make(chan string), make(chan struct{})}
				w := &world{T: t, model: gateway.Model{Name: "m", Endpoint: gateway.Endpoint{Families: []gateway.Family{gateway.OpenAI, gateway.Anthropic}, Base: "http://up"}}}
				w.serve(core.HoldNothing, nil)
				h, rec, done := gateway.New(gateway.Config{Models: w, Transport: up, Silence: time.Minute}), httptest.NewRecorder(), make(chan struct{})
				go func() {
					defer close(done)
					h.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodPost, s.path, strings.NewReader(strings.Replace(s.body, "%s", `,"stream":true`, 1))))
				}()
				if begun {
					up.pieces <- gatewaytest.Stream(s.up, gatewaytest.Reply{}, false)[0]
				}
				<-done
				<-up.gone
				got := rec.Body.String()
				if !begun && rec.Code != http.StatusGatewayTimeout {
					t.Errorf("%s: %d %s", shape, rec.Code, got)
				}
				if !strings.Contains(got, "the upstream has sent nothing for 1m0s") {
					t.Errorf("%s: %s", shape, got)
				}
				if begun && reassemble(t, shape, got).err == "" {
					t.Errorf("%s: no error event in %s", shape, got)
				}
			})
		}
	}
}

// TestStream_ClientThatGoesAwayEndsTheUpstreamsRequest: whether it gets the stream at once or not.
func TestStream_ClientThatGoesAwayEndsTheUpstreamsRequest(t *testing.T) {
	for _, hold := range []core.Hold{core.HoldNothing, core.HoldCalls, core.HoldAll} {
		synctest.Test(t, func(t *testing.T) {
			up := &fed{make(chan string), make(chan struct{})}
			w := &world{T: t, model: gateway.Model{Name: "m", Endpoint: gateway.Endpoint{Families: []gateway.Family{gateway.OpenAI}, Base: "http://up"}}}
			w.serve(hold, nil)
			h, rec, done := gateway.New(gateway.Config{Models: w, Transport: up}), httptest.NewRecorder(), make(chan struct{})
			ctx, leave := context.WithCancel(t.Context())
			go func() {
				defer close(done)
				h.ServeHTTP(rec, httptest.NewRequestWithContext(ctx, http.MethodPost, shapes["chat"].path, strings.NewReader(strings.Replace(shapes["chat"].body, "%s", `,"stream":true`, 1))))
			}()
			up.pieces <- gatewaytest.Stream("/chat/completions", gatewaytest.Reply{}, false)[0]
			leave()
			<-up.gone
			<-done
		})
	}
}

// unwritable is a client that takes nothing.
type unwritable struct{ http.ResponseWriter }

// Write implements [http.ResponseWriter].
func (unwritable) Write([]byte) (int, error) { return 0, context.DeadlineExceeded }

func TestStream_ClientThatTakesNothingEndsTheUpstreamsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := &fed{make(chan string), make(chan struct{})}
		w := &world{T: t, model: gateway.Model{Name: "m", Endpoint: gateway.Endpoint{Families: []gateway.Family{gateway.OpenAI}, Base: "http://up"}}}
		w.serve(core.HoldNothing, nil)
		h, done := gateway.New(gateway.Config{Models: w, Transport: up}), make(chan struct{})
		go func() {
			defer close(done)
			h.ServeHTTP(unwritable{httptest.NewRecorder()}, httptest.NewRequestWithContext(t.Context(), http.MethodPost, shapes["responses"].path, strings.NewReader(strings.Replace(shapes["responses"].body, "%s", `,"stream":true`, 1))))
		}()
		up.pieces <- "data: x\n\n"
		<-up.gone
		<-done
	})
}
