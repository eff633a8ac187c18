//go:build bench

package mcpserver

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
)

// TestFigures measures a call of memory_get: over HTTP next to the library with an empty
// tool, and over stdio next to the operation.
func TestFigures(t *testing.T) {
	w := operationtest.New(t)
	id := w.Memory()
	s := newServerOf(t, w)
	empty := newServer("1.2.3", "")
	empty.AddTool(&mcp.Tool{Name: "memory_get", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{}}, nil
		})
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_get","arguments":{"id":"` + id + `"}}}`
	over := func(h http.Handler) func() {
		server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			h.ServeHTTP(rw, r.WithContext(core.WithCaller(r.Context(), core.Operator("bench"))))
		}))
		t.Cleanup(server.Close)
		return func() {
			r, _ := http.NewRequest("POST", server.URL, strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			r.Header.Set("MCP-Protocol-Version", "2025-11-25")
			a, err := server.Client().Do(r)
			w.Must(err)
			_, err = io.Copy(io.Discard, a.Body)
			w.Must(err)
			w.Must(a.Body.Close())
			if a.StatusCode != http.StatusOK {
				t.Fatal(a.Status)
			}
		}
	}
	session := overStdio(t, s, Agent, core.Operator("bench"))
	args := map[string]any{"id": id}
	figures := coretest.Interleave(41, 50,
		over(streamable(func(*http.Request) *mcp.Server { return empty }, 1<<20)), over(s),
		func() {
			_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "memory_get", Arguments: args})
			w.Must(err)
		},
		func() {
			_, err := operation.Do(w.Ctx, operation.Call{Host: w.Host}, "memory_get", &operation.MemoryGet{ID: id})
			w.Must(err)
		},
	)
	ratio := coretest.Ratio("MCP calls a second over HTTP over the library's with an empty tool", figures[0], figures[1], 0.9)
	ratio.AtLeast = true
	ratio.Print(os.Stdout)
	coretest.Figure{Name: "… one caller", Value: 1e6 / figures[1].Micros(0.5), Unit: "calls/s", Target: 1000, AtLeast: true}.Print(os.Stdout)
	coretest.Figure{Name: "MCP call over stdio, p50 over the operation", Value: figures[2].Micros(0.5) - figures[3].Micros(0.5), Unit: "µs", Target: 1000}.Print(os.Stdout)
}
