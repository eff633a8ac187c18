//go:build cgo && lua54

package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/store/pebble"
	"github.com/reflectory/reflectory/plugins/llm-eval/llmtest"
)

// watched is a command under way, and what its terminal has shown so far.
type watched struct {
	t      *testing.T
	person *os.File
	shown  strings.Builder
	code   chan int
}

// watch starts a command with a terminal for what it says.
func (w *world) watch(stdin io.Reader, stdout io.Writer, line string) *watched {
	w.t.Helper()
	person, program := terminal(w.t)
	c := &watched{t: w.t, person: person, code: make(chan int, 1)}
	go func() {
		c.code <- runProgram(w.t.Context(), splitWords(line), stdin, stdout, program, func(k string) string { return w.env[k] })
		_ = program.Close() // so that the reader sees the end
	}()
	return c
}

// until waits for the terminal to show texts, each after the one before.
func (c *watched) until(texts ...string) {
	c.t.Helper()
	for _, text := range texts {
		c.read(text, func(shown string) int {
			if at := strings.Index(shown, text); at >= 0 {
				return at + len(text)
			}
			return -1
		})
	}
}

// counts waits for two different times between two texts. A busy machine may draw neither the
// first second nor the second one.
func (c *watched) counts(before, after string) {
	c.t.Helper()
	pattern := regexp.MustCompile(regexp.QuoteMeta(before) + `  ((?:\d+m)?\d+s)` + regexp.QuoteMeta(after))
	c.read(pattern.String(), func(shown string) int {
		all := pattern.FindAllStringSubmatchIndex(shown, -1)
		for _, m := range all {
			if shown[m[2]:m[3]] != shown[all[0][2]:all[0][3]] {
				return m[1]
			}
		}
		return -1
	})
}

// read reads what the terminal shows until end finds something in it, and forgets what is
// before that's end.
func (c *watched) read(what string, end func(shown string) int) {
	c.t.Helper()
	at := end(c.shown.String())
	for reads := 0; at < 0; reads++ {
		if reads > 10_000 { // otherwise it would be drawn for ever; a busy machine draws often before it is done
			c.t.Fatalf("it never shows %q: %q", what, c.shown.String())
		}
		chunk := make([]byte, 4096)
		n, err := c.person.Read(chunk)
		c.shown.Write(chunk[:n])
		if at = end(c.shown.String()); at < 0 && err != nil {
			c.t.Fatalf("it ended without %q: %q", what, c.shown.String())
		}
	}
	rest := c.shown.String()[at:]
	c.shown.Reset()
	c.shown.WriteString(rest)
}

// end waits for the command, which must pass and leave nothing of its progress.
func (c *watched) end() {
	c.t.Helper()
	rest, _ := io.ReadAll(c.person) // ends with an error, since nobody is there any more
	text := c.shown.String() + string(rest)
	if code := <-c.code; code != exitPassed {
		c.t.Errorf("exit %d: %q", code, text)
	}
	if at := strings.LastIndex(text, "\x1b[2m"); at >= 0 && !strings.Contains(text[at:], "\r\x1b[K") {
		c.t.Errorf("it leaves its progress: %q", text)
	}
}

// manyCount is how many memories there are: enough for 1,000 records, at which progress is
// first counted.
const manyCount = 350

// manyMemories is a world with a store of some thousand records, and an export of it.
func manyMemories(t *testing.T) (w *world, export []byte) {
	t.Helper()
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	t.Setenv("COLUMNS", "120")
	w = newWorld(t)
	t.Chdir(w.dir)
	var lines strings.Builder
	for i := range manyCount {
		fmt.Fprintf(&lines, `{"content": "memory %d"}`+"\n", i)
	}
	w.ok("memory", "observe", "--file", w.file("m.jsonl", lines.String()))
	w.ok("store", "export", "all.jsonl")
	export, err := os.ReadFile("all.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return w, export
}

// What waits for its input or output counts the seconds, and says how far it is.
func TestProgress_ImportAndExportMove(t *testing.T) {
	coretest.Long(t)
	w, export := manyMemories(t)

	stdin, feed := io.Pipe()
	importing := w.watch(stdin, io.Discard, "store import - --data-dir other")
	half := bytes.IndexByte(export[len(export)*3/4:], '\n') + len(export)*3/4 + 1
	if _, err := feed.Write(export[:half]); err != nil {
		t.Fatal(err)
	}
	importing.counts("importing …", "  1,000 records, ")
	if _, err := feed.Write(export[half:]); err != nil {
		t.Fatal(err)
	}
	_ = feed.Close()
	importing.until("rebuilding derived data …", "checking …", "imported ")
	importing.end()

	w.watchFile("store import all.jsonl --data-dir another", "iB of ", "imported ")

	out, stdout := io.Pipe()
	exporting := w.watch(strings.NewReader(""), stdout, "store export -")
	exporting.counts("exporting …", "  ")
	exporting.until("%  0 of ")
	copied := make(chan []byte)
	go func() {
		data, _ := io.ReadAll(out)
		copied <- data
	}()
	code := <-exporting.code
	_ = stdout.Close()
	if data := <-copied; code != exitPassed || !bytes.Equal(data, export) {
		t.Errorf("exit %d, %d bytes of %d", code, len(data), len(export))
	}
}

// watchFile watches a command that is quick until it has shown some texts.
func (w *world) watchFile(line string, texts ...string) {
	w.t.Helper()
	c := w.watch(strings.NewReader(""), io.Discard, line)
	c.until(texts...)
	c.end()
}

func TestChecks_CountWhatTheyRead(t *testing.T) {
	w, _ := manyMemories(t)
	w.watchFile("store check", "checking …", ",000 records", "everything agrees")
	w.watchFile("store check --repair", "rebuilding derived data …", ",000 records", "checking …", "everything agrees")
	w.watchFile("audit verify", "reading the journal …")
	w.watchFile("memory sweep default", "evaluating the memories …", "350 memories", "evaluated")
	w.watchFile("memory reembed default", "making vectors …", "% ", " of 350 memories", "0 of 350 memories got")
	if err := os.Mkdir("policies", 0o700); err != nil {
		t.Fatal(err)
	}
	w.watchFile("policy replay ./policies", "deciding again …", "decision")
}

func TestProgress_AModuleIsCompiledInSight(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	scaffolds := absolute(t, "../scaffold/testdata")
	w := newPlainWorld(t)
	w.ok("plugin", "new", "acme/words", "--lang", "c")
	module, err := os.ReadFile(filepath.Join(scaffolds, "c.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	w.file(filepath.Join("words", "package", "plugin.wasm"), string(module))
	w.watchFile("plugin add words/package", "compiling acme/words, which is done once …", "asking acme/words what it is …")
}

// A store that another program has open is waited for in sight.
func TestProgress_WhoHasTheStoreIsNamed(t *testing.T) {
	coretest.Long(t)
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	t.Setenv("COLUMNS", "120")
	w := newPlainWorld(t)
	w.ok("memory", "observe", "--content", "one")
	db, err := pebble.Open(context.Background(), pebble.Options{Dir: filepath.Join(w.dir, "data", "store"), Program: "another"})
	if err != nil {
		t.Fatal(err)
	}
	waiting := w.watch(strings.NewReader(""), io.Discard, "memory list --lock-wait 10m")
	pid := fmt.Sprintf("waiting for the store, which another (pid %d) has open", os.Getpid())
	waiting.counts(pid, "")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	waiting.end()
}

func TestProgress_ASlowModelIsWaitedForInSight(t *testing.T) {
	coretest.Long(t)
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	for action, c := range map[string]struct{ with, shows string }{
		"reflection.loop": {"{generator: {action: llm.call, prompt: p}, evaluator: {run: return true}}", "1/3  generating …"},
		"llm.call":        {"{prompt: p}", "llm.call …"},
	} {
		hold := make(chan struct{})
		server := llmtest.New(t, llmtest.Text("the answer").After(hold))
		w := newWorld(t)
		w.allow(server)
		file := w.file("w.yaml", `settings: {llm: {provider: ollama, model: m, base_url: "`+server.URL+`"}}
nodes: [{name: n, action: `+action+`, with: `+c.with+"}]\n")
		run := w.watch(strings.NewReader(""), io.Discard, "run "+file)
		run.counts(c.shows, "")
		close(hold)
		run.until("the answer", "passed")
		run.end()
	}
}
