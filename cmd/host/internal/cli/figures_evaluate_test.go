//go:build bench

package cli

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
)

// TestFiguresEvaluate measures an evaluation that needs no model, which answers at once, over HTTP next to the
// same over MCP: a schema and an output of a few fields, with the checks of every request, one caller and
// connections that are kept. Server and caller share a process; the plugin is a process of its own.
func TestFiguresEvaluate(t *testing.T) {
	w := newWorld(t)
	t.Chdir(w.dir)
	w.file("reflectory.yaml", "limits: {requests: 1000000, writes: 1000000}\n")
	s := w.serve()
	token, err := os.ReadFile(filepath.Clean(s.Token))
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Transport{MaxIdleConnsPerHost: 1}
	t.Cleanup(client.CloseIdleConnections)
	const arguments = `{"evaluator":"type: schema\nschema: {type: object, required: [name, email], properties: {name: {type: string, minLength: 1}, email: {type: string, format: email}}}\n","output":{"name":"Ada","email":"ada@example.org"}}`
	over := func(path, body string) func() {
		return func() {
			r, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+s.Listen+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			r.Header.Set("MCP-Protocol-Version", "2025-11-25")
			a, err := client.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(a.Body)
			_ = a.Body.Close() // only read
			if err != nil || a.StatusCode != http.StatusOK || !strings.Contains(string(text), `"score":1`) {
				t.Fatalf("%s: %d %s %v", path, a.StatusCode, text, err)
			}
		}
	}
	figures := coretest.Interleave(41, 25,
		over("/v1/evaluate", arguments),
		over("/mcp?profile=loop", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"evaluate","arguments":%s}}`, arguments)),
	)
	coretest.Ratio("evaluate at once over HTTP, over the same over MCP", figures[0], figures[1], 1.5).Print(os.Stdout)
}
