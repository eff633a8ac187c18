package httpapi

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/sdk"
)

// event is an event as a reader gets it; a comment has neither name nor data.
type event struct{ id, name, data string }

// reader reads a stream of events over a pipe, so that a bubble's clock moves on.
type reader struct {
	t      testing.TB
	events *bufio.Reader
	close  func()
	answer *http.Response
}

// pipes is a listener whose connections are pipes in memory.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { close(p.done); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// start serves a site over pipes until the returned server is stopped.
func (s *site) start() (*Server, *pipes) {
	l := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	server := NewServer(context.Background(), s.api)
	server.ServeTCP(l)
	return server, l
}

// open asks for a stream as somebody.
func (s *site) open(l *pipes, who, target string, headers ...string) *reader {
	s.T.Helper()
	own, other := net.Pipe()
	l.conns <- other
	var b strings.Builder
	fmt.Fprintf(&b, "GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n", target, who)
	for i := 0; i < len(headers); i += 2 {
		fmt.Fprintf(&b, "%s: %s\r\n", headers[i], headers[i+1])
	}
	_, err := io.WriteString(own, b.String()+"\r\n")
	s.Must(err)
	answer, err := http.ReadResponse(bufio.NewReader(own), nil)
	s.Must(err)
	return &reader{s.T, bufio.NewReader(answer.Body), func() { _ = own.Close() }, answer}
}

// next is the next event; false is the end.
func (r *reader) next() (e event, more bool) {
	for {
		line, err := r.events.ReadString('\n')
		if err != nil {
			return e, false
		}
		line = strings.TrimSuffix(line, "\n")
		switch field, value, _ := strings.Cut(line, ": "); field {
		case "":
			if line == "" && (e != event{}) {
				return e, true
			}
			e.name = "comment"
		case "id":
			e.id = value
		case "event":
			e.name = value
		case "data":
			e.data = value
		}
	}
}

// want checks the next event.
func (r *reader) want(id, name string) event {
	r.t.Helper()
	e, more := r.next()
	if !more || e.id != id || e.name != name {
		r.t.Errorf("the next event is %+v, %v; want %s, %s", e, more, id, name)
	}
	return e
}

// wantEnd fails unless the stream ends now with bye, whose id is the position after it.
func (r *reader) wantEnd(id string) {
	r.t.Helper()
	r.want(id, "bye")
	if e, more := r.next(); more {
		r.t.Errorf("%+v follows the end", e)
	}
	r.close()
}

func (s *site) observe(namespace, content string) {
	s.T.Helper()
	_, err := s.Host.Memories.Observe(s.Ctx, &core.ObserveRequest{Namespace: namespace, Content: content})
	s.Must(err)
}

// TestEvents_FollowANamespace from now on, and resume without a loss, whatever the
// connection missed.
func TestEvents_FollowANamespace(t *testing.T) {
	s := newSite(t)
	server, l := s.start()
	s.observe("a", "first secret")
	r := s.open(l, "operator", "/v1/events?namespace=a&namespace=b")
	if r.answer.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%v", r.answer.Header)
	}
	r.want("2,0", "")
	s.observe("b", "second secret")
	e := r.want("2,1", "agent.memory.observed")
	if strings.Contains(e.data, "secret") || !strings.Contains(e.data, `"stream":"namespace/b"`) || !strings.Contains(e.data, `"subject":"operator"`) {
		t.Errorf("%s", e.data)
	}
	r.want("2,2", "agent.records.written")
	r.close()
	s.observe("a", "third")
	s.observe("b", "fourth")
	again := s.open(l, "operator", "/v1/events?namespace=a&namespace=b", "Last-Event-ID", "2,1")
	again.want("2,1", "")
	seen := map[string]bool{}
	last := ""
	for range 5 {
		e, _ := again.next()
		seq, _, _ := strings.Cut(e.data, `,"at"`)
		if seen[seq] {
			t.Errorf("%s came twice", seq)
		}
		seen[seq], last = true, e.id
	}
	if last != "4,4" {
		t.Errorf("the last id is %s, want 4,4", last)
	}
	stopped := make(chan error)
	go func() { stopped <- server.Stop() }()
	again.want("", "bye")
	if e, more := again.next(); more {
		t.Errorf("after bye comes %v", e)
	}
	again.close()
	s.Must(<-stopped)
}

// TestEvents_FollowARun from its first one, in the words of runs.
func TestEvents_FollowARun(t *testing.T) {
	s := newSite(t)
	id := s.Run(operationtest.Here)
	var want []string
	s.Must(s.Host.Store.View(t.Context(), func(r core.Reader) error {
		_, err := journal.Since(r, "run/"+id, 0, func(e journal.Entry) error {
			name := e.Type
			if own := eventNames[name]; own != "" {
				name = own
			}
			want = append(want, name)
			return nil
		})
		return err
	}))
	server, l := s.start()
	r := s.open(l, "here", "/v1/runs/"+id+"/events")
	r.want("0", "")
	var got []string
	for range want {
		e, _ := r.next()
		got = append(got, e.name)
	}
	if !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("%v, want %v", got, want)
	}
	r.wantEnd(fmt.Sprint(len(want)))
	if a := s.send("here", "GET", "/v1/runs/"+id+"/events", "", "Last-Event-ID", fmt.Sprint(len(want))); a.StatusCode != http.StatusNoContent {
		t.Errorf("after the end: %d %q", a.StatusCode, a.body)
	}
	s.Must(server.Stop())
}

// TestEvents_ResetWhereEntriesAreGone, and continue from there.
func TestEvents_ResetWhereEntriesAreGone(t *testing.T) {
	s := newSite(t)
	server, l := s.start()
	s.observe("a", "one")
	r := s.open(l, "operator", "/v1/events?namespace=a", "Last-Event-ID", "99")
	r.want("99", "")
	if e := r.want("2", "reset"); e.data != `{"stream":"namespace/a","head":2}` {
		t.Errorf("%s", e.data)
	}
	s.observe("a", "two")
	r.want("3", "agent.memory.observed")
	r.close()
	s.Must(server.Stop())
}

// TestEvents_LetALaggardGo: a reader that takes nothing delays nobody, gets an event that it lags,
// and resumes.
func TestEvents_LetALaggardGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		server, l := s.start()
		r := s.open(l, "operator", "/v1/events?namespace=a")
		r.want("0", "")
		const all = 2 * streamBuffer
		for i := range all { // nothing reads, and nothing waits
			s.observe("a", fmt.Sprint("note ", i))
		}
		synctest.Wait()
		time.Sleep(s.api.limits.StreamTime + time.Second)
		synctest.Wait()
		last := "0"
		for {
			e, more := r.next()
			if !more {
				t.Fatal("it ended without a word")
			}
			if e.name == "lagged" {
				if want := `{"last_id":"` + last + `"}`; e.data != want {
					t.Errorf("%s, want %s", e.data, want)
				}
				break
			}
			last = e.id
		}
		if _, more := r.next(); more {
			t.Error("a laggard goes on")
		}
		r.close()
		again := s.open(l, "operator", "/v1/events?namespace=a", "Last-Event-ID", last)
		again.want(last, "")
		for last != fmt.Sprint(2*all) {
			e, more := again.next()
			if !more {
				t.Fatal("it ended")
			}
			last = e.id
		}
		again.close()
		s.Must(server.Stop())
		s.Must(s.Host.Close())
		synctest.Wait()
	})
}

// TestEvents_AreKeptOpen by a comment every 15 seconds.
func TestEvents_AreKeptOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		server, l := s.start()
		r := s.open(l, "operator", "/v1/events?namespace=a")
		r.want("0", "")
		begun := time.Now()
		for range 3 {
			r.want("", "comment")
		}
		if got := time.Since(begun); got != 3*heartbeat {
			t.Errorf("three comments took %s", got)
		}
		r.close()
		s.Must(server.Stop())
		s.Must(s.Host.Close())
	})
}

// TestEvents_EndWithTheToken within two seconds after it was revoked, but not for a store
// that can't be read for a while.
func TestEvents_EndWithTheToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		who := &failing{}
		s.api.config.Authenticator = who
		server, l := s.start()
		r := s.open(l, "operator", "/v1/events?namespace=a")
		r.want("0", "")
		who.fail(sdk.Errorf(sdk.Unavailable, "store_io", "the store can't be read"))
		r.want("", "comment")
		revoked := time.Now()
		who.fail(unauthenticated())
		r.want("", "bye")
		if got := time.Since(revoked); got > 2*time.Second {
			t.Errorf("it ended after %s", got)
		}
		r.close()
		s.Must(server.Stop())
		s.Must(s.Host.Close())
	})
}

// TestEvents_AreSoMany of a subject and in all. A tenant with more than half of them loses its
// oldest for a stream of another tenant, whose own half stays.
func TestEvents_AreSoMany(t *testing.T) {
	s := newLimitedSite(t, Limits{Requests: -1, Streams: 2, SubjectStreams: 2})
	server, l := s.start()
	open := []*reader{s.open(l, "operator", "/v1/events?namespace=a"), s.open(l, "operator", "/v1/events?namespace=a")}
	for _, r := range open {
		r.want("0", "")
	}
	if a := s.send("operator", "GET", "/v1/events?namespace=a", ""); a.StatusCode != 429 || a.problem(t).Code != "subject_streams_full" || a.Header.Get("Retry-After") == "" {
		t.Errorf("%s", a.body)
	}
	third := s.open(l, "here", "/v1/events?namespace=team/here")
	third.want("0", "")
	open[0].want("", "bye")
	open[0].close()
	if a := s.send("elsewhere", "GET", "/v1/events?namespace=team/elsewhere", ""); a.StatusCode != 503 || a.problem(t).Code != "streams_full" {
		t.Errorf("%s", a.body)
	}
	stopped := make(chan error)
	go func() { stopped <- server.Stop() }()
	for _, r := range []*reader{open[1], third} {
		r.want("", "bye")
		r.close()
	}
	s.Must(<-stopped)
	if s.api.streams.count() != 0 || len(s.api.streams.from) != 0 {
		t.Errorf("%d streams are counted still, of %v", s.api.streams.count(), s.api.streams.from)
	}
}

// FuzzLastEventID: whatever is sent, it is refused, or an id that means the same again.
func FuzzLastEventID(f *testing.F) {
	for _, id := range []string{"0", "12,0,5", "", ",", "1,", "-1", "99999999999999999999", "1 ", "１", "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17"} {
		f.Add(id, 1)
	}
	f.Fuzz(func(t *testing.T, id string, streams int) {
		after, ok := parseLastEventID(id, streams)
		if !ok {
			return
		}
		again, ok := parseLastEventID(eventID(after), streams)
		if !ok || len(after) != streams || !slices.Equal(after, again) {
			t.Errorf("%q is %v, and %v again", id, after, again)
		}
	})
}
