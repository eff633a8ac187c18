package process

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/abi"
	"github.com/reflectory/reflectory/sdk/wire"
)

// DialContext connects to address, host:port, over TCP. In a host's sandbox it asks the
// host, which connects if the plugin was granted the address and otherwise returns
// sdk.Denied. Outside a sandbox it connects directly.
//
// [Serve] makes http.DefaultTransport use it, so an HTTP client needs nothing more. A
// transport that is made before Serve must be given it.
func DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	fd, proxied := os.LookupEnv(wire.ProxyVariable)
	if !proxied {
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	number, err := strconv.ParseUint(fd, 10, 16)
	if err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "proxy_invalid", "the environment variable %s is %q, not a descriptor", wire.ProxyVariable, fd).
			WithHint("a host sets it; don't set it by hand")
	}
	conn, err := receiveConn(uintptr(number))
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	tunnel, err := connect(conn, address)
	if err == nil && !stop() {
		err = ctx.Err()
	}
	if err != nil {
		_ = conn.Close()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, err
	}
	return tunnel, nil
}

// useProxy makes the usual HTTP clients go through the host.
func useProxy(getenv func(string) string) {
	if transport, ok := http.DefaultTransport.(*http.Transport); ok && getenv(wire.ProxyVariable) != "" {
		transport.DialContext = DialContext
	}
}

// connect asks for an endpoint over a new socket.
func connect(conn net.Conn, address string) (net.Conn, error) {
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address}
	if err := request.Write(conn); err != nil {
		return nil, proxyBroken(err)
	}
	r := bufio.NewReaderSize(conn, wire.MaxProxyHead)
	res, err := http.ReadResponse(r, request)
	if err != nil {
		return nil, proxyBroken(err)
	}
	if res.StatusCode == http.StatusOK {
		return &tunnel{Conn: conn, early: r}, nil
	}
	defer res.Body.Close()
	var refused abi.Error
	body, err := io.ReadAll(io.LimitReader(res.Body, wire.MaxProxyHead))
	if err == nil {
		err = json.Unmarshal(body, &refused)
	}
	if err != nil {
		return nil, proxyBroken(fmt.Errorf("status %d: %w", res.StatusCode, err))
	}
	return nil, refused.SDK()
}

func proxyBroken(err error) error {
	return sdk.Errorf(sdk.Unavailable, "proxy_broken", "the host's proxy: %w", err).
		WithHint("a later call may succeed")
}

// tunnel is a connection whose first bytes may have arrived with the answer.
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
