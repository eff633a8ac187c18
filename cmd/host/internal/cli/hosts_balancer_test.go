//go:build linux

package cli

import (
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// balancer passes TCP connections on to servers in turn, as any balancer does. A server that
// isn't ready, or doesn't answer, gets none, and loses those that it has.
type balancer struct {
	addr     string
	listener net.Listener
	probe    http.Client
	all      sync.WaitGroup
	ended    chan struct{}

	mu      sync.Mutex
	servers []*balanced
	next    int
}

// balanced is one of the servers.
type balanced struct {
	addr  string
	ready bool
	conns map[net.Conn]struct{}
}

// The balancer asks each server every half second whether it is ready, and waits for the answer
// that long.
const probeEvery = 500 * time.Millisecond

func newBalancer(t *testing.T) *balancer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &balancer{
		addr: l.Addr().String(), listener: l, ended: make(chan struct{}),
		probe: http.Client{Timeout: probeEvery, Transport: &http.Transport{DisableKeepAlives: true}},
	}
	b.all.Go(b.accept)
	t.Cleanup(func() {
		close(b.ended)
		_ = l.Close()
		b.mu.Lock()
		for _, s := range b.servers {
			s.cut()
		}
		b.mu.Unlock()
		b.all.Wait()
	})
	return b
}

// add gives a server connections, as long as it is ready.
func (b *balancer) add(addr string) {
	s := &balanced{addr: addr, conns: map[net.Conn]struct{}{}}
	b.mu.Lock()
	b.servers = append(b.servers, s)
	b.mu.Unlock()
	b.all.Go(func() {
		tick := time.NewTicker(probeEvery)
		defer tick.Stop()
		for {
			ready := b.isReady(addr)
			b.mu.Lock()
			if s.ready = ready; !ready {
				s.cut()
			}
			b.mu.Unlock()
			select {
			case <-tick.C:
			case <-b.ended:
				return
			}
		}
	})
}

func (b *balancer) isReady(addr string) bool {
	answer, err := b.probe.Get("http://" + addr + "/readyz")
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// cut closes a server's connections. The caller has the lock.
func (s *balanced) cut() {
	for c := range s.conns {
		_ = c.Close()
	}
}

func (b *balancer) accept() {
	for {
		from, err := b.listener.Accept()
		if err != nil {
			return
		}
		b.all.Go(func() { b.pass(from) })
	}
}

// pass passes a connection on, until one side ends.
func (b *balancer) pass(from net.Conn) {
	defer from.Close()
	s := b.pick()
	if s == nil {
		return
	}
	to, err := net.DialTimeout("tcp", s.addr, probeEvery)
	if err != nil {
		return
	}
	defer to.Close()
	b.mu.Lock()
	s.conns[from], s.conns[to] = struct{}{}, struct{}{}
	b.mu.Unlock()
	b.all.Go(func() {
		_, _ = io.Copy(to, from)
		_ = to.Close()
	})
	_, _ = io.Copy(from, to)
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(s.conns, from)
	delete(s.conns, to)
}

// pick is the next server that is ready; nil if none is.
func (b *balancer) pick() *balanced {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range b.servers {
		b.next = (b.next + 1) % len(b.servers)
		if s := b.servers[b.next]; s.ready {
			return s
		}
	}
	return nil
}
