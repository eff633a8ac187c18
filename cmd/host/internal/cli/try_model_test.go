//go:build cgo && lua54

package cli

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/plugins/llm-eval/llmtest"
)

// reader is a scripted model that copies the order's number as it is written, until it reads that
// this was refused. taught is whether it also does what it reads.
func reader(taught bool) func(*llmtest.Request) llmtest.Reply {
	return func(r *llmtest.Request) llmtest.Reply {
		prompt := r.Prompt()
		order, total := "ORD-4711", "1250.0"
		if strings.Contains(prompt, "note: Order ORD-4712") {
			order, total = "ORD-4712", "980.5"
		}
		if taught && (strings.Contains(prompt, "was refused") || strings.Contains(prompt, "What is wrong")) {
			order = strings.TrimPrefix(order, "ORD-")
		}
		return llmtest.Text(`{"order": "` + order + `", "due": "2026-05-04", "total": ` + total + `, "currency": "EUR"}`)
	}
}

// The story on the visitor's own model: what it was told on Monday is in its prompt on Tuesday. What
// the model answers decides how the story ends, and that is what is shown.
func TestTry_OnAModel(t *testing.T) {
	coretest.Long(t)
	right := llmtest.Text(`{"order": "4711", "due": "2026-05-04", "total": 1, "currency": "EUR"}`)
	for name, c := range map[string]struct {
		answer   func(*llmtest.Request) llmtest.Reply
		attempts [3]int
		status   core.Status
		memory   bool
	}{
		"learns":            {reader(true), [3]int{2, 1, 2}, core.StatusPassed, true},
		"passes at once":    {func(*llmtest.Request) llmtest.Reply { return right }, [3]int{1, 1, 1}, core.StatusPassed, false},
		"never learns":      {reader(false), [3]int{4, 4, 4}, core.StatusExhausted, true},
		"answers with text": {func(*llmtest.Request) llmtest.Reply { return llmtest.Text("Certainly!") }, [3]int{4, 4, 4}, core.StatusExhausted, true},
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.StartFunc(c.answer)
			t.Cleanup(server.Close)
			w := newWorld(t)
			code, stdout, stderr := w.run(t.Context(), "try", "--model", server.URL, "--json")
			var told trial
			if err := json.Unmarshal([]byte(stdout), &told); err != nil || code != exitPassed || stderr != "" {
				t.Fatalf("exit %d, error %v\n%s%s", code, err, stdout, stderr)
			}
			for i, run := range told.Runs {
				if len(run.Attempts) != c.attempts[i] || run.Status != c.status {
					t.Errorf("%s: %s after %d attempts", run.Day, run.Status, len(run.Attempts))
				}
			}
			if (told.Memory != nil) != c.memory || told.Model != "scripted at "+server.URL+"/v1" {
				t.Errorf("memory %v of model %q", told.Memory, told.Model)
			}
			if _, stdout, _ = w.run(t.Context(), "try", "--model", server.URL+"/v1/", "--model-name", "mine"); !strings.Contains(stdout, "mine at "+server.URL+"/v1") {
				t.Errorf("it prints %s", stdout)
			}
		})
	}
}

// A model that can't be used is reported with what to do.
func TestTry_ModelsThatCantBeUsed(t *testing.T) {
	w := newWorld(t)
	silent := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(silent.Close)
	empty := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"data": []}`) }))
	t.Cleanup(empty.Close)
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }))
	t.Cleanup(page.Close)
	rejects := llmtest.Start(llmtest.Status(401).Always())
	t.Cleanup(rejects.Close)
	gone := httptest.NewServer(nil)
	gone.Close()
	for line, c := range map[string]struct {
		code int
		want []string
	}{
		"try --model llama3.2":                                {exitUsage, []string{`--model "llama3.2" isn't the URL`, "hint: for example: reflectory try --model http://127.0.0.1:11434/v1"}},
		"try --model localhost:11434":                         {exitUsage, []string{"isn't the URL"}},
		"try --model ftp://localhost":                         {exitUsage, []string{"isn't the URL"}},
		"try --model-name llama3.2":                           {exitUsage, []string{"--model-name needs --model"}},
		"try --key-env KEY":                                   {exitUsage, []string{"--key-env needs --model"}},
		"try --model " + silent.URL:                           {exitFailure, []string{"doesn't list its models", "404", "--model-name NAME"}},
		"try --model " + empty.URL:                            {exitFailure, []string{"its list is empty", "--model-name NAME"}},
		"try --model " + page.URL:                             {exitFailure, []string{"isn't a list of models", "--model-name NAME"}},
		"try --model " + gone.URL:                             {exitFailure, []string{"connection refused", "check the URL"}},
		"try --model " + rejects.URL + " --model-name m":      {exitFailure, []string{"Monday's run ended as error", "hint: "}},
		"try --model " + rejects.URL + " --key-env NO_SUCH_1": {exitFailure, []string{"the environment has no NO_SUCH_1"}},
	} {
		code, stdout, stderr := w.run(t.Context(), strings.Fields(line)...)
		if code != c.code || stdout != "" {
			t.Errorf("%s: exit %d: %s", line, code, stdout)
		}
		wantIn(t, stderr, c.want...)
	}
}

// With --open the trial is served after it has been shown, and the link leads to Monday's run.
func TestTry_Open(t *testing.T) {
	w := newWorld(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	r, stderr := io.Pipe()
	code := make(chan int, 1)
	stdout := &sharedBuilder{}
	go func() {
		code <- runProgram(ctx, []string{"try", "--open"}, strings.NewReader(""), stdout, stderr, func(k string) string { return w.env[k] })
		_ = stderr.Close()
	}()
	link := ""
	for link == "" {
		text := make([]byte, 4096)
		n, err := r.Read(text)
		if err != nil {
			t.Fatalf("%v: %s", err, stdout.String())
		}
		if _, after, found := strings.Cut(string(text[:n]), "for a minute: "); found {
			link, _, _ = strings.Cut(after, "\n")
		}
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	if !strings.Contains(link, "/login?link=") || !strings.Contains(link, "&to=%2Fruns%2F") || !strings.Contains(stdout.String(), "Where to go next") {
		t.Errorf("the link is %s, after %s", link, stdout.String())
	}
	stop()
	if got := <-code; got != exitPassed {
		t.Errorf("exit %d", got)
	}
}
