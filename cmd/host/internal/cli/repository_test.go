//go:build cgo && lua54

package cli

import (
	"go/ast"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
)

// recipe are the commands of a target of the Makefile, with some variables replaced.
func recipe(t *testing.T, target string, variables map[string]string) []string {
	t.Helper()
	makefile, err := os.ReadFile("../../../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(makefile), "\n"+target+":")
	if !found {
		t.Fatalf("the Makefile has no target %s", target)
	}
	var commands []string
	for line := range strings.Lines(rest) {
		command, indented := strings.CutPrefix(line, "\t")
		if len(commands) > 0 && !indented {
			break
		}
		for name, value := range variables {
			command = strings.ReplaceAll(command, "$("+name+")", value)
		}
		if indented {
			commands = append(commands, strings.TrimPrefix(strings.TrimSpace(command), "@"))
		}
	}
	return commands
}

// What make demo prints to look at its run finds it.
func TestDemo_PrintsCommandsThatFindItsRun(t *testing.T) {
	w := newWorld(t)
	delete(w.env, "REFLECTORY_DATA_DIR")
	commands := recipe(t, "demo", map[string]string{"DEMO": "examples/extract-contact", "DEMO_DATA": filepath.Join(w.dir, "demo")})
	t.Chdir("../../../..")
	id := ""
	for _, command := range commands {
		_, line, found := strings.Cut(strings.TrimSuffix(command, `"`), "bin/reflectory ")
		switch {
		case !found, strings.HasPrefix(line, "init "), strings.Contains(command, "echo") && strings.HasPrefix(line, "run "):
		case strings.HasPrefix(line, "run "):
			id, _ = w.parsed(exitPassed, line)["run_id"].(string)
		default:
			if out, _ := w.line(exitPassed, "", line); id == "" || !strings.Contains(out, id[:8]) {
				t.Errorf("%s doesn't show run %q: %s", line, id, out)
			}
			return
		}
	}
	t.Errorf("no command looks at the run: %q", commands)
}

// make install puts the program where a shell finds it, with its plugins.
func TestInstall_PutsTheProgramInAFolderOfPath(t *testing.T) {
	coretest.Long(t)
	dir := t.TempDir()
	prefix := filepath.Join(dir, "prefix")
	root, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "bin", "plugins"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := linkFile(filepath.Join(programs, "reflectory"), filepath.Join(dir, "bin", "reflectory")); err != nil {
		t.Fatal(err)
	}
	script := strings.Join(recipe(t, "install", map[string]string{"PREFIX": prefix, "CURDIR": root}), " &&\n")
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "reflectory ") {
		t.Fatalf("%v: %s\n%s", err, out, script)
	}
	if info, err := os.Stat(filepath.Join(prefix, "lib", "reflectory", "plugins")); err != nil || !info.IsDir() {
		t.Errorf("the plugins: %v", err)
	}
	if readme, err := os.ReadFile("../../../../README.md"); err != nil || !strings.Contains(string(readme), "make install") {
		t.Errorf("the README doesn't say how to install it: %v", err)
	}
}

func TestRepository_HasALicenseAndSaysHowToReportADefect(t *testing.T) {
	for name, want := range map[string]string{"LICENSE": "Apache License", "SECURITY.md": "report"} {
		text, err := os.ReadFile("../../../../" + name)
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// byNumber refers to a rule by its number in a page that nobody else has.
var byNumber = regexp.MustCompile(`\(spec [0-9]`)

// What a user or a reader of the code meets says a rule, and no number for it.
func TestRepository_SaysRulesInWords(t *testing.T) {
	kinds := []string{".go", ".md", ".yaml", ".json", ".txt", ".txtar", ".tmpl", ".proto", ".sh", ".py"}
	files := 0
	err := filepath.WalkDir("../../../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if d != nil && slices.Contains([]string{".git", ".tools", "bin"}, d.Name()) {
				return fs.SkipDir
			}
			return err
		}
		if !slices.Contains(kinds, filepath.Ext(path)) {
			return nil
		}
		files++
		text, err := os.ReadFile(path)
		if place := byNumber.FindIndex(text); place != nil {
			t.Errorf("%s, byte %d: %s", path, place[0], text[place[0]:place[1]])
		}
		return err
	})
	if err != nil || files < 500 {
		t.Errorf("looked at %d files: %v", files, err)
	}
}

// mayLookAtTheClock are tests that look at the real clock and can't fail by it: what
// they measure chooses when to kill, is a least time or a figure, or grows with what they wait for.
var mayLookAtTheClock = []string{
	"cmd/host/internal/cli/kill_test.go", "cmd/host/internal/cli/jobs_kill_test.go", "cmd/host/internal/cli/memory_kill_test.go",
	"cmd/host/internal/cli/serve_key_kill_linux_test.go", "cmd/host/internal/cli/hosts_load_test.go", "cmd/host/internal/cli/hosts_test.go", "cmd/host/internal/identity/login_test.go", "core/plugin/process/instance_test.go",
}

// How fast something is belongs to the figures: a test that compares times fails where
// the machine is busy. In the bubbles of testing/synctest no real time passes.
func TestRepository_NoTestComparesTimes(t *testing.T) {
	figures := regexp.MustCompile(`(figures|bench)[a-z_]*_test\.go$`)
	err := filepath.WalkDir("../../../..", func(path string, d fs.DirEntry, err error) error {
		name := filepath.ToSlash(strings.TrimPrefix(path, "../../../../"))
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == "testdata/peers" || name == ".tools"): // comparisons
			return fs.SkipDir
		case !strings.HasSuffix(name, "_test.go"), figures.MatchString(name), slices.Contains(mayLookAtTheClock, name):
			return nil
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), "time."+"Since(") && !strings.Contains(string(text), `"testing/synctest"`) {
			t.Errorf("%s compares times", name)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// A layer below the command line says what to do as data: over HTTP or MCP nobody can
// type a command.
func TestRepository_NoLayerBelowTheCommandLineSpellsACommand(t *testing.T) {
	var nouns []string
	for _, c := range (&App{}).root().Commands() {
		nouns = append(nouns, c.Name())
	}
	command := regexp.MustCompile(`\breflectory (` + strings.Join(nouns, "|") + `)\b`)
	below := []string{"sdk", "core", "policy", "plugins", "cmd/host/internal/client", "cmd/host/internal/term"}
	files := sources(t, below, func(file *ast.File, at func(ast.Node) string) {
		ast.Inspect(file, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && command.MatchString(l.Value) {
				t.Errorf("%s spells a command: %s", at(l), l.Value)
			}
			return true
		})
	})
	if files < 300 || !command.MatchString("see reflectory runs list") {
		t.Errorf("looked at %d files for %s", files, command)
	}
}
