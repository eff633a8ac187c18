// Package httpapi offers the operations over HTTP: to the program's own commands over a
// socket in the data folder, and to others over TCP.
//
// The routes, the description of them and the hints in errors are made of the table of
// operations, so that nothing has to be said twice. What this package decides is only what
// HTTP does: who is asking, what a request may look like and how much of it there may be,
// what a refusal looks like, and how events are followed. A rule of the product in here
// would hold for one surface and not for the others.
package httpapi

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/sdk"
)

// Config is what an [API] is made of.
type Config struct {
	// Host does what is asked for. It isn't closed.
	Host *host.Host
	// Version is the program's, which commands over the socket must have too.
	Version string
	// Authenticator says who asks over TCP. Nil knows nobody.
	Authenticator Authenticator
	// Hosts are the names and addresses, besides those of this machine's loopback, that a
	// request over TCP may have as its host: such as the name by which a proxy in front of the
	// server is known, where it passes that on. A port doesn't count, in a request either;
	// neither do upper case and a dot at the end, and Covers says of any other whether it may, as of
	// the names in a certificate. Nil knows none.
	Hosts  []string
	Covers func(host string) bool
	// TLS is how connections over TCP are encrypted; nil is that they aren't.
	TLS *tls.Config
	// Proxies are the networks of proxies that do TLS, whose word on where a request comes from
	// is believed. With any, others are refused what they send without TLS.
	Proxies []netip.Prefix
	// NoAuth says in each answer that no credentials are asked for. Authenticator lets
	// everybody in then.
	NoAuth bool
	// Resource says to clients whose tokens are taken, besides the host's own; nil is nobody's.
	Resource *Resource
	// Pages answers what a browser asks for at "/" and the paths of [PagePaths]; nil has no
	// pages. Who asks isn't checked before.
	Pages  func(http.ResponseWriter, *http.Request, Visit)
	Limits Limits
	// Mounts are other surfaces by their path, such as /mcp. What comes over TCP for one has
	// passed the checks of every request, and has its caller in its context.
	Mounts map[string]http.Handler
	// Metrics makes what answers a scrape of /metrics, given what counts the streams of events
	// that are followed; nil has no metrics.
	Metrics func(streams func() int) http.Handler
	// Trace is told that a request with a method begins, in a context with its trace, and
	// returns the context in which it is done, and what takes its line at the end. Nil follows
	// none.
	Trace func(ctx context.Context, method string) (context.Context, func(Line))
	// Log takes a line for each request that was answered. It must be safe for concurrent
	// use and return soon. Nil drops them.
	Log func(Line)
}

// API is the operations over HTTP. It is safe for concurrent use.
type API struct {
	config  Config
	limits  Limits
	routes  map[string]*route
	hosts   map[string]bool
	folders []string
	rates   *rates
	streams *streams
	calls   calls
	origins *http.CrossOriginProtection

	ready    atomic.Bool
	metrics  http.Handler  // nil where there are none
	draining chan struct{} // closed once the server is
	drain    func()
	document func() ([]byte, error)
}

// New makes an API, or reports all that is wrong with its limits.
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
		origins: http.NewCrossOriginProtection(), draining: make(chan struct{}),
	}
	for _, o := range operation.Table() {
		a.routes[o.Name] = newRoute(o)
	}
	for _, name := range append([]string{"localhost", "127.0.0.1", "::1"}, c.Hosts...) {
		if host := hostOf(name); host != "" { // else a request without one would be let in
			a.hosts[host] = true
		}
	}
	a.folders = a.hostFolders()
	a.rates = newRates(a.limits)
	a.streams = newStreams(a.limits)
	if c.Metrics != nil {
		a.metrics = c.Metrics(a.streams.count)
	}
	a.drain = sync.OnceFunc(func() { close(a.draining) })
	a.document = sync.OnceValues(func() ([]byte, error) { return Document(c.Version) })
	return a, nil
}

// Remote handles what comes over TCP.
func (a *API) Remote() http.Handler {
	outer := http.NewServeMux()
	outer.HandleFunc("GET /healthz", a.healthy)
	outer.HandleFunc("GET /readyz", a.isReady)
	inner := a.mux(false)
	a.mountPages(outer)
	a.mountResource(outer)
	known := a.enter(false, func(w http.ResponseWriter, r *request) {
		if !a.authenticate(w, r) || !a.admit(w, r) {
			return
		}
		inner.ServeHTTP(w, r.with(r.http.Context()))
	})
	outer.Handle("/", known)
	return a.sayNoAuth(cleanOnly(outer, known))
}

// noAuthHeader is in each answer of a server that asks for no credentials.
const noAuthHeader = "Reflectory-Auth"

// sayNoAuth says in each answer that no credentials are asked for, where that is so.
func (a *API) sayNoAuth(next http.Handler) http.Handler {
	if !a.config.NoAuth {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(noAuthHeader, "none")
		next.ServeHTTP(w, r)
	})
}

// Local handles what comes over the socket, whose listener has checked who the peer is.
func (a *API) Local() http.Handler {
	inner := a.mux(true)
	return a.enter(true, func(w http.ResponseWriter, r *request) {
		if err := a.local(r); err != nil {
			a.refuse(w, r, err)
			return
		}
		inner.ServeHTTP(w, r.with(r.http.Context()))
	})
}

// enter begins a request, checks where it comes from, and logs it at its end.
func (a *API) enter(local bool, next func(http.ResponseWriter, *request)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		r := &request{http: hr, local: local, trace: traceOf(hr), begun: time.Now()}
		var traced func(Line)
		r.http, traced = a.traced(r)
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set(client.VersionHeader, a.config.Version)
		defer func() {
			failed := recover()
			abort := failed != nil && (failed == http.ErrAbortHandler || r.status != 0)
			if failed != nil && failed != http.ErrAbortHandler {
				r.failed(failed)
				if r.status == 0 {
					a.refuse(w, r, r.failure)
				}
			}
			line := r.line(time.Since(r.begun))
			a.config.Log(line)
			traced(line)
			if abort { // an answer was begun, which nobody may take for whole
				panic(http.ErrAbortHandler)
			}
		}()
		var err error
		if r.address, err = a.senderOf(hr); err == nil {
			err = a.checkOrigin(r)
		}
		if err != nil {
			a.refuse(w, r, err)
			return
		}
		next(w, r)
	})
}

// traced has a request followed, which is then the one that is returned.
func (a *API) traced(r *request) (*http.Request, func(Line)) {
	if a.config.Trace == nil {
		return r.http, func(Line) {}
	}
	ctx, end := a.config.Trace(core.WithTrace(r.http.Context(), r.trace), r.http.Method)
	return r.http.WithContext(ctx), end
}

// failed notes a defect that was met while the request was done.
func (r *request) failed(what any) {
	r.failure = sdk.Errorf(sdk.Internal, "panic", "panic: %v", what)
	r.code = "panic"
}

// handle makes a handler of what does a request.
func (a *API) handle(op string, do func(http.ResponseWriter, *request)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		r := requestOf(hr)
		r.http, r.op = hr, op
		do(w, r)
	})
}

// healthy says only that the process answers.
func (a *API) healthy(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "ok\n") }

// isReady says whether requests are taken: the store is open, nobody stops or drains the
// server, and the host can work. Anybody may ask, and is told no more than a reason's name.
func (a *API) isReady(w http.ResponseWriter, _ *http.Request) {
	notReady := func(text string) {
		w.Header().Set("Retry-After", "1")
		plain(w, http.StatusServiceUnavailable, text)
	}
	if !a.ready.Load() || a.config.Host.Draining() {
		notReady("not ready\n")
		return
	}
	if err := a.config.Host.Unready(); err != nil {
		notReady("not ready: " + sdk.ReasonOf(err) + "\n")
		return
	}
	plain(w, http.StatusOK, "ready\n")
}

func plain(w http.ResponseWriter, status int, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) // who asked has gone
}

// Ready opens the store, and says so from then on.
func (a *API) Ready(ctx context.Context) error {
	if err := a.config.Host.Ready(ctx); err != nil {
		return err
	}
	a.ready.Store(true)
	return nil
}
