//go:build clients && linux

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/cmd/host/internal/gateway/gatewaytest"
	"github.com/reflectory/reflectory/core/coretest"
)

// frameworkRow is what works with a framework: of each cell true, or what went wrong.
type frameworkRow struct {
	Name          string
	Uses, Changed []string
	Cells         map[string]any
}

// frameworkCells are the columns of the table.
var frameworkCells = []string{"plain reply", "stream", "tools", "structured output", "recall", "inferred feedback", "errors"}

// TestGatewayClients drives the frameworks of .ci/gateway through a gateway, in front of an upstream that refuses what the
// real ones refuse. Its results are the table in docs/agents.md, which -update writes. make test-gateway runs it.
func TestGatewayClients(t *testing.T) {
	tools := os.Getenv("REFLECTORY_GATEWAY_TOOLS")
	if tools == "" {
		t.Fatal("run it with make test-gateway")
	}
	up := gatewaytest.New(gatewaytest.Reply{})
	t.Cleanup(up.Close)
	w := newKillWorld(t)
	at := strings.TrimSuffix(strings.TrimPrefix(up.URL, "http://"), "/v1")
	for name, text := range map[string]string{
		"reflectory.yaml": fmt.Sprintf("settings: {llm: {provider: ollama, model: base, base_url: %q, endpoints: [%q]}}\n", up.URL, at),
		"gateway.yaml": "models:\n  coder: {}\n  keeper: {recall: {max_tokens: 300}}\n" +
			"  judged: {recall: {max_tokens: 300}, check: {evaluator: {type: schema, schema: {type: string, pattern: ship}}}}\n",
	} {
		if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, served := w.serve()
	w.took("memory", "observe", "--namespace", "team", "--content", "The billing service is deployed with make ship-billing.")
	var made struct{ Token string }
	w.json(&made, "token", "new", "agent", "--namespace", "team", "--scope", "model")
	control := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var answer any
		switch r.URL.Path {
		case "/set":
			var script []gatewaytest.Reply
			if err := json.NewDecoder(r.Body).Decode(&script); err != nil {
				t.Error(err)
			}
			up.Set(script...)
		case "/requests":
			answer = up.Requests()
		case "/feedbacks":
			var list struct {
				Items []struct{ Feedbacks int }
			}
			w.json(&list, "session", "list", "--limit", "200")
			sum := 0
			for _, s := range list.Items {
				sum += s.Feedbacks
			}
			answer = sum
		}
		_ = json.NewEncoder(rw).Encode(answer)
	}))
	t.Cleanup(control.Close)

	cmd := exec.CommandContext(t.Context(), "node", "test.mjs", "http://"+served.Listen, made.Token, control.URL)
	cmd.Args = append(cmd.Args, strings.Fields(os.Getenv("REFLECTORY_GATEWAY_ONLY"))...)
	cmd.Dir, cmd.Stderr = tools, t.Output()
	out, err := cmd.Output()
	var rows []frameworkRow
	if err != nil || json.Unmarshal(out[bytes.LastIndex(out, []byte("\n[{"))+1:], &rows) != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, row := range rows {
		for _, cell := range frameworkCells {
			if row.Cells[cell] != true {
				t.Errorf("%s, %s: %v", row.Name, cell, row.Cells[cell])
			}
		}
	}
	compareTable(t, tools, rows)
}

// compareTable compares the table with the one in docs/agents.md.
func compareTable(t *testing.T, tools string, rows []frameworkRow) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "| framework | options that change | %s |\n|%s\n", strings.Join(frameworkCells, " | "), strings.Repeat(" --- |", len(frameworkCells)+2))
	for _, row := range rows {
		var uses []string
		for _, name := range row.Uses {
			var of struct{ Version string }
			data, err := os.ReadFile(filepath.Join(tools, "node_modules", filepath.FromSlash(name), "package.json"))
			if err != nil || json.Unmarshal(data, &of) != nil {
				t.Fatal(err)
			}
			uses = append(uses, of.Version)
		}
		fmt.Fprintf(&b, "| %s (%s) | `%s` |", row.Name, strings.Join(uses, ", "), strings.Join(row.Changed, "`, `"))
		for _, cell := range frameworkCells {
			fmt.Fprintf(&b, " %s |", map[bool]string{true: "yes", false: "no"}[row.Cells[cell] == true])
		}
		b.WriteString("\n")
	}
	const file, begin, end = "../../../../docs/agents.md", "<!-- gateway clients: made by make test-gateway -->\n", "<!-- end -->"
	doc, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(doc), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatal("docs/agents.md has no place for the table")
	}
	coretest.Golden(t, filepath.Join("..", file), before+begin+b.String()+end+after)
}
