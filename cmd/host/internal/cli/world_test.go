package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/host"
)

// world is a folder with a data folder, in which the program runs within the test.
type world struct {
	t   *testing.T
	dir string
	env map[string]string
	// base has the settings of the host that a test changes.
	base host.Config
}

// newWorld makes a world with plugins. It works in the folder of the tests, with the
// examples next to it.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := emptyWorld(t)
	w.env["REFLECTORY_LOCK"] = installPlugins(t, filepath.Join(w.dir, "plugins"))
	return w
}

// newPlainWorld makes a world without plugins, and works in its folder.
func newPlainWorld(t *testing.T) *world {
	t.Helper()
	w := emptyWorld(t)
	t.Chdir(w.dir)
	return w
}

func emptyWorld(t *testing.T) *world {
	dir := t.TempDir()
	return &world{t: t, dir: dir, env: map[string]string{"REFLECTORY_DATA_DIR": filepath.Join(dir, "data"), "HOME": dir}}
}

// in is the world for a test within the test.
func (w *world) in(t *testing.T) *world { return &world{t: t, dir: w.dir, env: w.env, base: w.base} }

// unconfined turns off the sandbox, which would deny tally its file.
func (w *world) unconfined() *world {
	w.env["REFLECTORY_SANDBOX"] = "off"
	return w
}

// file writes a file into the world and returns its path.
func (w *world) file(name, text string) string {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// policy writes a policy file whole, as an editor does.
func (w *world) policy(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.dir, "data", "policies", filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Rename(w.file("new.tmp", text), path); err != nil {
		w.t.Fatal(err)
	}
}

// run runs the program and returns its exit code and what it printed.
func (w *world) run(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	w.t.Helper()
	return w.fed(ctx, "", args...)
}

// fed is run with something on standard input.
func (w *world) fed(ctx context.Context, stdin string, args ...string) (code int, stdout, stderr string) {
	w.t.Helper()
	var out, errs bytes.Buffer
	app := &App{Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs, Getenv: func(k string) string { return w.env[k] }, Base: w.base}
	code = app.Run(ctx, args)
	return code, out.String(), errs.String()
}

// ok runs a command line that must pass.
func (w *world) ok(args ...string) (stdout, stderr string) {
	w.t.Helper()
	code, stdout, stderr := w.run(w.t.Context(), args...)
	if code != exitPassed {
		w.t.Fatalf("%v: exit %d: %s%s", args, code, stdout, stderr)
	}
	return stdout, stderr
}

// line runs a command line without spaces in its words, and wants its exit code.
func (w *world) line(want int, stdin, line string) (stdout, stderr string) {
	w.t.Helper()
	code, stdout, stderr := w.fed(w.t.Context(), stdin, strings.Fields(line)...)
	if code != want {
		w.t.Fatalf("%s: exit %d, want %d\n%s%s", line, code, want, stdout, stderr)
	}
	return stdout, stderr
}

// parsed runs a command line with --json, which must exit as wanted, and decodes
// what it prints.
func (w *world) parsed(want int, line string) (result map[string]any) {
	w.t.Helper()
	out, _ := w.line(want, "", line+" --json")
	if err := json.Unmarshal([]byte(out), &result); err != nil {
		w.t.Fatalf("%s: %v: %s", line, err, out)
	}
	return result
}

// refusal runs a command line that is refused, and returns the error's code,
// message and details.
func (w *world) refusal(want int, line string) (code, message string, details map[string]any) {
	w.t.Helper()
	e, _ := w.parsed(want, line)["error"].(map[string]any)
	code, _ = e["code"].(string)
	message, _ = e["message"].(string)
	details, _ = e["details"].(map[string]any)
	return code, message, details
}

func wantIn(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q isn't in:\n%s", part, text)
		}
	}
}

// runProgram runs a command line in its own surroundings, and returns the exit code.
func runProgram(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, getenv func(string) string) int {
	app := &App{Stdin: stdin, Stdout: stdout, Stderr: stderr, Getenv: getenv}
	return app.Run(ctx, args)
}

// splitWords splits a line at its spaces, except spaces in quotes.
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
