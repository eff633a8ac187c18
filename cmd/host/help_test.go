//go:build cgo && lua54

package main

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// helpWorld is what the examples in the help find in their folder, besides the
// examples folder itself.
var helpWorld = map[string]string{
	"workflow.yaml": "nodes:\n  - {name: greet, action: lua.run, with: {code: 'return state.user.name .. state.retries'}}\n",
	"draft.json":    `{"name": " Ada", "email": "ada@example.org", "phone": "+15550100", "company": "Analytical"}`,
	"stricter.yaml": "{type: lua, code: 'return false'}\n",

	"memories.jsonl": `{"content": "Invoices are due after thirty days."}` + "\n",
	"queries.jsonl":  `{"query": "when are invoices due?"}` + "\n",
	"outcomes.jsonl": `{"memory_id": "deploy-notes", "session": "s1", "turn": 1, "tool": "deploy", "ok": true, "ref": "ci.log:7"}` + "\n",
	"graph.json":     `{"workflow": "deploy", "entry": ["build"], "exits": ["ship"], "edges": [["build", "ship"]], "memories": {"deploy-notes": ["build"]}}`,

	"known.json": `{"memory_id": "deploy-notes", "upstream_status": 0.9, "note": "the build is green"}`,

	"bin/plugins/reflectory/schema-eval/schema-eval": "a program\n",
	"bin/plugins/reflectory/schema-eval/plugin.yaml": "{name: reflectory/schema-eval, version: 0.1.0, kinds: [evaluator], entry: schema-eval}\n",
	"word-count/main.py":                             "print('hello')\n",
	"word-count/plugin.yaml": "{name: acme/word-count, version: 1.0.0, kinds: [evaluator], entry: [python3, main.py],\n" +
		" capabilities: {fs: [system], env: [WORDS]}}\n",
	"key.pem": "-----BEGIN PRIVATE KEY-----\n" +
		"MC4CAQAwBQYDK2VwBCIEIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f\n-----END PRIVATE KEY-----\n",
}

// exampleRun is the run id in the help's examples.
const exampleRun = "01939f2c"

// Each example line is run as it stands, but for the run's id.
func TestEveryExampleInTheHelpWorks(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(absolute(t, "../../examples"), filepath.Join(dir, "examples")); err != nil {
		t.Fatal(err)
	}
	for name, text := range helpWorld {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lock := installPlugins(t, filepath.Join(dir, "plugins"))
	t.Chdir(dir)
	env := map[string]string{"REFLECTORY_DATA_DIR": "data", "REFLECTORY_LOCK": lock, "HOME": dir}

	seedMemory(t, "data", "deploy-notes", 3)
	seedMemory(t, "data", "build-notes", 0)
	seedMemory(t, "data", "old-notes", 0)

	runLine(t, env, `reflectory memory recall --session s1 --turn 1 --namespace team/a "how build-notes is done"`, exitPassed)
	passed := runLine(t, env, "reflectory run examples/extract-contact/workflow.yaml --input examples/extract-contact/message.eml --json", exitPassed)
	_, rest, _ := strings.Cut(passed, `"run_id": "`)
	id, _, _ := strings.Cut(rest, `"`)
	env["RUN"] = id
	walkCommands((&App{}).root(), func(c *cobra.Command) {
		if c.Example == "" && c.Runnable() && !c.HasSubCommands() && !isCobras(c) {
			t.Errorf("%s has no example", c.CommandPath())
		}
		for line := range strings.Lines(c.Example) {
			runLine(t, env, strings.TrimSpace(line), -1)
		}
	})
}

// isCobras reports whether a command came with the library.
func isCobras(c *cobra.Command) bool {
	return c.Name() == "help" || c.HasParent() && c.Parent().Name() == "completion"
}

func walkCommands(c *cobra.Command, visit func(*cobra.Command)) {
	visit(c)
	for _, child := range c.Commands() {
		walkCommands(child, visit)
	}
}

// runLine runs a command line, with a redirection at most, and checks that it
// worked: 0 or 3, unless want says which, or was refused with the right answer.
func runLine(t *testing.T, env map[string]string, line string, want int) string {
	t.Helper()
	line = strings.ReplaceAll(line, exampleRun, env["RUN"])
	line, file, redirected := strings.Cut(line, " > ")
	words := splitWords(line)
	if len(words) < 2 || words[0] != "reflectory" {
		t.Fatalf("example %q is no command line of reflectory", line)
	}
	if words[1] == "plugin" { // what these add and remove isn't what the others run
		env = maps.Clone(env)
		env["REFLECTORY_LOCK"] = "reflectory.lock"
	}
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), words[1:], strings.NewReader(""), &stdout, &stderr, func(k string) string { return env[k] })
	worked := code == exitPassed || code == exitNotValid
	for command, answer := range refusals {
		worked = worked || strings.HasPrefix(line, command) && strings.Contains(stdout.String()+stderr.String(), answer)
	}
	if !worked || want >= 0 && code != want {
		t.Errorf("%s: exit %d\n%s%s", line, code, &stdout, &stderr)
	}
	if redirected {
		if err := os.WriteFile(file, stdout.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return stdout.String()
}

// refusals are the answers to examples that name what this world doesn't have: a
// run that can go on, a reflection that waits, an archived memory, knowledge, a
// plugin that was built.
var refusals = map[string]string{
	"reflectory plugin test word-limit": "build it, or mend entry in plugin.yaml",
	"reflectory resume":                 "only a run that is running, cancelled or ended by an error can go on",
	"reflectory memory approve":         "waits for an approval",
	"reflectory memory reject":          "waits for an approval",
	"reflectory memory restore":         "there is no memory",
	"reflectory knowledge get":          "there is no knowledge",
}

// splitWords splits a line at its spaces, but for those in quotes.
func splitWords(line string) []string {
	var words []string
	for line != "" {
		at := strings.IndexAny(line, "'\"")
		if at < 0 {
			return append(words, strings.Fields(line)...)
		}
		quoted, rest, _ := strings.Cut(line[at+1:], line[at:at+1])
		words = append(append(words, strings.Fields(line[:at])...), quoted)
		line = rest
	}
	return words
}
