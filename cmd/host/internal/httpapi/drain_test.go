package httpapi

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/core/access"
)

// asked is a request that a handler of these tests works on until it is released.
func asked(t *testing.T, api *API, work func(context.Context)) (*Server, chan *http.Response) {
	t.Helper()
	server := NewServer(context.Background(), api)
	l := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	server.serve(l, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { work(r.Context()) }), nil, noOrigin)
	answers := make(chan *http.Response, 1)
	own, other := net.Pipe()
	l.conns <- other
	go func() {
		defer own.Close()
		if _, err := io.WriteString(own, "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); err != nil {
			t.Error(err)
		}
		answer, err := http.ReadResponse(bufio.NewReader(own), nil)
		if err != nil {
			answer = nil
		}
		answers <- answer
	}()
	synctest.Wait()
	return server, answers
}

// TestDrain_LetsRequestsEnd within their time.
func TestDrain_LetsRequestsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		cancelled := false
		server, answers := asked(t, s.api, func(ctx context.Context) {
			time.Sleep(20 * time.Second)
			cancelled = ctx.Err() != nil
		})
		begun := time.Now()
		s.Must(server.Stop())
		if took := time.Since(begun); took < 20*time.Second || took > 21*time.Second || cancelled {
			t.Errorf("it took %s; cancelled: %v", took, cancelled)
		}
		if a := <-answers; a == nil || a.StatusCode != 200 {
			t.Errorf("%v", a)
		}
		s.Must(server.Stop()) // again does nothing
		s.Must(s.Host.Close())
	})
}

// TestDrain_CancelsWhatDoesNotEnd.
func TestDrain_CancelsWhatDoesNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		server, answers := asked(t, s.api, func(ctx context.Context) { <-ctx.Done() })
		begun := time.Now()
		s.Must(server.Stop())
		if took := time.Since(begun); took < s.api.limits.DrainTime || took > s.api.limits.DrainTime+abandonTime {
			t.Errorf("it took %s", took)
		}
		<-answers
		s.Must(s.Host.Close())
	})
}

// TestDrain_TakesNothingMore: a listener that comes after the end is closed.
func TestDrain_TakesNothingMore(t *testing.T) {
	s := newSite(t)
	server := NewServer(context.Background(), s.api)
	s.Must(server.Stop())
	tcp, err := Listen(t.Context(), &access.Listen{Address: "127.0.0.1:0"})
	s.Must(err)
	server.ServeTCP(tcp)
	if _, err := tcp.Accept(); err == nil {
		t.Error("it listens still")
	}
}
