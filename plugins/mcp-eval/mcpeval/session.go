package mcpeval

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reflectory/reflectory/sdk"
)

// Bounds of what a server may send.
const (
	// maxMessage is the largest message, in bytes: what a plugin may send the host, and the other members
	// of the message.
	maxMessage = 9 << 20
	// maxUnasked is how much a server may send between two calls, in bytes, before it is ended: a server
	// needs a few hundred for a notification.
	maxUnasked = 64 << 20
	maxTools   = 1_000
	// programProtocol is the protocol's version for servers that are programs: newer ones begin with a method
	// that not every server answers.
	programProtocol = "2025-11-25"
)

// session keeps the connection to a server. After a failure there is a new one, and a new process of a server that
// is a program. It is safe for concurrent use, and makes one call at a time.
type session struct {
	server *Server

	mu    sync.Mutex
	open  *mcp.ClientSession
	flow  *flow
	close func()
}

// do makes a call on an open connection, and ends the connection if the call fails in any way but an answer of the
// server.
func (s *session) do(ctx context.Context, call func(*mcp.ClientSession) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		if err := s.connect(ctx); err != nil {
			s.end()
			return s.failed(ctx, "start", err)
		}
	}
	s.flow.reset()
	err := call(s.open)
	if err == nil || isAnswer(err) {
		return err
	}
	s.end()
	return s.failed(ctx, "call", err)
}

func (s *session) end() {
	if s.close != nil {
		s.close()
	}
	s.open, s.close = nil, nil
}

// failed is the error for a server that couldn't be reached.
func (s *session) failed(ctx context.Context, what string, err error) error {
	if e := new(sdk.Error); errors.As(err, &e) {
		return err
	}
	if ctx.Err() != nil {
		return sdk.Wrap(what+" server "+s.server.Name, ctx.Err())
	}
	if s.flow != nil && s.flow.over() {
		return sdk.Errorf(sdk.Exhausted, "server_floods", "server %s sent more than %d bytes that weren't asked for", s.server.Name, maxUnasked).
			WithHint("use another version of the server")
	}
	return sdk.Errorf(sdk.Unavailable, "server_failed", "%s server %s: %w", what, s.server.Name, err).
		WithHint("see what the server wrote").WithAction("plugin logs", "name", s.server.Name)
}

// connect starts the server or reaches it, and shakes hands.
func (s *session) connect(ctx context.Context) error {
	transport, stop, err := s.transport()
	if err != nil {
		return err
	}
	s.close = stop
	// A server is called for its tools only: it gets no roots, and may neither ask a model nor a person.
	client := mcp.NewClient(&mcp.Implementation{Name: "reflectory", Version: "0.1.0"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{}, Logger: slog.New(slog.DiscardHandler),
	})
	client.AddSendingMiddleware(uncached)
	options := &mcp.ClientSessionOptions{}
	if s.server.URL == "" {
		options.ProtocolVersion = programProtocol
	}
	open, err := client.Connect(ctx, transport, options)
	if err != nil {
		return err
	}
	s.open, s.close = open, func() {
		stop() // first, since a server that hangs keeps Close waiting
		_ = open.Close()
	}
	return nil
}

// uncached keeps the client from using a list of tools again, for which the server may set any time: a changed definition
// must be seen before the next call.
func uncached(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, req)
		if tools, ok := result.(*mcp.ListToolsResult); ok && err == nil {
			tools.TTLMs = 0
		}
		return result, err
	}
}

// transport is how the server is reached, and stop ends that.
func (s *session) transport() (t mcp.Transport, stop func(), err error) {
	s.flow = &flow{}
	if s.server.URL != "" {
		client := &http.Client{Transport: boundedTransport{s.flow}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		return &mcp.StreamableClientTransport{
			Endpoint: s.server.URL, HTTPClient: client, MaxRetries: -1, DisableStandaloneSSE: true, MaxEventSize: maxMessage,
		}, client.CloseIdleConnections, nil
	}
	words := s.server.command()
	cmd := exec.Command(words[0], words[1:]...) //nolint:gosec,noctx // the package's own, which the lock pins; stop ends it
	cmd.Dir, cmd.Env, cmd.Stderr = s.server.folder, environment(os.Environ()), os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	stop = sync.OnceFunc(func() {
		_ = stdin.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &mcp.IOTransport{Reader: readCloser{&flowReader{stdout, s.flow}, stdout}, Writer: stdin, MaxLineLength: maxMessage}, stop, nil
}

// environment is what a server gets of the plugin's own environment: all but what is between the host and the plugin.
// HOME is the temporary folder, since many programs write there.
func environment(all []string) []string {
	out := slices.DeleteFunc(slices.Clone(all), func(v string) bool {
		return strings.HasPrefix(v, "PLUGIN_") || strings.HasPrefix(v, "REFLECTORY_") || strings.HasPrefix(v, "HOME=")
	})
	return append(out, "HOME="+os.TempDir())
}

type readCloser struct {
	io.Reader
	io.Closer
}

// flow counts what a server sends.
type flow struct {
	mu    sync.Mutex
	bytes int
}

func (f *flow) reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bytes = 0
}

func (f *flow) add(n int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.bytes += n; f.bytes > maxUnasked {
		return errFlood
	}
	return nil
}

func (f *flow) over() bool { return f.add(0) != nil }

var errFlood = errors.New("too much that wasn't asked for")

// flowReader reads until the server has sent too much.
type flowReader struct {
	io.Reader
	flow *flow
}

// Read implements io.Reader.
func (r *flowReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if over := r.flow.add(n); over != nil {
		return 0, over
	}
	return n, err
}

// boundedTransport reads replies by the same bound.
type boundedTransport struct{ flow *flow }

// RoundTrip implements http.RoundTripper.
func (t boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r) // which goes through the host
	if err == nil {
		resp.Body = readCloser{&flowReader{resp.Body, t.flow}, resp.Body}
	}
	return resp, err
}

// isAnswer reports whether an error is an answer of the server, after which the connection can be used again.
func isAnswer(err error) bool { return protocolError(err) != nil }

// list reads the definitions of the server's tools.
func list(ctx context.Context, open *mcp.ClientSession) (map[string]Definition, error) {
	found := map[string]Definition{}
	for tool, err := range open.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		if len(found) >= maxTools {
			return nil, sdk.Errorf(sdk.Exhausted, "tools_too_many", "the server has more than %d tools", maxTools)
		}
		if _, twice := found[tool.Name]; twice {
			return nil, sdk.Errorf(sdk.Invalid, "tools_invalid", "the server has two tools named %.64q", tool.Name)
		}
		if found[tool.Name], err = define(tool); err != nil {
			return nil, err
		}
	}
	return found, nil
}
