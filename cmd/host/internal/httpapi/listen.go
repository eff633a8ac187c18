package httpapi

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/share"
	"github.com/reflectory/reflectory/sdk"
)

// DefaultListen is the default address for TCP: this machine only.
const DefaultListen = access.DefaultListen

// CheckListen decides whether a server may start with these settings: see [access.Listen].
// A name counts as all of its addresses, which are put into start.
func CheckListen(ctx context.Context, start *access.Listen) (*access.Exposure, error) {
	if host, _, err := net.SplitHostPort(start.Address); err == nil && host != "" {
		if one, err := netip.ParseAddr(host); err == nil {
			start.Resolved = []netip.Addr{one}
		} else if start.Resolved, err = net.DefaultResolver.LookupNetIP(ctx, "ip", host); err != nil {
			return nil, sdk.Errorf(sdk.Invalid, "listen_invalid", "listen: the host's name can't be resolved: %w", err).
				WithHint("write it as %s", DefaultListen).WithDetail("field", "listen")
		}
	}
	return start.Check()
}

// Listen listens for TCP on one of the addresses that [CheckListen] checked, an IPv4
// address if there is one. A name isn't resolved again, since it could have a different
// address by now.
func Listen(ctx context.Context, start *access.Listen) (net.Listener, error) {
	address := start.Address
	if host, port, err := net.SplitHostPort(address); err == nil && host != "" && len(start.Resolved) > 0 {
		one := start.Resolved[max(0, slices.IndexFunc(start.Resolved, func(a netip.Addr) bool { return a.Unmap().Is4() }))]
		address = net.JoinHostPort(one.String(), port)
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, sdk.Errorf(sdk.Conflict, "listen_taken", "another program listens on %s", start.Address).
			WithHint("stop it, or choose another port; port 0 takes one that is free").WithDetail("field", "listen")
	}
	if err != nil {
		return nil, sdk.Errorf(sdk.Unavailable, "listen_failed", "listen on %s: %w", start.Address, err)
	}
	return l, nil
}

// ListenOther listens on the same port of this machine's other address, 127.0.0.1 or ::1, so that
// nobody else's program gets what a browser sends to a name that means both. It is nil if the system
// has no such address, or if l listens elsewhere.
func ListenOther(ctx context.Context, l net.Listener) (net.Listener, error) {
	at, err := netip.ParseAddrPort(l.Addr().String())
	if err != nil {
		return nil, nil
	}
	other := map[string]string{"127.0.0.1": "::1", "::1": "127.0.0.1"}[at.Addr().Unmap().String()]
	if other == "" {
		return nil, nil
	}
	address := net.JoinHostPort(other, strconv.Itoa(int(at.Port())))
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, sdk.Errorf(sdk.Conflict, "listen_taken", "another program listens on %s, and would get what browsers send to this server", address).
			WithHint("stop it, or choose another port; port 0 takes one that is free").WithDetail("field", "listen")
	case err != nil:
		return nil, nil // a system without the address, where nobody else listens on it either
	}
	return listener, nil
}

// bounded limits the number of connections, and shares them among tenants: see
// [share.Share.Hold]. A connection for which none yields gets an error and is closed: if it
// were left waiting, the server would seem to hang.
type bounded struct {
	net.Listener
	encrypted bool
	share     *share.Share
	// origin is where a connection comes from, and whether its caller is a stranger until it
	// has shown credentials.
	origin   func(net.Conn) (name string, stranger bool)
	refusals chan struct{}
	work     sync.WaitGroup
}

// maxRefusals is how many connections are refused with an answer at once; others are just
// closed. refusalTime is the longest time that a refusal takes.
const (
	maxRefusals = 64
	refusalTime = time.Second
)

func newBounded(l net.Listener, most int, encrypted bool, origin func(net.Conn) (string, bool)) net.Listener {
	return &bounded{
		Listener: l, encrypted: encrypted, share: share.New(share.Options{Places: int64(most)}), origin: origin,
		refusals: make(chan struct{}, maxRefusals),
	}
}

// full is the response to a connection above the limit.
const full = `{"type":"urn:reflectory:problem:connections_full","title":"Unavailable","status":503,` +
	`"detail":"the server has as many connections as it takes","code":"connections_full",` +
	`"hint":"wait, or close connections that aren't in use","trace_id":""}` + "\n"

// Accept implements [net.Listener].
func (b *bounded) Accept() (net.Conn, error) {
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		// The connection before this one is served first: if somebody opens thousands, the requests of
		// others mustn't wait behind all of them.
		runtime.Gosched()
		name, stranger := b.origin(c)
		s := &slot{Conn: c, stranger: stranger}
		if s.place = b.share.Hold(name, stranger, s.closeIfIdle); s.place != nil {
			return s, nil
		}
		if b.encrypted { // a client can't read an answer before the handshake
			_ = c.Close()
			continue
		}
		select {
		case b.refusals <- struct{}{}:
			b.work.Go(func() {
				refuseFull(c)
				<-b.refusals
			})
		default:
			_ = c.Close()
		}
	}
}

// CloseWrite closes the sending side, if the connection supports it. net/http calls it
// after refusing a body, so that a caller that is still sending gets the answer.
func (s *slot) CloseWrite() error {
	if half, ok := s.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Close implements [net.Listener].
func (b *bounded) Close() error {
	err := b.Listener.Close()
	b.work.Wait()
	return err
}

// refuseFull answers a connection's first request, and closes the connection. The request
// is read first, since closing a connection with unread data makes the system drop the
// answer.
func refuseFull(c net.Conn) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(refusalTime))
	if _, err := c.Read(make([]byte, 16<<10)); err != nil {
		return
	}
	_, _ = io.WriteString(c, "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: "+
		strconv.Itoa(len(full))+"\r\n\r\n"+full)
	if half, ok := c.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		_, _ = io.Copy(io.Discard, io.LimitReader(c, 64<<10))
	}
}

// slot is a connection that has one of the listener's places.
type slot struct {
	net.Conn
	place *share.Slot

	mu sync.Mutex
	// stranger is whether none of its requests has shown whom it is from, and tenant whom the last
	// one was from.
	stranger bool
	tenant   string
	// busy is how many requests are being answered.
	busy int
	// patience closes the connection of a stranger that asks nothing more.
	patience *time.Timer
}

// strangerIdle is how long a connection without credentials stays open without a request,
// less than the idle time of others: a browser or a probe opens another.
const strangerIdle = 10 * time.Second

// Close implements [net.Conn].
func (s *slot) Close() error {
	defer s.place.Free()
	return s.Conn.Close()
}

// closeIfIdle closes the connection, for another one, unless it is in use.
func (s *slot) closeIfIdle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy == 0 {
		_ = s.Conn.Close() // net/http finds it closed, and ends it
	}
	return s.busy == 0
}

// begin counts a request, until end is called.
func (s *slot) begin() (end func()) {
	if s == nil {
		return func() {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy++
	if s.patience != nil {
		s.patience.Stop()
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.busy--; s.busy == 0 && s.stranger {
			s.patience = time.AfterFunc(strangerIdle, func() { s.closeIfIdle() })
		}
	}
}

// known notes whose connection it is.
func (s *slot) known(tenant string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	same := !s.stranger && s.tenant == tenant
	s.stranger, s.tenant = false, tenant
	s.mu.Unlock()
	if !same { // otherwise each request would wait for those who open connections
		s.place.Known(tenant)
	}
}

type slotKey struct{}

// withSlot puts a connection into the context of its requests.
func withSlot(ctx context.Context, c net.Conn) context.Context {
	if encrypted, is := c.(*tls.Conn); is {
		c = encrypted.NetConn()
	}
	return context.WithValue(ctx, slotKey{}, c)
}

// slotOf is the connection of a request; nil without one, as in a test.
func slotOf(ctx context.Context) *slot {
	s, _ := ctx.Value(slotKey{}).(*slot)
	return s
}

// originOfTCP are the origins of connections over TCP: an address, of IPv6 the network that
// one customer has. Connections of a proxy are of many callers, so they aren't limited as one
// stranger's.
func (a *API) originOfTCP(c net.Conn) (string, bool) {
	peer, err := netip.ParseAddr(hostOf(c.RemoteAddr().String()))
	if err != nil {
		return "", true
	}
	peer = peer.Unmap().WithZone("")
	if proxies(a.config.Proxies).has(peer) {
		return "@proxy", false
	}
	if peer.Is6() {
		network, _ := peer.Prefix(64) // 64 bits are in every IPv6 address
		return network.String(), true
	}
	return peer.String(), true
}

// noOrigin is the origin of connections whose peer the listener or TLS has checked.
func noOrigin(net.Conn) (string, bool) { return "", false }
