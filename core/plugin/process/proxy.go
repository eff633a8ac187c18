package process

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/abi"
	"github.com/reflectory/reflectory/sdk/wire"
)

// Dialer connects to what a plugin was granted and refuses everything else. It checks the
// address that it actually connects to.
type Dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// Bounds of an instance's connections.
const (
	// maxConnections is how many may be open: eight for each of the eight calls
	// that llm-eval, the plugin with the most, makes at a time.
	maxConnections = 64
	// requestTime is how long a plugin may take to name the address it wants.
	requestTime = 10 * time.Second
	// dialTime is how long the host tries to connect.
	dialTime = 30 * time.Second
)

// proxy connects an instance to its granted endpoints; see [wire.ProxyVariable]. It gives
// out sockets that it made itself, so the host never opens anything that a plugin made.
type proxy struct {
	dialer Dialer
	host   *net.UnixConn
	slots  chan struct{}

	ctx  context.Context
	stop context.CancelFunc
	work sync.WaitGroup
}

// newProxy starts a proxy for an instance that was granted endpoints, and returns the
// plugin's end of it. Both are nil if no endpoint was granted.
func newProxy(o Options, p *plugin.Installed) (*proxy, *os.File, error) {
	if len(p.Granted.Network) == 0 || o.Network == nil {
		return nil, nil, nil
	}
	dialer, err := o.Network(p.Granted.Network)
	if err != nil {
		return nil, nil, sdk.Wrap("grant the network to plugin "+p.Name, err)
	}
	host, theirs, err := socketPair()
	if err != nil {
		return nil, nil, err
	}
	x := &proxy{dialer: dialer, host: host, slots: make(chan struct{}, maxConnections)}
	x.ctx, x.stop = context.WithCancel(context.Background())
	x.work.Go(x.listen)
	return x, theirs, nil
}

// close ends all connections and waits for their end. A nil proxy has none.
func (x *proxy) close() {
	if x == nil {
		return
	}
	x.stop()
	_ = x.host.Close()
	x.work.Wait()
}

// listen hands out a socket for each byte that it reads.
func (x *proxy) listen() {
	var b [1]byte
	for {
		if _, err := x.host.Read(b[:]); err != nil {
			return
		}
		select {
		case x.slots <- struct{}{}:
			if !x.giveSocket() {
				return
			}
		default:
			if _, err := x.host.Write(b[:]); err != nil {
				return
			}
		}
	}
}

// giveSocket gives the plugin one end of a new socket and serves the other.
func (x *proxy) giveSocket() bool {
	conn, theirs, err := socketPair()
	if err == nil {
		err = sendFile(x.host, theirs)
		_ = theirs.Close()
	}
	if err != nil {
		if conn != nil {
			_ = conn.Close()
		}
		<-x.slots
		return false
	}
	x.work.Go(func() {
		defer func() { <-x.slots }()
		defer context.AfterFunc(x.ctx, func() { _ = conn.Close() })()
		defer func() { _ = conn.Close() }()
		x.serve(conn)
	})
	return true
}

// serve reads which address the plugin wants, connects to it and carries the bytes.
func (x *proxy) serve(conn *net.UnixConn) {
	_ = conn.SetReadDeadline(time.Now().Add(requestTime))
	head := &io.LimitedReader{R: conn, N: wire.MaxProxyHead}
	buffered := bufio.NewReader(head)
	req, err := http.ReadRequest(buffered)
	if err != nil || req.Method != http.MethodConnect {
		refuse(conn, http.StatusBadRequest, sdk.Errorf(sdk.Invalid, "proxy_request_invalid", "the proxy takes CONNECT host:port and nothing else").
			WithHint("use the dialer of sdk/process, or write an HTTP CONNECT request"))
		return
	}
	ctx, cancel := context.WithTimeout(x.ctx, dialTime)
	defer cancel()
	out, err := x.dialer.DialContext(ctx, "tcp", req.Host)
	if err != nil {
		status := http.StatusBadGateway
		if sdk.CodeOf(err) == sdk.Denied {
			status = http.StatusForbidden
		}
		refuse(conn, status, err)
		return
	}
	defer out.Close()
	_ = conn.SetReadDeadline(time.Time{})
	if _, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
		return
	}
	// What the plugin sent along with its request comes first.
	early, _ := buffered.Peek(buffered.Buffered())
	x.carry(conn, out, early)
}

// carry copies both ways until both have ended, or the proxy has.
func (x *proxy) carry(conn *net.UnixConn, out net.Conn, early []byte) {
	defer context.AfterFunc(x.ctx, func() { _ = out.Close() })()
	var up sync.WaitGroup
	up.Go(func() {
		if _, err := out.Write(early); err == nil {
			_, _ = io.Copy(out, conn)
		}
		closeWrite(out)
	})
	_, err := io.Copy(conn, out)
	closeWrite(conn)
	if err != nil { // the plugin went away, or the other side broke
		_ = conn.Close()
		_ = out.Close()
	}
	up.Wait()
}

func closeWrite(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// refuse answers with an error and discards further input.
func refuse(conn net.Conn, status int, err error) {
	body, _ := json.Marshal(abi.NewError(err))
	res := &http.Response{
		StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, ContentLength: int64(len(body)),
		Header: http.Header{"Content-Type": {"application/json"}},
		Body:   io.NopCloser(bytes.NewReader(body)),
	}
	_ = res.Write(conn)
}
