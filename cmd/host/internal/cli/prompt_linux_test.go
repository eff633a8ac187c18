package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/plugins/llm-eval/llmtest"
)

// terminal opens a pseudo terminal: what is written to person is what the
// program reads.
func terminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = person.Close() })
	if err := unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Close() })
	return person, program
}

func TestAPersonIsShownWhatAPluginAsksForAndAsked(t *testing.T) {
	for answer, code := range map[string]int{"y\n": exitPassed, "YES\n": exitPassed, "n\n": exitDenied, "\n": exitDenied} {
		t.Run(strings.TrimSpace(answer), func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{
				install.PackageFile: "{name: acme/a, version: 1.0.0, kinds: [evaluator], entry: a, capabilities: {env: [A], host: [cache]}}", "a": "x",
			} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			person, program := terminal(t)
			if _, err := person.WriteString(answer); err != nil {
				t.Fatal(err)
			}
			data := t.TempDir()
			var out, errs bytes.Buffer
			got := runProgram(t.Context(), []string{"plugin", "add", dir, "--data-dir", data}, program, &out, &errs, func(string) string { return "" })
			if got != code || !strings.Contains(errs.String(), "acme/a 1.0.0 asks for:\n  env:A\n  host:cache\ngrant that? [y/N] ") {
				t.Errorf("exit %d: %s%s", got, &out, &errs)
			}
			if _, err := os.Stat(filepath.Join(data, install.LockFile)); (err == nil) != (code == exitPassed) {
				t.Errorf("the lock: %v", err)
			}
		})
	}
}

// TestStream_ShowsAModelsTextOnATerminal runs a workflow with a terminal of 22 columns for
// what it says, and assumes nothing about when pieces come.
func TestStream_ShowsAModelsTextOnATerminal(t *testing.T) {
	coretest.Long(t)
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	const faint, over, up = "\x1b[2m", "\x1b[0m", "\r\x1b[K\x1b[A\r\x1b[K"
	for name, c := range map[string]struct {
		with, action string
		flags        []string
		streams      bool
		want         []string
	}{
		"a loop": {
			action: "reflection.loop", with: "{generator: {action: llm.call, prompt: p}, evaluator: {run: return true}}", streams: true,
			want: []string{"generating …" + over + "\n" + faint, faint + "ngs    [2J at the end" + over + up},
		},
		"a call":      {action: "llm.call", with: "{prompt: p}", streams: true, want: []string{faint + "ngs    [2J at the end" + over + "\r\x1b[K"}},
		"with --json": {action: "llm.call", with: "{prompt: p}", flags: []string{"--json"}},
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.New(t, llmtest.Text("a line\nand more things\r\n\x1b\x1b[2J at the end"))
			w := newWorld(t)
			w.allow(server)
			file := w.file("w.yaml", `settings: {llm: {provider: ollama, model: m, base_url: "`+server.URL+`"}}
nodes: [{name: n, action: `+c.action+`, with: `+c.with+"}]\n")
			person, program := terminal(t)
			if err := unix.IoctlSetWinsize(int(program.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 5, Col: 22}); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			code := runProgram(t.Context(), append([]string{"run", file}, c.flags...), program, &out, program, func(k string) string { return w.env[k] })
			if err := program.Close(); err != nil {
				t.Fatal(err)
			}
			shown, _ := io.ReadAll(person) // ends with an error, since nobody is there any more
			text := strings.ReplaceAll(string(shown), "\r\n", "\n")
			if got := server.Requests()[0].Stream; code != exitPassed || got != c.streams {
				t.Errorf("exit %d, streams %v: %s%q", code, got, &out, text)
			}
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("shows %q, want %q", text, want)
				}
			}
			if !c.streams && strings.Contains(text, "at the end") {
				t.Errorf("shows %q", text)
			}
		})
	}
	server := llmtest.New(t, llmtest.Text("t"))
	w := newWorld(t)
	w.allow(server)
	w.ok("run", w.file("w.yaml", `{settings: {llm: {provider: ollama, model: m, base_url: "`+server.URL+`"}}, nodes: [{name: n, action: llm.call, with: {prompt: p}}]}`))
	if server.Requests()[0].Stream {
		t.Error("without a terminal a reply is streamed")
	}
}

// TestBulkWorkShowsItsProgress runs commands with a terminal for both of their
// streams: the progress is shown until something replaces it.
func TestBulkWorkShowsItsProgress(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	w := newWorld(t)
	lines := w.file("memories.jsonl", `{"content": "one"}`+"\n"+`{"content": "two"}`+"\n")
	queries := w.file("queries.jsonl", `{"query": "one"}`+"\n"+`{"query": "two"}`+"\n")
	broken := w.file("broken.jsonl", `{"query": "one"}`+"\n"+`{"query": ""}`)
	const clear = "\r\x1b[K"
	for _, c := range []struct {
		line string
		want []string
	}{
		{"memory observe --file " + lines, []string{"2 memories\x1b[0m" + clear + "2 memories stored"}},
		{"memory recall --queries " + queries, []string{"1 query\x1b[0m" + clear + "{", "2 queries\x1b[0m" + clear + "{"}},
		{"memory recall --json --queries " + queries, []string{"1 query\x1b[0m" + clear}},
		{"memory reembed default", []string{"██████████ 100%  2 of 2 memories\x1b[0m" + clear + "0 of 2 memories got"}},
		{"store check --json", []string{"checking …\x1b[0m" + clear + "{"}},
		{"memory recall --queries " + broken, []string{"1 query\x1b[0m" + clear + "{", "}\n\x1b[1;31merror:"}},
	} {
		person, program := terminal(t)
		runProgram(t.Context(), strings.Fields(c.line), program, program, program, func(k string) string { return w.env[k] })
		if err := program.Close(); err != nil {
			t.Fatal(err)
		}
		shown, _ := io.ReadAll(person) // ends with an error, since nobody is there any more
		text := strings.ReplaceAll(string(shown), "\r\n", "\n")
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s shows %q, want %q", c.line, text, want)
			}
		}
		if i := strings.LastIndex(text, "\x1b[2m"); i >= 0 && !strings.Contains(text[i:], clear) {
			t.Errorf("%s leaves its progress: %q", c.line, text)
		}
	}
	if _, errs := w.ok("memory", "observe", "--file", lines); errs != "2 memories stored\n" {
		t.Errorf("without a terminal: %q", errs)
	}
}
