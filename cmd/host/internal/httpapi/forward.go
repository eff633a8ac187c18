package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// If hosts share a store, one of them keeps the index of a namespace in memory. Another host
// that gets a request about the namespace forwards it to that host: with the caller that it
// authenticated, without credentials, over TLS in which both hosts show a certificate. A host
// that has such a certificate is trusted, since it could write to the store anyway. A request
// is forwarded only once. If the other host doesn't answer, the request is done here, which
// gives the same result, only slower. But a request that the other host may have done isn't
// done again here, unless it may be repeated.

// Peers are the other hosts on the same store.
type Peers struct {
	// Home is the host that a namespace belongs to, and its address; "" is this host. It must
	// return soon.
	Home func(namespace string) (id, address string)
	// Self is this host's id. Other hosts send it with each request to this host, since a
	// different host may have this address by then.
	Self string
	// TLS has the certificate that this host shows to the other hosts, and checks theirs.
	TLS *tls.Config
	// Failed is called with the address of a host that didn't answer, and the cause; only once,
	// until requests are sent there again. It must be safe for concurrent use and return soon.
	Failed func(address string, err error)
}

const (
	// dialTime is how long connecting to another host may take. pingTime is after how long a
	// silent connection is tested, and how long the test may take.
	dialTime, pingTime = time.Second, 2 * time.Second
	// answerTime is how long another host may take to answer: longer than its own deadline,
	// which it reports itself.
	answerTime = operation.Deadline + 2*time.Second
	// restTime is how long a host gets no requests after it couldn't be reached. By then, a host
	// that has ended is no longer a home.
	restTime = 10 * time.Second
	// maxForwarded bounds an answer, in bytes: results come in pages and have bounded texts.
	maxForwarded = 64 << 20
)

// forwardedHeader has the [origin] of a forwarded request, as JSON in base64.
const forwardedHeader = "Reflectory-Forwarded"

// origin is the caller of a forwarded request, the address that the request came from, and
// the id of the host that it is for.
type origin struct {
	Caller      core.Caller
	Address, To string
}

// forwardedHeaders are the headers that are forwarded with a request, and answeredHeaders
// the ones that come back with the answer.
var (
	forwardedHeaders = []string{"Content-Type", "Idempotency-Key", "If-Match", "If-None-Match"}
	answeredHeaders  = []string{"Content-Type", "Etag", "Location", "Retry-After", replayedHeader}
)

// forwarder sends requests to other hosts. It is safe for concurrent use.
type forwarder struct {
	peers     *Peers
	transport *http.Transport
	mu        sync.Mutex
	// resting are the addresses of hosts that couldn't be reached, and get no requests for
	// restTime.
	resting map[string]struct{}
}

func newForwarder(p *Peers) *forwarder {
	return &forwarder{peers: p, resting: map[string]struct{}{}, transport: &http.Transport{
		TLSClientConfig: p.TLS, ForceAttemptHTTP2: true, DialContext: (&net.Dialer{Timeout: dialTime}).DialContext,
		TLSHandshakeTimeout: dialTime, MaxIdleConnsPerHost: 32, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 64 << 10,
		HTTP2: &http.HTTP2Config{SendPingTimeout: pingTime, PingTimeout: pingTime},
	}}
}

// forward sends a request to the host that its namespace belongs to, and reports whether
// the request was answered.
func (a *API) forward(w http.ResponseWriter, r *request, rt *route, in any) bool {
	if a.forwarder == nil || r.local || r.forwarded || rt.Long || rt.Body {
		return false
	}
	id, address := a.forwarder.home(rt, in)
	if address == "" {
		return false
	}
	answer, sent, err := a.forwarder.callPeer(r, id, address)
	ended := r.http.Context().Err()
	switch {
	case err == nil && answer.code() == hostUnready: // it did nothing
		return false
	case err == nil:
		for name, values := range answer.header {
			w.Header()[name] = values
		}
		r.by, r.code = address, answer.code()
		r.write(w, answer.status, "", answer.body)
	case ended == nil && (!sent || repeatable(r, rt, in)):
		return false
	case sent && !repeatable(r, rt, in):
		a.problems.refuse(w, r, sdk.Errorf(sdk.Unavailable, "host_unanswered", "another host was asked for this, and didn't answer: it may have done it").
			WithHint("look whether it was done; with an Idempotency-Key the request can be sent again"))
	default: // the caller gave up, or this host is being stopped
		a.problems.refuse(w, r, sdk.Errorf(sdk.Cancelled, "cancelled", "the request was given up: %w", ended))
	}
	return true
}

// repeatable reports whether a request that may have been done can be done again: it changes
// nothing, or nothing more, or its idempotency key shows that it was done. A comparison of
// versions would fail the second time.
func repeatable(r *request, rt *route, in any) bool {
	if rt.ReadOnly || r.http.Header.Get("Idempotency-Key") != "" {
		return true
	}
	field, compares := fieldsOf(rt.In())["if_version"]
	return rt.Idempotent && !(compares && !fieldAt(reflect.ValueOf(in).Elem(), field.index).IsZero())
}

// home is the host that a request belongs to, and its address; "" is this host, which also
// stands in for a host that couldn't be reached a moment ago.
func (f *forwarder) home(rt *route, in any) (id, address string) {
	field, has := fieldsOf(rt.In())["namespace"]
	if !has {
		return "", ""
	}
	namespace := fieldAt(reflect.ValueOf(in).Elem(), field.index)
	if namespace.Kind() != reflect.String || namespace.String() == "" {
		return "", ""
	}
	id, address = f.peers.Home(namespace.String())
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, rests := f.resting[address]; rests {
		return "", ""
	}
	return id, address
}

// rest stops sending requests to a host for a while, and reports why.
func (f *forwarder) rest(address string, err error) {
	f.mu.Lock()
	_, rests := f.resting[address]
	f.resting[address] = struct{}{}
	f.mu.Unlock()
	if rests {
		return
	}
	time.AfterFunc(restTime, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.resting, address)
	})
	if f.peers.Failed != nil {
		f.peers.Failed(address, err)
	}
}

// peerAnswer is another host's complete answer. An answer that breaks off doesn't count.
type peerAnswer struct {
	status int
	header http.Header
	body   []byte
}

// code is the code of a refusal; "" is none.
func (a *peerAnswer) code() string {
	var p client.Problem
	if a.status < http.StatusBadRequest || json.Unmarshal(a.body, &p) != nil {
		return ""
	}
	return p.Code
}

// callPeer sends a request to another host. sent is whether the other host may have received it. A
// host that can't be reached, or whose connection broke, gets no requests for a while; a host
// that only took too long still gets requests.
func (f *forwarder) callPeer(r *request, id, address string) (got *peerAnswer, sent bool, err error) {
	var connected atomic.Bool
	ctx, cancel := context.WithTimeout(r.http.Context(), dialTime+answerTime)
	defer cancel()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { connected.Store(false) }, GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})
	defer func() {
		if err != nil && ctx.Err() == nil {
			f.rest(address, err)
		}
	}()
	target := *r.http.URL
	target.Scheme, target.Host = "https", address
	out, err := http.NewRequestWithContext(ctx, r.http.Method, target.String(), bytes.NewReader(r.body)) //nolint:gosec // the address is another host's, from the store
	if err != nil {
		return nil, false, err
	}
	for _, name := range forwardedHeaders {
		if values := r.http.Header.Values(name); len(values) > 0 {
			out.Header[name] = values
		}
	}
	trace := r.trace
	trace.Parent = cmp.Or(trace.Parent, trace.ID[:16])
	out.Header.Set("Traceparent", trace.String())
	out.Header.Set(forwardedHeader, base64.StdEncoding.EncodeToString(jsontext.MustEncode(origin{r.caller, r.address, id})))
	response, err := f.transport.RoundTrip(out)
	if err != nil {
		return nil, connected.Load(), err
	}
	defer func() { _ = response.Body.Close() }() // it was read, or the answer isn't used
	got = &peerAnswer{status: response.StatusCode, header: http.Header{}}
	for _, name := range answeredHeaders {
		if values := response.Header.Values(name); len(values) > 0 {
			got.header[name] = values
		}
	}
	got.body, err = io.ReadAll(io.LimitReader(response.Body, maxForwarded+1))
	if err == nil && len(got.body) > maxForwarded {
		err = errors.New("its answer is too large")
	}
	return got, true, err
}

// hostUnready is the reason with which a host refuses everything that another host sends
// it.
const hostUnready = "host_unready"

// Peer handles requests that other hosts forward. Those hosts have checked where a request
// comes from and who its caller is.
func (a *API) Peer() http.Handler {
	inner := a.mux(false)
	return a.enter(request{forwarded: true}, func(w http.ResponseWriter, r *request) {
		if a.unready() != "" {
			a.problems.refuse(w, r, sdk.Errorf(sdk.Unavailable, hostUnready, "this host doesn't take requests of others now").WithHint("ask another host"))
			return
		}
		inner.ServeHTTP(w, r.with(r.http.Context()))
	})
}

// readOrigin reads the origin of a request that another host forwarded.
func (a *API) readOrigin(r *request) error {
	var from origin
	text, err := base64.StdEncoding.DecodeString(r.http.Header.Get(forwardedHeader))
	if err == nil {
		err = json.Unmarshal(text, &from)
	}
	if err == nil {
		err = from.Caller.Validate()
	}
	switch {
	case err != nil:
		return headerInvalid(forwardedHeader, "it doesn't say whose request this is").WithHint("this address is for other hosts only")
	case a.forwarder == nil || from.To != a.forwarder.peers.Self:
		return sdk.Errorf(sdk.Unavailable, hostUnready, "this is another host than the one that was asked").WithHint("ask another host")
	}
	r.caller, r.address = from.Caller, from.Address
	return nil
}

// close ends the connections to other hosts.
func (f *forwarder) close() {
	if f != nil {
		f.transport.CloseIdleConnections()
	}
}
