package httpapi

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/reflectory/reflectory/core"
)

// Server serves an [API] on listeners, until it is stopped.
//
// Stopping has three steps. First the server reports that it isn't ready, so that load
// balancers send it nothing more. Then the listeners are closed, and event streams end
// with bye, so that their readers connect to another server. Requests under way get some
// time to end; then they are cancelled, as if their callers had given up.
type Server struct {
	api *API
	// requests is the context of every request.
	requests context.Context
	cancel   context.CancelFunc
	work     sync.WaitGroup
	stop     func() error
	failed   chan error

	mu      sync.Mutex
	servers []*http.Server
	stopped bool
	// handlers are the requests under way; ended is set once no further request may begin.
	handlers sync.WaitGroup
	ended    bool
}

// NewServer makes a server. Every request has the context's values. The end of the context
// stops nothing.
func NewServer(ctx context.Context, api *API) *Server {
	s := &Server{api: api, failed: make(chan error, 8)}
	s.requests, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.stop = sync.OnceValue(s.end)
	return s
}

// ServeTCP serves a listener for callers that have a token, and closes it at the end.
func (s *Server) ServeTCP(l net.Listener) {
	s.serve(l, s.api.Remote(), s.api.config.TLS, s.api.originOfTCP)
}

// ServePeers serves a listener for other hosts, which must show the certificate that
// encryption requires, and closes it at the end.
func (s *Server) ServePeers(l net.Listener, encryption *tls.Config) {
	s.serve(l, s.api.Peer(), encryption, noOrigin)
}

// ServeSocket serves the listener of the socket, and closes it at the end.
func (s *Server) ServeSocket(l net.Listener) { s.serve(l, s.api.Local(), nil, noOrigin) }

// serve serves a listener, with TLS unless encryption is nil. origin is where its connections
// come from.
func (s *Server) serve(l net.Listener, h http.Handler, encryption *tls.Config, origin func(net.Conn) (string, bool)) {
	limits := s.api.limits
	server := &http.Server{
		Handler: s.counted(s.api.boundBody(h)), BaseContext: func(net.Listener) context.Context { return s.requests },
		ConnContext:       withSlot,
		ReadHeaderTimeout: limits.HeaderTime, IdleTimeout: limits.IdleTime,
		// Each answer sets its own deadline when it begins. This deadline is for answers of
		// net/http itself.
		WriteTimeout: writeTime,
		// OPTIONS * goes to the handler too, which authenticates the caller.
		DisableGeneralOptionsHandler: true,
		// Headers above the limit are refused with a problem, up to this size; beyond it,
		// net/http refuses them in its own words.
		// A request that another host forwards also has its caller in a header.
		MaxHeaderBytes: max(4*limits.Headers, 2*foreignHeaders),
		ErrorLog:       log.New(io.Discard, "", 0), // a connection broke, which the request's log line shows
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		_ = l.Close()
		return
	}
	s.servers = append(s.servers, server)
	s.work.Go(func() {
		serve, bound := server.Serve, newBounded(l, limits.Connections, encryption != nil, origin)
		if encryption != nil {
			server.TLSConfig = encryption.Clone()
			serve = func(l net.Listener) error { return server.ServeTLS(l, "", "") }
		}
		if err := serve(bound); !errors.Is(err, http.ErrServerClosed) {
			select {
			case s.failed <- err:
			default: // the first ones are enough
			}
		}
	})
}

// Failed has the error of a listener that can't be served any more.
func (s *Server) Failed() <-chan error { return s.failed }

// Stop ends the server, and returns once all its work has ended. It is idempotent.
func (s *Server) Stop() error { return s.stop() }

func (s *Server) end() error {
	s.api.ready.Store(false)
	s.mu.Lock()
	s.stopped = true
	servers := s.servers
	s.mu.Unlock()
	s.api.drain()
	grace, done := context.WithTimeout(context.Background(), s.api.limits.DrainTime)
	defer done()
	errs := make([]error, len(servers))
	var all sync.WaitGroup
	for i, server := range servers {
		all.Go(func() {
			if errs[i] = server.Shutdown(grace); errors.Is(errs[i], context.DeadlineExceeded) {
				errs[i] = s.abandon(server)
			}
		})
	}
	all.Wait()
	s.cancel()
	s.work.Wait()
	s.api.forwarder.close()
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.handlers.Wait()
	return core.JoinErrors(errs...)
}

// counted makes Stop wait for each request that has begun. net/http closes a connection
// even if its handler still works, and a handler that works after the end would find the
// store closed.
func (s *Server) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.begin() {
			panic(http.ErrAbortHandler) // its connection is closed already
		}
		defer s.handlers.Done()
		defer slotOf(r.Context()).begin()()
		next.ServeHTTP(w, r)
	})
}

// begin counts a request, unless the server has ended.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.handlers.Add(1)
	return true
}

// abandonTime is how long requests have to end once they are cancelled.
const abandonTime = 2 * time.Second

// abandon cancels the requests under way, and then closes the connections. It also waits
// for a request that ignores its context: see [Server.counted].
func (s *Server) abandon(server *http.Server) error {
	s.cancel()
	last, done := context.WithTimeout(context.Background(), abandonTime)
	defer done()
	if server.Shutdown(last) == nil {
		return nil
	}
	return server.Close()
}
