package mcpserver

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
)

// TestBudgets counts what calls of tools over HTTP cost, most of it in the library.
func TestBudgets(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	w := operationtest.NewOn(t, nil)
	w.Must(w.Host.Ready(w.Ctx))
	call, n := toolCalls(t, newServerOf(t, w)), 0
	budget := func(tool string, allocations float64, commits uint64, arguments func() string) {
		coretest.Budget{Path: "MCP " + tool, Allocations: allocations, Commits: commits, Store: w.Host.Databases}.Check(t, func() {
			call(tool, arguments())
		})
	}
	budget("observe", 757, 1, func() string {
		n++
		return fmt.Sprintf(`{"namespace":%q,"title":"memory %d","content":"what was observed the time %d"}`, operationtest.Here, n, n)
	})
	budget("retrieve", 863, 0, func() string {
		return fmt.Sprintf(`{"namespace":%q,"query":"what was observed the time 7"}`, operationtest.Here)
	})
}

// toolCalls calls tools as the operator does over HTTP.
func toolCalls(t *testing.T, s *Server) (call func(tool, arguments string)) {
	return func(tool, arguments string) {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments)
		r := httptest.NewRequestWithContext(core.WithCaller(t.Context(), core.Operator("agent")), "POST", "/mcp", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("MCP-Protocol-Version", "2025-11-25")
		a := httptest.NewRecorder()
		if s.ServeHTTP(a, r); a.Code != http.StatusOK || !strings.Contains(a.Body.String(), `"structuredContent":{`) {
			t.Fatalf("%d %s", a.Code, a.Body)
		}
	}
}
