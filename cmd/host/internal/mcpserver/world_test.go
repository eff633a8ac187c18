package mcpserver

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/cmd/host/internal/httpapi"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/jsontext"
)

func TestMain(m *testing.M) {
	operationtest.ServeJudge()
	goleak.VerifyTestMain(coretest.WithPlain(m), goleak.IgnoreAnyFunction("github.com/golang/glog.(*fileSink).flushDaemon"))
}

// newServerOf is a server of tools on a world's host.
func newServerOf(t testing.TB, w *operationtest.World) *Server {
	t.Helper()
	open := func(context.Context) (*host.Host, error) { return w.Host, nil }
	s, err := New(Config{Client: client.Local{Open: open}, Requests: httpapi.Requests{}, Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// hearing is called with the progress of calls.
type hearing = func(context.Context, *mcp.ProgressNotificationClientRequest)

// transports are the ways in which a client reaches a server.
var transports = map[string]func(t *testing.T, s *Server, p Profile, caller core.Caller, hears ...hearing) *mcp.ClientSession{
	"stdio": overStdio,
	"http":  overHTTP,
}

func overStdio(t *testing.T, s *Server, p Profile, caller core.Caller, hears ...hearing) *mcp.ClientSession {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- s.ServeStdio(core.WithCaller(context.Background(), caller), p, in, out)
		_ = out.Close()
	}()
	session := connect(t, &mcp.IOTransport{Reader: fromServer, Writer: toServer}, hears...)
	t.Cleanup(func() {
		_ = session.Close()
		_ = toServer.Close()
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	return session
}

func overHTTP(t *testing.T, s *Server, p Profile, caller core.Caller, hears ...hearing) *mcp.ClientSession {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.ServeHTTP(w, r.WithContext(core.WithCaller(r.Context(), caller)))
	}))
	t.Cleanup(server.Close)
	session := connect(t, &mcp.StreamableClientTransport{
		Endpoint: server.URL + "/mcp?profile=" + string(p), HTTPClient: server.Client(), DisableStandaloneSSE: true,
	}, hears...)
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func connect(t *testing.T, transport mcp.Transport, hears ...hearing) *mcp.ClientSession {
	t.Helper()
	options := &mcp.ClientOptions{}
	for _, hear := range hears {
		options.ProgressNotificationHandler = hear
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, options).Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// called is how a tool answered.
type called struct {
	text    string
	isError bool
	// structured is the structured content as JSON; "" is none.
	structured string
}

func call(t *testing.T, session *mcp.ClientSession, tool string, args any) called {
	t.Helper()
	r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	if len(r.Content) != 1 {
		t.Fatalf("%s: %d contents", tool, len(r.Content))
	}
	c := called{text: r.Content[0].(*mcp.TextContent).Text, isError: r.IsError}
	if r.StructuredContent != nil {
		c.structured = string(jsontext.MustEncode(r.StructuredContent))
	}
	if n := length([]byte(c.text)); n > maxResult {
		t.Errorf("%s: %d characters", tool, n)
	}
	return c
}

// member is a member of a JSON object.
func member[T any](t *testing.T, object, name string) (v T) {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(object), &members); err != nil {
		t.Fatalf("%v: %.300s", err, object)
	}
	if members[name] == nil {
		return v
	}
	if err := json.Unmarshal(members[name], &v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

// code is the code of a refusal.
func (c called) code(t *testing.T) string {
	t.Helper()
	if !c.isError || c.structured != "" || !strings.HasPrefix(c.text, "{") {
		t.Fatalf("no refusal: %+v", c)
	}
	e := member[struct{ Code, Message string }](t, c.text, "error")
	if e.Message == "" {
		t.Errorf("a refusal without a message: %s", c.text)
	}
	return e.Code
}
