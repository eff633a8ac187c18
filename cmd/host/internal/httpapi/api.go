// Package httpapi offers the operations over HTTP: to the program's own commands over a
// socket in the data folder, and to other callers over TCP.
//
// The routes, their OpenAPI description and the hints in errors are generated from the
// table of operations, so nothing is said twice. This package decides only what belongs to
// HTTP: who the caller is, what a request may look like and how large it may be, what a
// refusal looks like, and how events are followed. A rule of the product in this package
// would apply to one surface and not to the others.
package httpapi

import (
	"context"
	"crypto/tls"
	"maps"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/cmd/host/internal/traceparent"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/share"
	"github.com/reflectory/reflectory/sdk"
)

// Config is what an [API] works with.
type Config struct {
	// Host carries out the requests. The API doesn't close it.
	Host *host.Host
	// Version is the program's version, which commands over the socket must have too.
	Version string
	// Authenticator authenticates callers over TCP. Nil knows nobody.
	Authenticator Authenticator
	// Hosts are the names and addresses, in addition to this machine's loopback names, that a
	// request over TCP may have as its host, such as the public name of a proxy in front of
	// the server. Ports, upper case and a dot at the end are ignored. Covers decides about
	// other names, such as the names in a certificate; nil covers none.
	Hosts  []string
	Covers func(host string) bool
	// TLS is how connections over TCP are encrypted; nil means that they aren't.
	TLS *tls.Config
	// Proxies are the networks of proxies that do TLS, whose headers about a request's origin
	// are trusted. If there are any, requests without TLS from other addresses are refused.
	Proxies []netip.Prefix
	// LoginHosts also accepts the names that browsers are logged in under: see
	// [access.IsLoginHost]. Browsers look them up on this machine only.
	LoginHosts bool
	// NoAuth adds a header to each answer that shows that no credentials are needed.
	// Authenticator then admits every caller.
	NoAuth bool
	// Resource tells clients which issuer's tokens are accepted in addition to the host's own;
	// nil is none.
	Resource *Resource
	// Peers are the other hosts on the same store, which get the requests about their
	// namespaces; nil makes this host do everything.
	Peers *Peers
	// Pages answers a browser's requests at "/" and the paths of [PagePaths], before the
	// caller is authenticated; nil has no pages.
	Pages  func(http.ResponseWriter, *http.Request, Visit)
	Limits Limits
	// Mounts are other surfaces by their path, such as /mcp. A request over TCP to such a
	// surface has passed the checks of every request, and has its caller in its context.
	Mounts map[string]http.Handler
	// Foreign is a surface with forms of its own; nil is none.
	Foreign *Foreign
	// Metrics makes the handler of /metrics from a function that counts the open event
	// streams; nil has no metrics.
	Metrics func(streams func() int) http.Handler
	// Trace is called when a request begins, with a context that has the caller's trace, and
	// with the method. It returns the context of the request, and a function that gets the
	// request's log line at its end. It may be nil.
	Trace func(ctx context.Context, method string) (context.Context, func(Line))
	// Log is called with a line for each answered request. It must be safe for concurrent use
	// and return soon. It may be nil.
	Log func(Line)
}

// API is the operations over HTTP. It is safe for concurrent use.
type API struct {
	config Config
	limits Limits
	routes map[string]*route
	hosts  map[string]bool
	// problems are the answers to requests that can't be done.
	problems *problems
	rates    *rates
	// always are the headers of every answer. Their values are shared, so they aren't changed.
	always  http.Header
	streams *streams
	// bodies shares how many bytes of bodies are read and decoded at once.
	bodies *share.Share
	// decoding shares the processors that decode them.
	decoding *share.Share
	calls    calls
	// buffers are what answers were encoded in, for the next ones.
	buffers sync.Pool // of *bytes.Buffer
	origins *http.CrossOriginProtection
	// foreign is nil if there is no such surface.
	foreign *foreign
	// forwarder is nil without other hosts.
	forwarder *forwarder

	ready    atomic.Bool
	metrics  http.Handler    // nil if there are none
	draining context.Context // ends once the server stops
	drain    func()
	document func() ([]byte, error)
}

// New makes an API, or reports every problem of its limits.
func New(c Config) (*API, error) {
	if err := c.Limits.Validate(); err != nil {
		return nil, err
	}
	if c.Log == nil {
		c.Log = func(Line) {}
	}
	if c.Authenticator == nil {
		c.Authenticator = nobody{}
	}
	a := &API{
		config: c, limits: c.Limits.withDefaults(), routes: map[string]*route{}, hosts: map[string]bool{},
		origins: http.NewCrossOriginProtection(),
	}
	if c.Peers != nil {
		a.forwarder = newForwarder(c.Peers)
	}
	a.always = http.Header{}
	for name, value := range map[string]string{
		"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer", client.VersionHeader: c.Version,
	} {
		a.always.Set(name, value)
	}
	a.problems = &problems{a.routes, hostFolders(c.Host), challenge(c.Resource), a.decodeAgain}
	for _, o := range operation.Table() {
		a.routes[o.Name] = newRoute(o)
	}
	for _, name := range append([]string{"localhost", "127.0.0.1", "::1"}, c.Hosts...) {
		if host := hostOf(name); host != "" { // otherwise a request without a host would be accepted
			a.hosts[host] = true
		}
	}
	a.rates = newRates(c.Host, a.limits)
	c.Host.Limits.WorkAtOnce(a.limits.AtOnce)
	a.streams = newStreams(a.limits)
	a.foreign = newForeign(c.Foreign, a.limits)
	a.bodies, a.decoding = newBodies(a.limits), newDecoding(int64(runtime.GOMAXPROCS(0)))
	if c.Metrics != nil {
		a.metrics = c.Metrics(a.streams.count)
	}
	a.draining, a.drain = context.WithCancel(context.Background())
	a.document = sync.OnceValues(func() ([]byte, error) { return Document(c.Version) })
	return a, nil
}

// Remote handles requests over TCP.
func (a *API) Remote() http.Handler {
	outer := http.NewServeMux()
	outer.HandleFunc("GET /healthz", a.healthy)
	outer.HandleFunc("GET /readyz", a.isReady)
	inner := a.mux(false)
	a.mountPages(outer)
	a.mountResource(outer)
	a.mountForeign(outer)
	known := a.enter(request{}, func(w http.ResponseWriter, r *request) {
		if !a.authenticate(w, r) || !a.admit(w, r) {
			return
		}
		inner.ServeHTTP(w, r.with(r.http.Context()))
	})
	outer.Handle("/", known)
	return a.onlyEncrypted(a.sayNoAuth(cleanOnly(outer, known)))
}

// onlyEncrypted asks browsers to use only TLS for the name that they reached this server by. A name
// of the browser's own machine is left out, since other programs there have it too.
func (a *API) onlyEncrypted(next http.Handler) http.Handler {
	if a.config.TLS == nil && len(a.config.Proxies) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := hostOf(r.Host)
		if _, err := netip.ParseAddr(host); err != nil && host != "localhost" && !strings.HasSuffix(host, ".localhost") {
			w.Header().Set("Strict-Transport-Security", "max-age=31536000")
		}
		next.ServeHTTP(w, r)
	})
}

// noAuthHeader is in each answer of a server that asks for no credentials.
const noAuthHeader = "Reflectory-Auth"

// sayNoAuth adds the header to each answer if no credentials are needed.
func (a *API) sayNoAuth(next http.Handler) http.Handler {
	if !a.config.NoAuth {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(noAuthHeader, "none")
		next.ServeHTTP(w, r)
	})
}

// Local handles requests over the socket, whose listener has checked the peer.
func (a *API) Local() http.Handler {
	inner := a.mux(true)
	return a.enter(request{local: true}, func(w http.ResponseWriter, r *request) {
		if err := a.local(r); err != nil {
			a.problems.refuse(w, r, err)
			return
		}
		inner.ServeHTTP(w, r.with(r.http.Context()))
	})
}

// enter begins a request, checks where it comes from, and logs it at its end. by is the
// way on which it came.
func (a *API) enter(by request, next func(http.ResponseWriter, *request)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		r := &request{http: hr, local: by.local, forwarded: by.forwarded, foreign: by.foreign, trace: traceOf(hr), begun: time.Now()}
		var traced func(Line)
		r.http, traced = a.traced(r)
		maps.Copy(w.Header(), a.always)
		defer func() {
			failed := recover()
			aborted := failed == http.ErrAbortHandler //nolint:errorlint // net/http knows it only unwrapped
			abort := aborted || failed != nil && r.status != 0
			if failed != nil && !aborted {
				r.failed(failed)
				if r.status == 0 {
					a.problems.refuse(w, r, r.failure)
				}
			}
			line := r.line(time.Since(r.begun))
			a.config.Log(line)
			traced(line)
			if abort { // the incomplete answer mustn't look complete
				panic(http.ErrAbortHandler)
			}
		}()
		if err := a.checkSender(r); err != nil {
			a.problems.refuse(w, r, err)
			return
		}
		next(w, r)
	})
}

// checkSender finds out where a request comes from, and checks it.
func (a *API) checkSender(r *request) (err error) {
	if r.forwarded {
		return a.readOrigin(r)
	}
	if r.address, err = proxies(a.config.Proxies).senderOf(r.http); err == nil {
		err = a.checkOrigin(r)
	}
	return err
}

// traced begins the trace of a request, and returns the request with its new context.
func (a *API) traced(r *request) (*http.Request, func(Line)) {
	if a.config.Trace == nil {
		return r.http, func(Line) {}
	}
	ctx, end := a.config.Trace(traceparent.With(r.http.Context(), r.trace), r.http.Method)
	return r.http.WithContext(ctx), end
}

// failed records a defect that a panic revealed while the request was handled.
func (r *request) failed(what any) {
	r.failure = sdk.Errorf(sdk.Internal, "panic", "panic: %v", what)
	r.code = "panic"
}

// handle makes a handler from a function that handles a request.
func (a *API) handle(op string, do func(http.ResponseWriter, *request)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		r := requestOf(hr)
		r.http, r.op = hr, op
		do(w, r)
	})
}

// healthy only shows that the process answers.
func (a *API) healthy(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "ok\n") }

// isReady reports whether requests are accepted: the store is open, the server isn't being
// stopped or drained, and the host can work. Anybody may ask, and learns only the name of
// a reason.
func (a *API) isReady(w http.ResponseWriter, _ *http.Request) {
	if why := a.unready(); why != "" {
		w.Header().Set("Retry-After", "1")
		plain(w, http.StatusServiceUnavailable, why+"\n")
		return
	}
	plain(w, http.StatusOK, "ready\n")
}

// unready is the reason why no requests are accepted; "" means that they are accepted.
func (a *API) unready() string {
	if !a.ready.Load() || a.config.Host.Membership.Draining() {
		return "not ready"
	}
	if err := a.config.Host.Unready(); err != nil {
		return "not ready: " + sdk.ReasonOf(err)
	}
	return ""
}

func plain(w http.ResponseWriter, status int, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) // the caller has gone
}

// Ready opens the store, and makes /readyz succeed from then on.
func (a *API) Ready(ctx context.Context) error {
	if err := a.config.Host.Ready(ctx); err != nil {
		return err
	}
	a.ready.Store(true)
	return nil
}
