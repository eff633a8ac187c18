package guard

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/reflectory/reflectory/sdk"
)

// Bounds of an HTTP exchange, in addition to the caller's size and deadline.
const (
	maxRedirects   = 10       // net/http's own
	maxHeaderBytes = 64 << 10 // both ways; far above what APIs use
)

// Request is an HTTP request that a plugin asks for.
type Request struct {
	Method string // "" is GET
	URL    string
	Header http.Header
	Body   []byte
}

// Response is the answer to a [Request].
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Do makes one HTTP or HTTPS request, and follows redirects as long as each is
// granted. A body of more than maxBytes is sdk.Exhausted, reason
// "message_too_large". No cookie or connection is kept from one request to the
// next.
func (d *Dialer) Do(ctx context.Context, r Request, maxBytes int) (*Response, error) {
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		return nil, requestInvalid("%w", err)
	}
	if err := d.checkURL(req.URL); err != nil {
		return nil, err
	}
	if err := setHeader(req, r.Header); err != nil {
		return nil, err
	}
	var plain atomic.Bool // the scheme of the request that is under way
	plain.Store(req.URL.Scheme == "http")
	transport := &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: maxHeaderBytes, DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if plain.Load() {
			return d.dial(ctx, "http", network, addr)
		}
		return d.dial(ctx, "https", network, addr)
	}}
	if d.Roots != nil {
		transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: d.Roots}
	}
	client := &http.Client{Transport: transport, CheckRedirect: func(next *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects {
			return requestInvalid("more than %d redirects", maxRedirects)
		}
		plain.Store(next.URL.Scheme == "http")
		return d.checkURL(next.URL)
	}}
	res, err := client.Do(req)
	if err != nil {
		return nil, requestFailed(ctx, req.URL, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, int64(maxBytes)+1))
	if err != nil {
		return nil, requestFailed(ctx, req.URL, err)
	}
	if len(body) > maxBytes {
		return nil, sdk.Errorf(sdk.Exhausted, "message_too_large", "the answer of %s is over the cap of %d bytes", req.URL.Host, maxBytes).
			WithHint("ask for less, or raise the plugin's output limit")
	}
	return &Response{Status: res.StatusCode, Header: res.Header, Body: body}, nil
}

// checkURL refuses what isn't HTTP, and endpoints that aren't granted.
func (d *Dialer) checkURL(u *url.URL) error {
	ports := map[string]int{"http": 80, "https": 443}
	port, ok := ports[u.Scheme]
	if !ok || u.Hostname() == "" {
		return requestInvalid("%q is not an http or https URL", u.Redacted())
	}
	if text := u.Port(); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			return requestInvalid("%q is not a port", text)
		}
		port = n
	}
	return d.List.Allows(u.Hostname(), port)
}

// hopHeaders belong to the connection, which is the host's.
var hopHeaders = []string{"Connection", "Proxy-Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Proxy-Authorization"}

// setHeader copies a request's header fields. A Host field is dropped: it would
// let a plugin name a site that it wasn't granted on a server that it was.
func setHeader(req *http.Request, header http.Header) error {
	size := 0
	for name, values := range header {
		for _, v := range values {
			size += len(name) + len(v)
		}
		name = http.CanonicalHeaderKey(name)
		if name != "Host" && !slices.Contains(hopHeaders, name) {
			req.Header[name] = values
		}
	}
	if size > maxHeaderBytes {
		return requestInvalid("its header is %d bytes, over the cap of %d", size, maxHeaderBytes)
	}
	return nil
}

func requestInvalid(format string, args ...any) *sdk.Error {
	return sdk.Errorf(sdk.Invalid, "http_request_invalid", "the plugin's HTTP request is invalid: "+format, args...).
		WithHint("this is a fault of the plugin; report it to its author")
}

// requestFailed keeps the refusals of the list. The URL's path and query may
// hold secrets and are left out.
func requestFailed(ctx context.Context, u *url.URL, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if wrapped, ok := err.(*url.Error); ok { //nolint:errorlint // net/http returns it as it is
		err = wrapped.Err
	}
	if code := sdk.CodeOf(err); code != sdk.Internal && code != sdk.Timeout {
		return err
	}
	return sdk.Errorf(sdk.Unavailable, "network_unreachable", "%s: %w", u.Host, err).
		WithHint("check the name and the network; a later call may succeed")
}
