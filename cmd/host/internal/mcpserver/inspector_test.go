//go:build surfaces

package mcpserver

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/cmd/host/internal/httpapi"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/jsontext"
)

// The inspector's exit codes.
const (
	inspectorDone        = 0
	inspectorFailed      = 1
	inspectorBadToken    = 3
	inspectorToolRefused = 5
)

// inspect runs the inspector's command line.
func inspect(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	return node(t, "@modelcontextprotocol/inspector/clients/launcher/build/index.js", append([]string{"--cli"}, args...)...)
}

// toolArgs are the inspector's words for a call of a tool.
func toolArgs(t *testing.T, name string, args map[string]any) []string {
	t.Helper()
	words := []string{"--method", "tools/call", "--tool-name", name}
	for _, key := range slices.Sorted(maps.Keys(args)) {
		value := string(jsontext.MustEncode(args[key]))
		if text, ok := args[key].(string); ok {
			value = text
		}
		words = append(words, "--tool-arg", key+"="+value)
	}
	return words
}

// TestInspector_OverHTTP and over stdio: the inspector lists the tools without a schema that
// some client can't read, and calls each of them well and badly.
func TestInspector_OverHTTP(t *testing.T) {
	w := operationtest.NewWithJudge(t, nil)
	calls := callsOf(t, w)
	_, err := w.Host.Access.EnsureOperatorToken(w.Ctx)
	w.Must(err)
	token, err := w.Host.Access.OperatorToken()
	w.Must(err)
	url := serveTCP(t, w, httpapi.Tokens{Authority: w.Host.Access}, newServerOf(t, w)) + "?profile=all"
	inspectCalls(t, calls, url, "--transport", "http", "--header", "Authorization: Bearer "+string(token))
	if out, code := inspect(t, url, "--transport", "http", "--header", "Authorization: Bearer rfl_none_none", "--method", "tools/list"); code != inspectorBadToken {
		t.Errorf("a bad token: exit %d: %s", code, out)
	}
}

func TestInspector_OverStdio(t *testing.T) {
	w := operationtest.NewWithJudge(t, nil)
	calls := callsOf(t, w)
	w.Must(w.Host.Close())
	line := []string{filepath.Join(toolsFolder(t), "reflectory"), "mcp", "--profile", "all"}
	for name, value := range w.Flags() {
		line = append(line, "--"+name, value)
	}
	inspectCalls(t, calls, line...)
	w.Open()
}

// asked is a call of a tool, and how the inspector exits.
type asked struct {
	tool string
	args map[string]any
	code int
}

// callsOf are calls of each tool, well and badly.
func callsOf(t *testing.T, w *operationtest.World) []asked {
	t.Helper()
	id, other, wrong, waiting := w.Memory(), w.Memory(), w.Memory(), w.Pending(operationtest.Here)
	turn := operationtest.Try[operation.Recalled](w, "memory_recall", &core.RecallRequest{
		Session: "chat", Query: "fact", RecallFilter: core.RecallFilter{Namespace: operationtest.Here},
	}).Turn
	run := operationtest.Try[operation.RunEnded](w, "run_start", &operation.RunStart{Workflow: operationtest.LoopYAML, Namespace: operationtest.Here}).ID
	const absent = "ffffffff-0000-7000-8000-00000000dead"
	return []asked{
		{"approve", map[string]any{"id": waiting}, inspectorDone},
		{"approve", map[string]any{"id": absent}, inspectorToolRefused},
		{"correct", map[string]any{"corrector": operationtest.JudgeYAML, "output": 1}, inspectorDone},
		{"correct", map[string]any{"corrector": "plugin: none/none", "output": 1}, inspectorToolRefused},
		{"discover", map[string]any{"namespace": operationtest.Here, "intent": "judge an output"}, inspectorDone},
		{"discover", map[string]any{"intent": " "}, inspectorToolRefused},
		{"dream", map[string]any{"action": "run", "mode": "always"}, inspectorDone},
		{"dream", map[string]any{"action": "undo", "id": "none"}, inspectorToolRefused},
		{"evaluate", map[string]any{"evaluator": operationtest.JudgeYAML, "output": 1}, inspectorDone},
		{"evaluate", map[string]any{"evaluator": "no: yaml: at all", "output": 1}, inspectorToolRefused},
		{"feedback", map[string]any{"session": "chat", "turn": turn, "outcome": "success"}, inspectorDone},
		{"feedback", map[string]any{"session": "chat", "turn": 99, "outcome": "success"}, inspectorToolRefused},
		{"forget", map[string]any{"id": wrong, "reason": "it is wrong"}, inspectorDone},
		{"forget", map[string]any{"id": absent, "reason": "it is wrong"}, inspectorToolRefused},
		{"gate", map[string]any{"action": "explain", "id": id}, inspectorDone},
		{"gate", map[string]any{"action": "explain", "id": absent}, inspectorToolRefused},
		{"inject", map[string]any{"action": "build", "namespace": operationtest.Here, "session": "chat", "query": "fact"}, inspectorDone},
		{"inject", map[string]any{"action": "show", "id": absent}, inspectorToolRefused},
		{"loop_status", map[string]any{"run_id": run}, inspectorDone},
		{"loop_status", map[string]any{"job_id": absent}, inspectorToolRefused},
		{"memory_explain", map[string]any{"id": id}, inspectorDone},
		{"memory_explain", map[string]any{"id": absent}, inspectorToolRefused},
		{"memory_get", map[string]any{"id": id}, inspectorDone},
		{"memory_get", map[string]any{"id": absent}, inspectorToolRefused},
		{"memory_link", map[string]any{"from": id, "relation": "related_to", "to": other}, inspectorDone},
		{"memory_link", map[string]any{"from": id, "relation": "No Word", "to": other}, inspectorToolRefused},
		{"memory_reflect", map[string]any{"source_ids": []string{id}, "title": "A lesson", "content": "It holds."}, inspectorDone},
		{"memory_reflect", map[string]any{"source_ids": []string{}, "title": "t", "content": "c"}, inspectorToolRefused},
		{"observe", map[string]any{"namespace": operationtest.Here, "content": "A new fact.", "importance": 0.5}, inspectorDone},
		{"observe", map[string]any{"namespace": "a//b", "content": "A new fact."}, inspectorToolRefused},
		{"reflect", map[string]any{"namespace": operationtest.Here}, inspectorDone},
		{"reflect", map[string]any{"max_insights": 99}, inspectorToolRefused},
		{"reflect_status", map[string]any{"job_id": absent}, inspectorDone}, // not_found is an answer
		{"reflect_status", map[string]any{"none": "x"}, inspectorToolRefused},
		{"cancel_reflection", map[string]any{"job_id": absent}, inspectorDone},
		{"cancel_reflection", map[string]any{"none": "x"}, inspectorToolRefused},
		{"retrieve", map[string]any{"namespace": operationtest.Here, "query": "fact"}, inspectorDone},
		{"retrieve", map[string]any{"namespace": "a//b", "query": "fact"}, inspectorToolRefused},
		{"run_loop", map[string]any{"workflow": operationtest.LoopYAML, "namespace": operationtest.Here}, inspectorDone},
		{"run_loop", map[string]any{"workflow": "no: workflow"}, inspectorToolRefused},
		{"stats", map[string]any{}, inspectorDone},
		{"stats", map[string]any{"namespace": "a//b"}, inspectorToolRefused},
	}
}

func inspectCalls(t *testing.T, calls []asked, target ...string) {
	t.Helper()
	out, code := inspect(t, append(slices.Clone(target), "--method", "tools/list", "--strict")...)
	if code != inspectorDone || strings.Contains(out, "Error: tool") {
		t.Fatalf("tools/list: exit %d: %s", code, out)
	}
	var listed struct{ Tools []struct{ Name string } }
	if err := json.NewDecoder(strings.NewReader(out[strings.Index(out, "{"):])).Decode(&listed); err != nil {
		t.Fatal(err)
	}
	for _, tool := range listed.Tools {
		for _, want := range []int{inspectorDone, inspectorToolRefused} {
			if !slices.ContainsFunc(calls, func(c asked) bool { return c.tool == tool.Name && c.code == want }) {
				t.Errorf("%s has no call that exits with %d", tool.Name, want)
			}
		}
	}
	for _, c := range calls {
		if out, code := inspect(t, append(slices.Clone(target), toolArgs(t, c.tool, c.args)...)...); code != c.code {
			t.Errorf("%s %s: exit %d, not %d: %s", c.tool, jsontext.MustEncode(c.args), code, c.code, out)
		}
	}
	if out, code := inspect(t, append(slices.Clone(target), toolArgs(t, "forget", nil)...)...); code != inspectorFailed && code != inspectorToolRefused {
		t.Errorf("an unknown tool: exit %d: %s", code, out)
	}
}
