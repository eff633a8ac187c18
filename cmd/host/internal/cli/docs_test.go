//go:build cgo && lua54 && linux

package cli

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/core/coretest"
)

// The commands of the handbook and of the README's server work when they are pasted: each
// page's blocks of sh are run one after the other, by one shell, in the project that init
// makes. A line that ends with "# exit 3" exits with that code. What a block of text after
// commands shows is in what they print; … matches anything.

func TestDocs_CommandsOfOperationsWork(t *testing.T) {
	coretest.Long(t)
	newPageWorld(t).run("../../../../docs/operations.md", "")
}

func TestDocs_CommandsOfTheREADMEsServerWork(t *testing.T) {
	coretest.Long(t)
	newPageWorld(t).run("../../../../README.md", "## A server")
}

// Two servers are used there: one of them is the model.
func TestDocs_CommandsOfYourAgentWork(t *testing.T) {
	coretest.Long(t)
	w := newPageWorld(t)
	w.dir = t.TempDir()
	w.run("../../../../docs/your-agent.md", "")
}

// The commands of the tutorials need the folders examples and bin, as the root of the source
// has them. The tutorial about plugins builds a program, so TestNewPluginsInGoPassTheKit
// tests it instead.
func TestDocs_CommandsOfTutorialsWork(t *testing.T) {
	coretest.Long(t)
	for _, section := range []string{"## Memory in five minutes", "## Your first hour with policies"} {
		t.Run(section, func(t *testing.T) {
			w := newPageWorld(t)
			w.bash("mkdir bin && rm -rf examples && ln -s " + absolute(t, "../../../../examples") + " examples")
			w.run("../../../../docs/tutorials.md", section)
		})
	}
}

// The page about workflows begins with one that works.
func TestDocs_WorkflowOfThePageRuns(t *testing.T) {
	text := readPage(t, "../../../../docs/workflow.md")
	_, rest, _ := strings.Cut(text, "```yaml\n")
	workflow, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("the page has no workflow")
	}
	w := newWorld(t)
	t.Chdir(w.dir)
	w.file("greeting.yaml", workflow)
	if out, _ := w.ok("run", "greeting.yaml", "--json"); !strings.Contains(out, `"Hello Ada, welcome!"`) {
		t.Errorf("it gives %s", out)
	}
}

func readPage(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// block is a block of a page: commands, or what they print.
var block = regexp.MustCompile("(?ms)^```(sh|text)\n(.*?)^```$")

// exits is the end of a line whose exit code is not 0.
var exits = regexp.MustCompile(`(?m)^(.*?) +#.*\bexit (\d)\b.*$`)

// run runs the commands of a page, or of a section of it.
func (w *pageWorld) run(name, section string) {
	t := w.t
	t.Helper()
	text := readPage(t, name)
	if section != "" {
		_, rest, found := strings.Cut(text, section+"\n")
		if !found {
			t.Fatalf("%s has no section %s", name, section)
		}
		text, _, _ = strings.Cut(rest, "\n## ")
	}
	script := "set -eu\nexec 2>&1\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\nPS4=\n"
	blocks := block.FindAllStringSubmatch(text, -1)
	commands := 0
	for i, b := range blocks {
		if b[1] == "sh" {
			commands++
			body := exits.ReplaceAllString(b[2], "code=0; { $1; } || code=$$?; [ $$code = $2 ] || { echo \"exit $$code\"; exit 1; }")
			script += fmt.Sprintf("echo @@%d\n%s", i, w.adapted(body))
		}
	}
	if commands == 0 {
		t.Fatalf("%s has no commands", name)
	}
	out := w.bash(script + "echo @@end\n")
	if !strings.Contains(out, "@@end\n") {
		t.Fatalf("the commands stop before their end:\n%s", out)
	}
	for i, b := range blocks {
		if b[1] != "text" || i == 0 || blocks[i-1][1] != "sh" {
			continue
		}
		_, said, _ := strings.Cut(out, fmt.Sprintf("@@%d\n", i-1))
		said, _, _ = strings.Cut(said, "@@")
		for _, line := range strings.Split(strings.TrimSpace(b[2]), "\n") {
			if !matches(said, strings.Split(line, "…")) {
				t.Errorf("%q isn't in what the commands before it print:\n%s", line, said)
			}
		}
	}
}

// matches reports whether the parts are in a text, in their order.
func matches(text string, parts []string) bool {
	for _, part := range parts {
		_, rest, found := strings.Cut(text, strings.TrimSpace(part))
		if !found {
			return false
		}
		text = rest
	}
	return true
}

// pageWorld is where a page's commands are run.
type pageWorld struct {
	t   *testing.T
	dir string
	env []string
	// ports are where the page's servers listen, as 7842 and 7843.
	ports [2]string
}

func newPageWorld(t *testing.T) *pageWorld {
	t.Helper()
	for _, program := range []string{"bash", "curl", "openssl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("there is no %s to run the page's commands with", program)
		}
	}
	dir := t.TempDir()
	lock := installPlugins(t, filepath.Join(dir, "plugins"))
	w := &pageWorld{t: t, dir: dir, env: []string{"PATH=" + programs + ":" + os.Getenv("PATH"), "HOME=" + dir, "REFLECTORY_LOCK=" + lock}}
	for i := range w.ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }() // for the page's servers, which must know their ports before
		_, w.ports[i], _ = net.SplitHostPort(l.Addr().String())
	}
	w.bash("reflectory init --examples hello")
	w.dir = filepath.Join(dir, "hello")
	return w
}

// adapted are commands with the test's own ports, and the built program's name.
func (w *pageWorld) adapted(commands string) string {
	commands = strings.ReplaceAll(strings.ReplaceAll(commands, "reflectory serve", "reflectory serve --listen 127.0.0.1:7842"), "--listen 127.0.0.1:7842 --listen", "--listen")
	return strings.NewReplacer("7842", w.ports[0], "7843", w.ports[1], "bin/reflectory", "reflectory", "make build\n", "").Replace(commands)
}

// bash runs a script and returns what it prints.
func (w *pageWorld) bash(script string) string {
	w.t.Helper()
	c := exec.CommandContext(w.t.Context(), "bash", "-c", script)
	c.Dir, c.Env = w.dir, w.env
	out, err := c.CombinedOutput()
	if err != nil {
		w.t.Fatalf("%v:\n%s", err, out)
	}
	return string(out)
}

// TestDocs_SayWhatEveryCommandPrints: reflectory schema describes each command.
func TestDocs_SayWhatEveryCommandPrints(t *testing.T) {
	w := newWorld(t)
	walkCommands((&App{}).root(), func(c *cobra.Command) {
		path := strings.TrimPrefix(c.CommandPath(), "reflectory ")
		if !c.Runnable() || c.HasSubCommands() || isCobras(c) {
			return
		}
		if text, _ := w.ok(append([]string{"schema"}, strings.Fields(path)...)...); !strings.Contains(text, "    It prints ") {
			t.Errorf("schema doesn't say what %s prints: %s", path, text)
		}
	})
	if text, _ := w.ok("schema", "memory", "recall"); !strings.Contains(text, "\nRecalled\n") || !strings.Contains(text, "    memories (list of RecalledMemory): ") {
		t.Errorf("the object isn't described: %s", text)
	}
	if text, _ := w.ok("schema", "errorinfo", "--json"); !strings.Contains(text, `"name": "code"`) {
		t.Errorf("an object as JSON: %s", text)
	}
	if code, _, errs := w.run(t.Context(), "schema", "nothing"); code != exitFailure || !strings.Contains(errs, `named "nothing"`) {
		t.Errorf("exit %d: %s", code, errs)
	}
}
