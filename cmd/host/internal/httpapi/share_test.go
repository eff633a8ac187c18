package httpapi

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/share"
	"github.com/reflectory/reflectory/sdk"
)

// line is one connection of a test.
type line struct {
	net.Conn
	in *bufio.Reader
}

// dial opens a connection to a site over pipes.
func dial(l *pipes) *line {
	own, other := net.Pipe()
	l.conns <- other
	return &line{own, bufio.NewReader(own)}
}

// ask asks as somebody, or as nobody, and returns the status; 0 if the connection is closed.
func (c *line) ask(path, who string) int {
	header := ""
	if who != "" {
		header = "Authorization: Bearer " + who + "\r\n"
	}
	if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", path, header); err != nil {
		return 0
	}
	answer, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode
}

// TestConnections_StrangersLockNobodyOut: connections without credentials that stay open, in
// whatever state, make room for new ones, and don't end those whose caller is known.
func TestConnections_StrangersLockNobodyOut(t *testing.T) {
	for _, c := range []struct {
		name   string
		attack func(c *line)
	}{
		{"silent", func(*line) {}},
		{"after a request", func(c *line) { c.ask("/healthz", "") }},
		{"after many requests", func(c *line) { c.ask("/healthz", ""); c.ask("/readyz", "") }},
		{"after an unknown path", func(c *line) { c.ask("/no/such", "") }},
		{"after wrong credentials", func(c *line) { c.ask("/v1/memories", "wrong") }},
		{"half a line", func(c *line) { _, _ = io.WriteString(c, "GET /heal") }},
		{"half a header", func(c *line) { _, _ = io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: l") }},
		{"no HTTP", func(c *line) { _, _ = io.WriteString(c, "\x16\x03") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newLimitedSite(t, Limits{Requests: -1, Writes: -1, FailedLogins: -1, Connections: 8})
				server, l := s.start()
				friend := dial(l)
				if got := friend.ask("/v1/jobs", "here"); got != http.StatusOK {
					t.Fatalf("the neighbour gets %d", got)
				}
				var all []*line
				for range 20 {
					a := dial(l)
					c.attack(a)
					all = append(all, a)
				}
				if got := friend.ask("/v1/jobs", "here"); got != http.StatusOK {
					t.Errorf("on its open connection the neighbour gets %d", got)
				}
				fresh := dial(l)
				if got := fresh.ask("/v1/jobs", "here"); got != http.StatusOK {
					t.Errorf("on a new connection the neighbour gets %d", got)
				}
				time.Sleep(strangerIdle + time.Second)
				if got := all[19].ask("/healthz", ""); got != 0 {
					t.Errorf("a stranger is still connected after %s, and gets %d", strangerIdle, got)
				}
				if got := fresh.ask("/v1/jobs", "here"); got != http.StatusOK {
					t.Errorf("after a pause the neighbour gets %d", got)
				}
				for _, a := range append(all, friend, fresh) {
					_ = a.Close()
				}
				s.Must(server.Stop())
				s.Must(s.Host.Close())
			})
		})
	}
}

// TestBodies_ATenantsHalf: bodies that a tenant sends slowly, or of which nobody knows the
// size, leave room for another tenant's, and the tenant's own further ones are refused after a
// while, as if they came too often.
func TestBodies_ATenantsHalf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLimitedSite(t, Limits{Requests: -1, Writes: -1, Body: 4 << 20})
		slow := func() (*io.PipeWriter, chan *answer) {
			body, w := io.Pipe()
			r := s.request("here", http.MethodPost, "/v1/memories", "")
			r.Body, r.ContentLength = body, -1
			r.Header.Set("Content-Type", "application/json")
			answered := make(chan *answer, 1)
			go func() { answered <- serve(s.api.Remote(), r) }()
			return w, answered
		}
		var writers []*io.PipeWriter
		var answers []chan *answer
		for range 2 { // all of a half of 16 MiB
			w, answered := slow()
			writers, answers = append(writers, w), append(answers, answered)
		}
		synctest.Wait()
		if a := s.send("operator", http.MethodPost, "/v1/memories", `{"content": "c", "namespace": "team/here"}`); a.StatusCode != http.StatusOK {
			t.Errorf("the neighbour gets %d %s", a.StatusCode, a.body)
		}
		a := s.send("elsewhere", http.MethodPost, "/v1/memories", `{"content": "c", "namespace": "team/elsewhere"}`) // of the same tenant
		if a.StatusCode != http.StatusTooManyRequests || a.problem(t).Code != "bodies_exhausted" || a.Header.Get("Retry-After") == "" {
			t.Errorf("the tenant's further body: %d %s", a.StatusCode, a.body)
		}
		for i, w := range writers {
			_, _ = io.WriteString(w, `{"content": "c", "namespace": "team/here"}`)
			_ = w.Close()
			if a := <-answers[i]; a.StatusCode != http.StatusOK {
				t.Errorf("the slow body: %d %s", a.StatusCode, a.body)
			}
		}
		if n := s.api.bodies.Taken(); n != 0 {
			t.Errorf("%d bytes are counted still", n)
		}
		s.Must(s.Host.Close())
	})
}

// TestBodies_ATenantsProcessors: while a tenant's bodies are decoded on half of the processors, another
// tenant's are decoded at once, and the tenant's own further ones wait, and are refused after a while.
func TestBodies_ATenantsProcessors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLimitedSite(t, Limits{Requests: -1, Writes: -1})
		for _, c := range []struct{ processors, half int64 }{{2, 1}, {3, 1}, {4, 2}, {64, 32}} {
			s.api.decoding = newDecoding(c.processors)
			done, err := s.api.decoding.Take(t.Context(), "team", c.processors)
			s.Must(err)
			if n := s.api.decoding.Taken(); n != c.half {
				t.Errorf("the tenant takes %d of %d processors", n, c.processors)
			}
			body := `{"content": "c", "namespace": "team/elsewhere"}`
			if a := s.send("operator", http.MethodPost, "/v1/memories", body); a.StatusCode != http.StatusOK {
				t.Errorf("the neighbour gets %d %s", a.StatusCode, a.body)
			}
			if a := s.send("elsewhere", http.MethodPost, "/v1/memories", body); a.StatusCode != http.StatusTooManyRequests || a.problem(t).Code != "bodies_exhausted" {
				t.Errorf("the tenant's further body: %d %s", a.StatusCode, a.body)
			}
			done()
			if a := s.send("elsewhere", http.MethodPost, "/v1/memories", body); a.StatusCode != http.StatusOK {
				t.Errorf("the tenant's body afterwards: %d %s", a.StatusCode, a.body)
			}
			if n := s.api.decoding.Taken(); n != 0 {
				t.Errorf("%d processors are counted still", n)
			}
		}
		s.Must(s.Host.Close())
	})
}

// TestBodies_ARefusalWaitsForAProcessor: a body that was refused is decoded again for what the problem
// may not quote, and counts again while it is.
func TestBodies_ARefusalWaitsForAProcessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLimitedSite(t, Limits{Requests: -1, Writes: -1})
		s.api.decoding = newDecoding(2)
		done, err := s.api.decoding.Take(t.Context(), "team", 1)
		s.Must(err)
		refuse := func(who string, local bool) (answered func() bool) {
			var is atomic.Bool
			r := &request{http: httptest.NewRequest(http.MethodPost, "/v1/memories", nil), body: []byte(`{"content": "x"}`), local: local}
			r.caller = core.Caller{Subject: who, Namespaces: []string{who + "/**"}}
			go func() {
				s.api.problems.refuse(httptest.NewRecorder(), r, sdk.Errorf(sdk.Invalid, "content_invalid", "x is invalid"))
				is.Store(true)
			}()
			synctest.Wait()
			return is.Load
		}
		if !refuse("other", false)() || !refuse("team", true)() {
			t.Error("the problem of another tenant, or of a local caller, waits")
		}
		answered := refuse("team", false)
		if answered() {
			t.Error("the body is decoded on more than the tenant's half")
		}
		done()
		if synctest.Wait(); !answered() || s.api.decoding.Taken() != 0 {
			t.Error("the refusal isn't answered, or counts still")
		}
		s.Must(s.Host.Close())
	})
}

// TestCaller_Tenant is what a caller counts as.
func TestCaller_Tenant(t *testing.T) {
	for patterns, want := range map[string]string{
		"": "@s", "**": "@s", "team": "team", "team/**": "team", "team/a team/b/**": "team", "team/** other": "@s", "users/**": "@s",
		"users/ana/**": "users/ana", "users/ana users/ana/x": "users/ana", "users/ana users/bob": "@s", "users": "users", "team/** **": "@s",
	} {
		if got := (core.Caller{Subject: "s", Namespaces: strings.Fields(patterns)}).Tenant(); got != want {
			t.Errorf("of %q it is %q, not %q", patterns, got, want)
		}
	}
}

// endless has a new connection at once, as while somebody opens thousands, until it is closed.
type endless struct {
	net.Listener
	accepted, most int
}

func (l *endless) Accept() (net.Conn, error) {
	if l.accepted == l.most {
		return nil, net.ErrClosed
	}
	l.accepted++
	return &net.TCPConn{}, nil
}

// TestConnections_AreServedBeforeTheNext: who opens thousands of connections doesn't put thousands of
// goroutines ahead of everybody's requests. On one processor, the one before has its turn before the
// next is accepted, but for those that the scheduler lets wait.
func TestConnections_AreServedBeforeTheNext(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	from := &endless{most: 1000}
	l := newBounded(from, 2*from.most, false, noOrigin)
	served, waiting, most := make(chan struct{}, from.most), 0, 0
	for {
		if _, err := l.Accept(); err != nil {
			break
		}
		for waiting++; len(served) > 0; waiting-- {
			<-served
		}
		most = max(most, waiting)
		go func() { served <- struct{}{} }()
	}
	if most > 10 {
		t.Errorf("%d connections were accepted before the first of them was served, want 10 at most", most)
	}
}

// TestConnections_KnownAsksTheShareOnce: a request on a connection of its tenant doesn't wait for
// those who open and close others.
func TestConnections_KnownAsksTheShareOnce(t *testing.T) {
	places := share.New(share.Options{Places: 2})
	s := &slot{stranger: true}
	s.place = places.Hold("address", true, s.closeIfIdle)
	s.known("team")
	s.place = nil // it would panic
	s.known("team")
	s.place = places.Hold("other", false, s.closeIfIdle)
	s.known("another")
	if s.tenant != "another" || s.stranger {
		t.Errorf("the connection is of %q", s.tenant)
	}
}
