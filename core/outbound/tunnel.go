package outbound

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/net/proxy"

	"github.com/reflectory/reflectory/sdk"
)

// Limits of connections, of net/http's own size but for maxIdle.
const (
	// connectTime is how long a proxy may take to answer and to connect.
	connectTime = 30 * time.Second
	// handshakeTime is for TLS, idleTime for a connection that isn't used.
	handshakeTime = 10 * time.Second
	idleTime      = 90 * time.Second
	// maxIdle is how many connections to one endpoint are kept: as many as a gateway has requests at once.
	// With net/http's own limit of 2, nearly every request of several at once would begin with a handshake.
	maxIdle = 256
	// maxHeadBytes limits what a proxy may answer to a request for a connection.
	maxHeadBytes = 64 << 10
)

// Tunnel connects to target, host:port, through a proxy. The caller has checked that target
// may be reached. Temporary faults of the proxy are sdk.Unavailable, reason "proxy_failed";
// what it refuses is sdk.Denied, reason "proxy_refused".
func (n *Network) Tunnel(ctx context.Context, via *url.URL, target string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	if via.Scheme == "socks5" || via.Scheme == "socks5h" {
		return socks(ctx, via, target)
	}
	conn, err := n.dialProxy(ctx, via)
	if err != nil {
		return nil, failed(via, "can't be reached", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	tunnel, err := request(conn, via, target)
	if err == nil && !stop() {
		err = failed(via, "took too long", context.Cause(ctx))
	}
	if err != nil {
		stop()
		_ = conn.Close()
		return nil, err
	}
	return tunnel, nil
}

// dialProxy connects to the proxy itself.
func (n *Network) dialProxy(ctx context.Context, via *url.URL) (net.Conn, error) {
	port := cmp.Or(via.Port(), map[string]string{"http": "80", "https": "443"}[via.Scheme])
	address := net.JoinHostPort(via.Hostname(), port)
	if via.Scheme == "http" {
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	}
	d := tls.Dialer{Config: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: n.Roots(), ServerName: via.Hostname()}}
	return d.DialContext(ctx, "tcp", address)
}

// request asks the proxy at the other end of conn for a connection.
func request(conn net.Conn, via *url.URL, target string) (net.Conn, error) {
	r := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: target}, Host: target, Header: http.Header{"User-Agent": {"reflectory"}}}
	if via.User != nil {
		password, _ := via.User.Password()
		basic := http.Request{Header: http.Header{}}
		basic.SetBasicAuth(via.User.Username(), password)
		r.Header.Set("Proxy-Authorization", basic.Header.Get("Authorization"))
	}
	if err := r.Write(conn); err != nil {
		return nil, failed(via, "broke the connection", err)
	}
	head := &io.LimitedReader{R: conn, N: maxHeadBytes}
	buffered := bufio.NewReader(head)
	answer, err := http.ReadResponse(buffered, r) //nolint:bodyclose // closing would read to the body's end, which for a tunnel is the connection's
	if err != nil {
		return nil, failed(via, "doesn't answer as a proxy does", ioOnly(err))
	}
	switch {
	case answer.StatusCode == http.StatusOK:
		head.N = 1 << 62 // what follows is the tunnel's
		return &tunnel{Conn: conn, early: buffered}, nil
	case answer.StatusCode == http.StatusProxyAuthRequired:
		return nil, sdk.Errorf(sdk.Denied, "proxy_refused", "the proxy %s wants other credentials than it was given (407)", via.Host).
			WithHint("write the user and the password into the proxy's URL: http://USER:PASSWORD@%s", via.Host)
	case answer.StatusCode >= 500 || answer.StatusCode == http.StatusTooManyRequests:
		return nil, failed(via, fmt.Sprintf("can't connect to %s: it answers with status %d", target, answer.StatusCode), nil)
	}
	return nil, sdk.Errorf(sdk.Denied, "proxy_refused", "the proxy %s refuses to connect to %s: it answers with status %d", via.Host, target, answer.StatusCode).
		WithHint("have the proxy allow it; or, to reach it directly, add it to NO_PROXY")
}

// ioOnly leaves out what a parser quotes of the proxy's answer.
func ioOnly(err error) error {
	var network net.Error
	if errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	return nil
}

// failed is a fault of the proxy that may pass.
func failed(via *url.URL, what string, err error) error {
	message := fmt.Sprintf("the proxy %s %s", via.Host, what)
	if err != nil {
		message += ": " + err.Error()
	}
	return sdk.Errorf(sdk.Unavailable, "proxy_failed", "%s", message).
		WithHint("check HTTPS_PROXY and HTTP_PROXY, and that the proxy is running; NO_PROXY lists what is reached directly")
}

// socks connects through a SOCKS 5 proxy.
func socks(ctx context.Context, via *url.URL, target string) (net.Conn, error) {
	var auth *proxy.Auth
	if via.User != nil {
		password, _ := via.User.Password()
		auth = &proxy.Auth{User: via.User.Username(), Password: password}
	}
	d, err := proxy.SOCKS5("tcp", net.JoinHostPort(via.Hostname(), cmp.Or(via.Port(), "1080")), auth, new(net.Dialer))
	if err == nil {
		var conn net.Conn
		if conn, err = d.(proxy.ContextDialer).DialContext(ctx, "tcp", target); err == nil {
			return conn, nil
		}
	}
	return nil, failed(via, "can't connect to "+target, err)
}

// tunnel is a connection whose first bytes may have arrived with the proxy's answer.
type tunnel struct {
	net.Conn
	early *bufio.Reader
}

// Read reads the bytes that arrived early, then from the connection.
func (t *tunnel) Read(b []byte) (int, error) {
	if t.early.Buffered() > 0 {
		return t.early.Read(b)
	}
	return t.Conn.Read(b)
}

// CloseWrite ends what is sent, so that the other side can still answer.
func (t *tunnel) CloseWrite() error {
	if half, ok := t.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
