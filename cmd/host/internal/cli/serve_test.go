package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/jsontext"
)

// serving is a server of a world that runs within the test.
type serving struct {
	served
	t    *testing.T
	stop func() int
}

// sharedBuilder collects what a server and its workers write.
type sharedBuilder struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *sharedBuilder) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *sharedBuilder) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// serve starts a server, and waits until it says where it listens.
func (w *world) serve(args ...string) *serving {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, out := io.Pipe()
	code := make(chan int, 1)
	errs := &sharedBuilder{}
	go func() {
		line := append([]string{"serve", "--json", "--listen", "127.0.0.1:0"}, args...)
		code <- runProgram(ctx, line, strings.NewReader(""), out, errs, func(k string) string { return w.env[k] })
		_ = out.Close()
	}()
	first, err := bufio.NewReader(r).ReadBytes('\n')
	s := &serving{t: w.t}
	stopped := 0
	s.stop = func() int {
		if cancel(); stopped == 0 {
			go func() { _, _ = io.Copy(io.Discard, r) }()
			stopped = 1 + <-code
		}
		return stopped - 1
	}
	if err != nil || json.Unmarshal(first, &s.served) != nil {
		w.t.Fatalf("it says %q, exit %d: %s", first, s.stop(), errs.String())
	}
	w.t.Cleanup(func() { s.stop() })
	return s
}

// get asks the server over TCP, with the operator's token.
func (s *serving) get(path string) (status int, body string) {
	s.t.Helper()
	token, err := os.ReadFile(s.Token)
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(s.t.Context(), "GET", "http://"+s.Listen+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	own := &http.Transport{DisableKeepAlives: true}
	a, err := own.RoundTrip(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return a.StatusCode, string(text)
}

// each is an id or a time, which each run has of its own.
var each = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}|"wall_ms": [0-9]+|[0-9.]+ ?[mµ]?s\b`)

// health begins the text about a plugin's instances, which only a server that called the
// plugin prints.
var health = regexp.MustCompile(`,\s*"health": \{`)

// withoutHealth takes that out of JSON.
func withoutHealth(text string) string {
	for at := health.FindStringIndex(text); at != nil; at = health.FindStringIndex(text) {
		end := at[1]
		for open := 1; open > 0; end++ {
			open += strings.Count(text[end:end+1], "{") - strings.Count(text[end:end+1], "}")
		}
		text = text[:at[0]] + text[end:]
	}
	return text
}

// TestServe_CommandsPrintTheSame with a server and without one: what they print, what they
// say of it, and their exit codes.
func TestServe_CommandsPrintTheSame(t *testing.T) {
	coretest.Long(t)
	w := newWorld(t)
	const evaluator = "--evaluator ../../../../examples/extract-contact/evaluator.yaml"
	contact := " ../../../../examples/extract-contact/contact.json"
	draft := w.file("draft.json", `{"name": 1}`)
	w.ok("memory", "observe", "--id", "note-one", "--namespace", "team/a", "--content", "The harbour closes at noon.", "--tag", "harbour")
	w.ok("memory", "observe", "--id", "note-two", "--namespace", "team/a", "--content", "The ferry is late. \u202e<b>")
	w.ok("memory", "link", "note-one", "supports", "note-two")
	w.ok("token", "new", "--operator") // else the server's first start makes one, which the journal says
	w.ok("governance", "set", "team/a", "max_reflection_depth=2")
	lines := []string{
		"memory list --namespace team/a", "memory list --namespace none/here", "memory list --limit 9999", "memory get note-one", "memory get note-absent",
		"memory get x", "memory explain note-two", "memory recall harbour --namespace team/a", "memory namespaces", "memory pending",
		"memory reflect --title T --content C note-one note-absent", "memory observe --namespace team/../a --content c --kind nothing",
		"knowledge list", "governance get team/a", "governance explain team/a/b", "governance set team/a nothing=1",
		"runs list", "runs show 00000000-absent", "audit show", "audit show namespace/team/a", "audit show nothing", "audit verify", "store check",
		"plugin list", "plugin inspect reflectory/schema-eval", "plugin inspect reflectory/none", "plugin logs reflectory/schema-eval",
		"gate explain note-one", "gate run note-one", "gate request note-absent --erase --reason why",
		"evaluate " + evaluator + contact, "evaluate " + evaluator + " " + draft,
		"run ../../../../examples/extract-contact/workflow.yaml --input ../../../../examples/extract-contact/message.eml",
		"run " + draft,
	}
	type printed struct {
		code        int
		out, errors string
	}
	print := func(line string) printed {
		code, out, errs := w.run(t.Context(), strings.Fields(line)...)
		out = withoutHealth(out)
		return printed{code, each.ReplaceAllString(out, "EACH"), each.ReplaceAllString(errs, "EACH")}
	}
	without := map[string]printed{}
	for _, line := range lines {
		for _, line := range []string{line, line + " --json"} {
			if strings.HasPrefix(line, "run ../") || strings.HasPrefix(line, "audit") {
				continue // each run adds to the list of streams; below
			}
			without[line] = print(line)
		}
	}
	ran := print(lines[len(lines)-2])
	audited := map[string]printed{}
	for _, line := range lines {
		if strings.HasPrefix(line, "audit") {
			audited[line] = print(line)
		}
	}
	w.serve()
	for _, line := range lines {
		if want, ok := audited[line]; ok {
			if got := print(line); got != want {
				t.Errorf("%s: with a server\n%+v\nwithout\n%+v", line, got, want)
			}
		}
	}
	for line, want := range without {
		if strings.HasPrefix(line, "runs list") {
			continue // there is a run by now
		}
		if got := print(line); got != want {
			t.Errorf("%s: with a server\n%+v\nwithout\n%+v", line, got, want)
		}
	}
	if got := print(lines[len(lines)-2]); got != ran {
		t.Errorf("run: with a server\n%+v\nwithout\n%+v", got, ran)
	}
}

// TestServe_GivesTheBytesOfCommands over TCP too, for what only looks, but in one line.
func TestServe_GivesTheBytesOfCommands(t *testing.T) {
	w := newPlainWorld(t)
	w.ok("memory", "observe", "--id", "note-one", "--namespace", "team/a", "--content", "The harbour closes. \u202e<b> \u009b")
	s := w.serve()
	for path, line := range map[string]string{
		"/v1/memories?namespace=team/a":             "memory list --namespace team/a",
		"/v1/memories/note-one":                     "memory get note-one",
		"/v1/memories/note-one/explain":             "memory explain note-one",
		"/v1/runs":                                  "runs list",
		"/v1/governance/team%2Fa/explain":           "governance explain team/a",
		"/v1/audit/entries?stream=namespace/team/a": "audit show namespace/team/a",
		"/v1/plugins":                               "plugin list",
	} {
		out, _ := w.line(exitPassed, "", line+" --json")
		want, err := jsontext.Line(json.RawMessage(out))
		if status, body := s.get(path); err != nil || status != 200 || body != string(want) {
			t.Errorf("%s: %d %s\n%s prints %s", path, status, body, line, out)
		}
	}
	if code := s.stop(); code != exitPassed {
		t.Errorf("stopped, it exits with %d", code)
	}
	if _, err := os.Lstat(filepath.Join(w.env["REFLECTORY_DATA_DIR"], client.SocketName)); !os.IsNotExist(err) {
		t.Errorf("the socket is left: %v", err)
	}
	w.ok("memory", "get", "note-one") // by itself again
}

// TestServe_RefusesToBeReached by others, before anything is opened or written.
func TestServe_RefusesToBeReached(t *testing.T) {
	w := newPlainWorld(t)
	for _, address := range []string{"0.0.0.0:0", ":7842", "[::]:0", "192.0.2.7:80", "nonsense"} {
		code, _, errs := w.run(t.Context(), "serve", "--listen", address)
		if code != exitUsage || !strings.Contains(errs, "--listen") || !strings.Contains(errs, "hint: ") {
			t.Errorf("%s: exit %d: %s", address, code, errs)
		}
	}
	if _, err := os.Lstat(w.env["REFLECTORY_DATA_DIR"]); !os.IsNotExist(err) {
		t.Errorf("the data folder is there: %v", err)
	}
}

// TestServe_OneServerHasTheStore, and a second one says who has it.
func TestServe_OneServerHasTheStore(t *testing.T) {
	w := newPlainWorld(t)
	s := w.serve()
	code, _, errs := w.run(t.Context(), "serve", "--listen", "127.0.0.1:0", "--lock-wait", "10ms")
	if code != exitFailure || !strings.Contains(errs, "pid") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if code, _, errs := w.run(t.Context(), "serve", "--listen", s.Listen, "--data-dir", t.TempDir()); code == exitPassed || !strings.Contains(errs, s.Listen) {
		t.Errorf("a port that is taken: exit %d: %s", code, errs)
	}
	w.ok("memory", "observe", "--namespace", "a", "--content", "b") // the first one serves still
	if status, body := s.get("/readyz"); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	_, errs = w.ok("memory", "list", "--namespace", "a", "--sandbox", "off", "--policy-dir", t.TempDir())
	wantIn(t, errs, "--policy-dir, --sandbox")
}
