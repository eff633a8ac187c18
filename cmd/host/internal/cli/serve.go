package cli

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/cmd/host/internal/httpapi"
	"github.com/reflectory/reflectory/cmd/host/internal/mcpserver"
	"github.com/reflectory/reflectory/cmd/host/internal/metrics"
	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// A server has the store open for as long as it works, so a command can't open it. The
// command then sends its request to the server, over the socket in the data folder, and
// prints the same as without a server.

// served is where a server can be reached.
type served struct {
	// URL is its URL for clients, Listen the TCP address, Socket the socket's path, and Token
	// the path of the operator's token.
	URL    string `json:"url"`
	Listen string `json:"listen"`
	Socket string `json:"socket"`
	Token  string `json:"token_file"`
}

func serveCommand(a *App) *cobra.Command {
	r := &reach{}
	c := &cobra.Command{
		Use: "serve", Short: "Serve the store to commands, and over HTTP",
		Long: `Serve the store of the data folder until the program is stopped: to other commands over
the socket host.sock in the folder, so that they needn't wait for each other, and over
HTTP. Plugins and search indexes stay in memory.

HTTP needs a token. The operator's token is in operator.token in the data folder, which
the first start writes. GET /v1/openapi.json describes the API; /healthz and /readyz
need no token. /metrics is for Prometheus, with a token that has the scope operate.
Agents use the Model Context Protocol at /mcp. reflectory open logs a browser in.

With --listen, such as 0.0.0.0:7842, other machines can connect. This needs encryption:
  --tls-cert, --tls-key  a certificate in files, which are read again when they change
  --acme                 a certificate from an ACME authority, such as Let's Encrypt
  --tls-by-proxy         a proxy. From its addresses, the server trusts the headers
                         Forwarded and X-Forwarded-For, which name the client
These may also be in reflectory.yaml, as serve: {listen, tls_cert, tls_key, acme, …}.
It also needs a token besides the operator's (see reflectory token new), or an OpenID
Connect issuer whose tokens the server accepts: --oidc-issuer names it, and --oidc-grant
says what its tokens allow.

With --peer-listen and --peer-tls, servers that share a database (--store) forward each
request to the server that its namespace belongs to, which has that namespace in memory.
Without them, each server handles the requests that it gets.

Each request is a line on standard error: who asked for what, and the result, without
content. With --json, a line on standard output says where the server listens. On
SIGTERM or Ctrl-C the server accepts nothing more, gives requests 22 seconds and jobs 10
seconds to end, and exits with 0. Jobs that haven't ended by then go back to the queue,
and the next server continues them. Whatever runs, the server ends within 40 seconds.`,
		Example: "  reflectory serve\n  reflectory serve --listen 127.0.0.1:0 --json",
		RunE:    func(c *cobra.Command, _ []string) error { return a.serve(c.Context(), r) },
	}
	r.flags(c, &a.flags)
	traceContentFlag(a, c)
	return c
}

// serve serves until the context ends.
func (a *App) serve(ctx context.Context, r *reach) (err error) {
	if err := r.check(ctx, a); err != nil {
		return serveRefused(a.config, err)
	}
	dir := a.config.DataDir.Value
	if err := a.config.MakeDataDir(); err != nil {
		return err
	}
	tcp, other, err := r.listen(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tcp.Close() }() // if it isn't served; otherwise it is closed already
	if other != nil {
		defer func() { _ = other.Close() }() // as for tcp
	}
	defer r.close()
	if err := r.open(ctx, a, tcp.Addr()); err != nil {
		return err
	}
	a.serving, a.observed.metrics = r.server(tcp.Addr()), metrics.New()
	h, err := a.openHost(ctx)
	if err != nil {
		return err
	}
	if err := r.checkTokens(ctx, h); err != nil {
		return usageError{err}
	}
	work, err := newWorkers(h)
	if err != nil {
		return err
	}
	stopWork := sync.OnceValue(work.stop)
	defer func() { err = core.JoinErrors(err, a.out.workStopped(stopWork())) }() // after the server, which may queue jobs
	api, err := r.apiWithTools(a, h)
	defer func() { err = core.JoinErrors(err, r.endGateway()) }() // after the server, whose requests it records
	if err != nil {
		return err
	}
	// This isn't the command's context, since each request has its own caller and its own end.
	server := httpapi.NewServer(context.Background(), api)
	defer func() { err = core.JoinErrors(err, stopServer(server.Stop, stopWork)) }()
	server.ServeTCP(tcp)
	if other != nil {
		server.ServeTCP(other)
	}
	if r.peering.listener != nil {
		server.ServePeers(r.peering.listener, r.peering.certificate.Server())
	}
	if err := r.start(); err != nil {
		return err
	}
	if err := work.begin(ctx, api, func(ctx context.Context) error { return withOperatorToken(ctx, h) }); err != nil {
		return err
	}
	socket, err := httpapi.ListenSocket(dir)
	if err != nil {
		return err
	}
	server.ServeSocket(socket)
	if err := a.out.printServed(served{a.serving.URL, a.serving.Listen, filepath.Join(dir, client.SocketName), filepath.Join(dir, access.OperatorFileName)}); err != nil {
		return err
	}
	a.out.gatewayLine(a.serving.URL, r.gateway)
	if r.ready != nil {
		if err := r.ready(ctx); err != nil {
			return err
		}
	}
	return a.untilStopped(ctx, server)
}

// untilStopped returns when the server has failed, or the context ended.
func (a *App) untilStopped(ctx context.Context, server *httpapi.Server) error {
	select {
	case err := <-server.Failed():
		return err
	case <-ctx.Done():
		a.stopping.Store(true)
		a.out.term.Line("stopping: requests have 22 seconds to end")
		return nil
	}
}

// serveRefused is the error of settings with which the server doesn't start. It names the flags that
// set them, so settings that come from elsewhere are named too.
func serveRefused(s *config.Config, err error) error {
	var origins []string
	for _, one := range []config.Setting{s.Listen, s.TLSCert, s.TLSKey, s.ACMEName, s.TLSByProxy, s.Hosts} {
		if !one.IsDefault() && !strings.HasPrefix(one.Origin, "flag ") && !slices.Contains(origins, one.Origin) {
			origins = append(origins, one.Origin)
		}
	}
	if len(origins) > 0 {
		e := sdk.AsError(err) // without the names of fields, which would make flags of them
		return sdk.Errorf(e.Code, e.Reason, "the settings of serve in %s: %s", strings.Join(origins, " and "), e.Message).WithHint("%s", e.Hint)
	}
	return usageError{err}
}

// jobsAfter is when a server that is being stopped takes no more jobs, even if requests, which may
// wait for some, haven't ended: see lastResort.
const jobsAfter = 10 * time.Second

// stopServer stops a server and, from jobsAfter on, also its work on jobs.
func stopServer(server, work func() error) error {
	timer := time.AfterFunc(jobsAfter, func() { _ = work() }) // it is called again afterwards, for its error
	defer timer.Stop()
	return server()
}

// workStopped is the error of the end of the work on jobs. Jobs that don't notice that they were
// cancelled are back in their queues: the server says so, and has not failed.
func (out *output) workStopped(err error) error {
	if sdk.ReasonOf(err) == "jobs_running" {
		out.term.Line("jobs that go on are back in the queue: %s", sdk.AsError(err).Message)
		return nil
	}
	return err
}

// listen opens the address at which the server can be reached, and the other address of this machine
// at which it has to be, too; nil if there is none.
func (r *reach) listen(ctx context.Context) (tcp, other net.Listener, err error) {
	tcp, err = httpapi.Listen(ctx, &r.Listen)
	if sdk.ReasonOf(err) == "listen_taken" {
		return nil, nil, sdk.AsError(err).WithHint("stop it, or take another port: --listen 127.0.0.1:0 takes a free one")
	}
	if err != nil || !r.server(tcp.Addr()).Bound {
		return tcp, nil, err
	}
	if other, err = httpapi.ListenOther(ctx, tcp); err != nil {
		_ = tcp.Close()
	}
	return tcp, other, err
}

// withOperatorToken makes the operator's token, unless there is one. Who waits for the server to be
// ready reads it next.
func withOperatorToken(ctx context.Context, h *host.Host) error {
	if err := h.Ready(ctx); err != nil {
		return err
	}
	_, err := h.Access.EnsureOperatorToken(ctx)
	return err
}

// begin joins the other hosts, prepares what callers need as soon as the server is ready, waits
// until it is ready, and starts the workers. A nil prepare prepares nothing.
func (w *workers) begin(ctx context.Context, api *httpapi.API, prepare func(context.Context) error) error {
	if err := w.join(ctx); err != nil {
		return err
	}
	if prepare != nil {
		if err := prepare(ctx); err != nil {
			return err
		}
	}
	if err := api.Ready(ctx); err != nil {
		return err
	}
	return w.start(ctx)
}

// apiWithTools is the API with the tools for agents at /mcp, whose refusals are in its log.
func (r *reach) apiWithTools(a *App, h *host.Host) (api *httpapi.API, err error) {
	limits := serverLimits(a.config.Limits())
	mcp, err := mcpserver.New(mcpserver.Config{
		Client: client.Local{Open: a.openHost}, Requests: httpapi.Requests{JSONDepth: limits.JSONDepth}, Version: version, MaxBody: limits.Body,
		Refused: func(ctx context.Context, err error, body []byte, p *client.Problem) { api.Refused(ctx, err, body, p) },
	})
	if err != nil {
		return nil, err
	}
	api, err = r.api(a, h, map[string]http.Handler{"/mcp": mcp})
	return api, err
}

// printServed prints where the server is, at once: other results are printed at the
// command's end.
func (out *output) printServed(s served) error {
	if !out.json {
		out.term.Line("serving on %s (%s) and %s", s.URL, s.Listen, term.Clean(s.Socket))
		out.term.Line("the operator's token is in %s", term.Clean(s.Token))
		return nil
	}
	text, err := jsontext.Encode(s)
	if err == nil {
		_, err = out.Stdout.Write(append(text, '\n'))
	}
	return err
}

// requestLog counts each request, and shows a line for it: every line, unless a log level is set that
// excludes it.
func (a *App) requestLog() func(httpapi.Line) {
	var mu sync.Mutex
	return func(l httpapi.Line) {
		a.observed.count(l)
		if !a.config.LogLevel.IsDefault() && !a.shows(l.Level) {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(a.out.Stderr, term.Clean(l.String())) //nolint:errcheck // there is no place to report that the log can't be written
	}
}

// serverVersion is the version that a command and its server must share.
func serverVersion() string { return version }

// client is the client for operations: of the server that has the store, if there is one,
// otherwise of this program.
func (a *App) client(ctx context.Context) (client.Client, error) {
	if a.server != nil {
		return a.server, nil
	}
	if a.remote() {
		return a.connect()
	}
	if a.host == nil && a.serving == nil {
		there, err := client.Serves(ctx, a.config.DataDir.Value)
		if err != nil {
			return nil, err
		}
		if there {
			remote := client.NewRemote(a.config.DataDir.Value, serverVersion())
			remote.Pins = a.pins
			a.server = remote
			a.warnOfServerSettings()
			return a.server, nil
		}
	}
	return client.Local{Open: a.openHost}, nil
}

// pins are the origins of the plugins that this program would use without a server.
func (a *App) pins() (map[string]string, error) {
	set, err := host.OpenSet(a.config, func(host.Notice) {}) // the server has warned of unlocked plugins
	if err != nil {
		return nil, err
	}
	pins := host.PinsOf(set)
	return pins, set.Close()
}

// warnOfServerSettings names the flags that have no effect because the server has its own settings.
func (a *App) warnOfServerSettings() {
	a.warnOfUnused("the server on the data folder has its own settings since its start", "data-dir", "namespace", "agent", "log-level")
}

// warnOfUnused names the given flags of settings, with some exceptions, that have no effect because
// a server is used.
func (a *App) warnOfUnused(reason string, used ...string) {
	var unused []string
	for _, s := range a.config.List() {
		if flag, ok := strings.CutPrefix(s.Origin, "flag --"); ok && !slices.Contains(used, flag) {
			unused = append(unused, "--"+flag)
		}
	}
	if len(unused) > 0 {
		a.out.term.Line("warn: %s: %s isn't used", reason, strings.Join(unused, ", "))
	}
}
