//go:build bench

package httpapi

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
)

// TestFigures measures a GET of a memory next to what net/http takes to send the same bytes,
// and how soon an event is with the last of 1,000 who follow a namespace.
func TestFigures(t *testing.T) {
	t.Run("get", figureGet)
	t.Run("follow", figureFollow)
}

// figureGet makes one caller ask the servers in turn, over a connection that is kept.
func figureGet(t *testing.T) {
	api, floor, bare, request := getMemory(t)
	figures := coretest.Interleave(4001, 1, asker(t, bare, request), asker(t, api, request), asker(t, floor, request))
	coretest.Figure{
		Name: "GET of a memory, requests a second over bare net/http's", Value: figures[0].Micros(0.5) / figures[1].Micros(0.5), Unit: "×", Target: 0.6, AtLeast: true,
		Note: fmt.Sprintf("%.0f µs (p10 %.0f) over %.0f µs (p10 %.0f)", figures[1].Micros(0.5), figures[1].Micros(0.1), figures[0].Micros(0.5), figures[0].Micros(0.1)),
	}.Print(os.Stdout)
	coretest.Ratio("… over net/http with only the token, the policy, the record and its JSON", figures[1], figures[2], 1.3).Print(os.Stdout)
	coretest.Figure{
		Name: "… its p99 over bare net/http's", Value: figures[1].Micros(0.99) / figures[0].Micros(0.99), Unit: "×", Target: 2.5,
		Note: fmt.Sprintf("%.0f µs over %.0f µs", figures[1].Micros(0.99), figures[0].Micros(0.99)),
	}.Print(os.Stdout)
}

// asker serves a handler, and asks it with a request each time.
func asker(t *testing.T, h http.Handler, request string) func() {
	t.Helper()
	l, err := Listen(t.Context(), &access.Listen{Address: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: h}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(); _ = server.Close(); <-done })
	in := bufio.NewReaderSize(c, 16<<10)
	return func() {
		if _, err := io.WriteString(c, request); err != nil {
			t.Fatal(err)
		}
		a, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, a.Body); err != nil || a.StatusCode != http.StatusOK {
			t.Fatalf("%d: %v", a.StatusCode, err)
		}
	}
}

// figureFollow has 1,000 follow a namespace, as 63 subjects, and observes memories in it.
func figureFollow(t *testing.T) {
	const followers, subjects, events = 1000, 63, 50
	s := &site{World: operationtest.New(t)}
	who := callers{}
	for i := range subjects {
		name := fmt.Sprintf("follower-%d", i)
		who[name] = core.Caller{Subject: name, Scopes: core.Scopes(), Namespaces: []string{"**"}}
	}
	var err error
	s.api, err = New(Config{Host: s.Host, Authenticator: who, Limits: Limits{Requests: -1, Writes: -1, StreamTime: time.Minute}})
	s.Must(err)
	l, err := Listen(t.Context(), &access.Listen{Address: "127.0.0.1:0"})
	s.Must(err)
	server := NewServer(context.Background(), s.api)
	server.ServeTCP(l)
	address := l.Addr().String()
	before := inUse()
	readers := make([]*reader, followers)
	for i := range readers {
		readers[i] = s.follow(address, fmt.Sprintf("follower-%d", i%subjects))
		readers[i].next() // where it stands
	}
	each := float64(inUse()-before) / followers / 1024
	var took coretest.Samples
	for n := range events {
		var all sync.WaitGroup
		for _, r := range readers {
			all.Go(func() {
				for e, more := r.next(); more && e.name != "agent.memory.observed"; e, more = r.next() {
				}
			})
		}
		began := time.Now()
		s.observe("a", fmt.Sprint("memory ", n))
		all.Wait()
		took = append(took, time.Since(began))
	}
	for _, r := range readers {
		r.close()
	}
	s.Must(server.Stop())
	coretest.Figure{
		Name: "an event to the last of 1,000 followers, p99", Value: took.Micros(0.99) / 1000, Unit: "ms", Target: 100,
		Note: fmt.Sprintf("p50 %.0f ms, with its commit, of %d events", took.Micros(0.5)/1000, events),
	}.Print(os.Stdout)
	coretest.Figure{Name: "… memory of a follower, both ends", Value: each, Unit: "KB", Target: 40, Note: "of the server and of the follower's side in this process"}.Print(os.Stdout)
}

// follow opens a stream over TCP.
func (s *site) follow(address, who string) *reader {
	s.T.Helper()
	c, err := net.Dial("tcp", address)
	s.Must(err)
	_, err = fmt.Fprintf(c, "GET /v1/events?namespace=a HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", who)
	s.Must(err)
	answer, err := http.ReadResponse(bufio.NewReaderSize(c, 1<<10), nil)
	s.Must(err)
	return &reader{s.T, bufio.NewReaderSize(answer.Body, 1<<10), func() { _ = c.Close() }, answer}
}

// inUse is how much memory is in use, for the heap and for stacks.
func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}
