package postgrestest

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Proxy passes connections on to a cluster, over TCP on the loopback; it can cut
// and slow them.
type Proxy struct {
	// Addr is where it listens, as host:port.
	Addr     string
	cluster  *Cluster
	listener net.Listener
	refuse   atomic.Bool
	delay    atomic.Int64 // of what clients send, in nanoseconds

	mu    sync.Mutex
	conns map[net.Conn]struct{}
	all   sync.WaitGroup
}

// Proxy starts a proxy that ends with the test.
func (c *Cluster) Proxy(t testing.TB) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Addr: l.Addr().String(), cluster: c, listener: l, conns: map[net.Conn]struct{}{}}
	p.all.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close()
		p.Cut()
		p.all.Wait()
	})
	return p
}

// URL is the URL of an empty schema through the proxy.
func (p *Proxy) URL(t testing.TB) string {
	t.Helper()
	direct := p.cluster.URL(t)
	return "postgres://postgres@" + p.Addr + "/postgres?sslmode=disable" + direct[len(p.cluster.Database()):]
}

// Cut closes all connections, whatever is on its way.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

// Refuse has new connections closed at once, or passed on again.
func (p *Proxy) Refuse(on bool) {
	p.refuse.Store(on)
	if on {
		p.Cut()
	}
}

// Delay makes each round trip longer by d.
func (p *Proxy) Delay(d time.Duration) { p.delay.Store(int64(d)) }

func (p *Proxy) accept() {
	for {
		from, err := p.listener.Accept()
		if err != nil {
			return
		}
		to, err := net.Dial("unix", p.cluster.Socket())
		if err != nil || p.refuse.Load() {
			_ = from.Close()
			if err == nil {
				_ = to.Close()
			}
			continue
		}
		p.mu.Lock()
		p.conns[from], p.conns[to] = struct{}{}, struct{}{}
		p.mu.Unlock()
		p.all.Go(func() { p.pass(from, to, slowed{from, &p.delay}) })
		p.all.Go(func() { p.pass(to, from, to) })
	}
}

// pass copies what read delivers of from until one side ends, and then ends both.
func (p *Proxy) pass(from, to net.Conn, read io.Reader) {
	_, _ = io.Copy(to, read)
	_ = from.Close()
	_ = to.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, from)
	delete(p.conns, to)
}

// slowed delivers what it reads after a delay.
type slowed struct {
	io.Reader
	delay *atomic.Int64
}

func (s slowed) Read(b []byte) (int, error) {
	n, err := s.Reader.Read(b)
	if d := s.delay.Load(); d > 0 {
		time.Sleep(time.Duration(d))
	}
	return n, err
}
