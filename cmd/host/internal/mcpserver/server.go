// Package mcpserver offers the operations as tools to agents, over the Model Context
// Protocol: on standard input and output to the program that started it, and over HTTP.
//
// The tools are a table. A tool's input, result and annotations are generated from its
// operation, so a tool is one row. This package decides only what belongs to the protocol:
// which tools are listed, how a result that is too long for an agent's context is cut, and
// that a refusal is a result, which a model can read and act on. It is the only package
// that imports the protocol's library, and exports none of its types, except in [Requests].
//
// The protocol's features that call the client back (roots, sampling, elicitation) and its
// logging aren't used: the caller could approve its own requests through elicitation, and
// the others are deprecated.
package mcpserver

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/sdk"
)

// Requests describes and reads the requests of operations, as the HTTP API does.
type Requests interface {
	// Schema is the schema of a request or a result.
	Schema(t reflect.Type, request bool) (*jsonschema.Schema, error)
	// Decode fills a request, a pointer to a struct, from a JSON object, or reports
	// everything that is wrong with the object, after what is wrong with the call's other arguments.
	Decode(o *operation.Operation, data []byte, in any, wrong ...error) error
}

// Config is what a [Server] works with.
type Config struct {
	// Client calls the operations. The caller is in the context of a request.
	Client   client.Client
	Requests Requests
	// Version is the program's version.
	Version string
	// Refused is called for each refusal, and removes from its problem what a caller over the
	// network mustn't see. body is the refused JSON. If it is nil, nothing is removed, for
	// callers who own the data folder.
	Refused func(ctx context.Context, err error, body []byte, p *client.Problem)
	// MaxBody is how many bytes a request over HTTP has at most: 1 MiB by default.
	MaxBody int64
	// Now is the clock for sending progress; nil is the system's.
	Now func() time.Time
}

// Server offers the operations as tools. It is safe for concurrent use.
type Server struct {
	config Config
	tools  []*tool

	mu    sync.Mutex
	sets  map[set]*mcp.Server
	serve http.Handler
}

// set determines which tools are listed.
type set struct {
	profile Profile
	scopes  string // the caller's, sorted
	home    string // the namespaces that the instructions name
}

// protocols are the supported revisions of the protocol, the newest first.
var protocols = []string{"2026-07-28", "2025-11-25", "2025-06-18"}

// listTime is how long a client may keep a list: a list changes only with the program.
const listTime = 5 * time.Minute

// New makes a server, or reports a tool that can't be made from its operation.
func New(c Config) (*Server, error) {
	if c.MaxBody == 0 {
		c.MaxBody = 1 << 20
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	s := &Server{config: c, sets: map[set]*mcp.Server{}}
	for _, row := range table() {
		t, err := newTool(row, c.Requests)
		if err != nil {
			return nil, sdk.Wrap("tool "+row.name, err)
		}
		s.tools = append(s.tools, t)
	}
	s.serve = streamable(func(r *http.Request) *mcp.Server {
		profile, _ := profileOf(r)
		m, _ := s.of(profile, core.CallerOf(r.Context())) // it fails for no caller, since a test makes all sets
		return m
	}, c.MaxBody)
	return s, nil
}

// streamable handles the protocol over HTTP, each request on its own: a call that asks for progress gets a
// stream of events, and any other request an answer in JSON, which costs less. The mounting code
// checks where a request comes from.
func streamable(server func(*http.Request) *mcp.Server, maxBody int64) http.Handler {
	answers := func(inJSON bool) http.Handler {
		return checkTaskNames(mcp.NewStreamableHTTPHandler(server, &mcp.StreamableHTTPOptions{
			Stateless: true, JSONResponse: inJSON, DisableLocalhostProtection: true, PropagateRequestCancellation: true, MaxRequestBodyBytes: maxBody,
		}), maxBody)
	}
	return checkMessages(answers(true), answers(false), maxBody)
}

// newServer makes a server of the protocol without any feature; home is added to the instructions.
func newServer(version, home string) *mcp.Server {
	m := mcp.NewServer(&mcp.Implementation{Name: "reflectory", Title: "Reflectory", Version: version}, &mcp.ServerOptions{
		Instructions: instructions + home, SupportedProtocolVersions: protocols,
		Capabilities: &mcp.ServerCapabilities{
			Tools: &mcp.ToolCapabilities{}, Resources: &mcp.ResourceCapabilities{}, Prompts: &mcp.PromptCapabilities{},
			Extensions: map[string]any{tasksExtension: struct{}{}},
		},
		SetCacheable: func(_ context.Context, req mcp.Request, c *mcp.Cacheable) {
			c.CacheScope = "private"
			if _, reads := req.(*mcp.ReadResourceRequest); !reads {
				c.TTLMs = int(listTime.Milliseconds())
			}
		},
	})
	m.AddReceivingMiddleware(followTrace)
	return m
}

// of returns a server with a caller's tools.
func (s *Server) of(profile Profile, caller core.Caller) (*mcp.Server, error) {
	key := setOf(profile, caller)
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.sets[key]; m != nil {
		return m, nil
	}
	m := newServer(s.config.Version, key.home)
	if err := addTasks(m, s); err != nil {
		return nil, err
	}
	for _, t := range s.tools {
		if key.lists(t) {
			m.AddTool(t.described, s.handler(t, key))
		}
	}
	s.addResources(m)
	addPrompts(m)
	if len(s.sets) >= maxSets {
		clear(s.sets)
	}
	s.sets[key] = m
	return m, nil
}

// maxSets is how many sets are kept. Callers differ little; if they don't, all sets are made again.
const maxSets = 256

// setOf is the set of a caller.
func setOf(profile Profile, c core.Caller) set {
	scopes := make([]string, len(c.Scopes))
	for i, scope := range c.Scopes {
		scopes[i] = string(scope)
	}
	slices.Sort(scopes)
	k := set{profile: profile, scopes: strings.Join(scopes, " ")}
	if !c.Reaches(core.EveryNamespace) && len(c.Namespaces) > 0 {
		k.home = " Your namespaces: " + strings.Join(c.Namespaces, ", ") + "; without one, " + c.Default(core.DefaultNamespace) + " is used."
	}
	return k
}

// lists reports whether a tool is listed: the profile has it, and the caller's scopes allow some of its
// operations.
func (k set) lists(t *tool) bool {
	var c core.Caller
	for scope := range strings.FieldsSeq(k.scopes) {
		c.Scopes = append(c.Scopes, core.Scope(scope))
	}
	may := func(o *operation.Operation) bool { return o.May(c) }
	return k.profile.has(t.row.profile) && (slices.ContainsFunc(slices.Collect(maps.Values(t.operations)), may) || slices.ContainsFunc(t.others, may))
}

// ServeHTTP handles the path /mcp, where ?profile= chooses the tools. The caller is in the
// request's context.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, err := profileOf(r); err != nil {
		p := client.Problem{
			Type: "urn:reflectory:problem:profile_unknown", Title: "Invalid request", Status: http.StatusBadRequest,
			Detail: "there is no such profile", Hint: "give profile=agent, loop or all", Code: sdk.ReasonOf(err),
		}
		w.Header().Set("Content-Type", client.ProblemType)
		w.WriteHeader(p.Status)
		_ = json.NewEncoder(w).Encode(p) // the caller may have gone
		return
	}
	s.serve.ServeHTTP(w, r)
}

// ServeStdio speaks the protocol with one client, in lines of JSON, until in or the context
// ends. What was read until then is done and answered, if it takes no longer than [drainTime].
// All requests are made in the name of the context's caller.
func (s *Server) ServeStdio(ctx context.Context, profile Profile, in io.ReadCloser, out io.Writer) error {
	m, err := s.of(profile, core.CallerOf(ctx))
	if err != nil {
		return err
	}
	own, end := withFollowers(context.WithoutCancel(ctx)) // the end of the context ends the reading first
	defer end()
	err = m.Run(own, newLines(in, out, ctx.Done()))
	if ctx.Err() != nil {
		return nil // it was stopped
	}
	return err
}
