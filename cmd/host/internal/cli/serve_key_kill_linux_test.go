//go:build linux

package cli

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/operation"
)

// keyed makes a POST with an Idempotency-Key; "" means that the server was gone before it answered.
func (w *killWorld) keyed(at served, path, key string, body any) (status int, text string) {
	w.t.Helper()
	answer := w.askOnce(at, http.MethodPost, path, body, "Idempotency-Key", key)
	if answer == nil {
		return 0, ""
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, ""
	}
	return answer.StatusCode, string(data)
}

// TestServe_KilledWithinAPostAnswersItsKey: a server is killed at any moment of a POST with a key. The same POST
// to the next server is answered as the first time if it was done, and is done now if it wasn't; no answer is
// that the outcome is unknown.
func TestServe_KilledWithinAPostAnswersItsKey(t *testing.T) {
	coretest.Long(t)
	w := newKillWorld(t)
	cmd, at := w.serve()
	recalled := func(n int) map[string]any { // a turn with a memory that feedback can credit
		turn := map[string]any{"session": fmt.Sprint("session-", n), "turn": 1}
		answer := w.ask(at, http.MethodPost, "/v1/recall", map[string]any{"namespace": "k", "query": "the text of source", "session": turn["session"]})
		if answer == nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("recall: %+v", answer)
		}
		_ = answer.Body.Close()
		return turn
	}
	posts := []func(n int) (path string, body any){
		func(n int) (string, any) {
			return "/v1/memories", map[string]any{"namespace": "k", "content": fmt.Sprintf("memory number %d", n)}
		},
		func(n int) (string, any) {
			return "/v1/reflections", map[string]any{"source_ids": []string{"source"}, "title": fmt.Sprintf("title %d", n), "content": fmt.Sprintf("insight number %d", n)}
		},
		func(n int) (string, any) {
			return "/v1/runs", map[string]any{"namespace": "k", "name": "elsewhere", "attempts": []map[string]any{{"output": n, "valid": true}}}
		},
		func(n int) (string, any) {
			return "/v1/memories/source/links", map[string]any{"to": "other", "relation": "related"}
		},
		func(n int) (string, any) {
			body := recalled(n)
			body["outcome"], body["used"] = "success", []string{"source"}
			return "/v1/feedback", body
		},
		func(n int) (string, any) {
			return "/v1/runs", map[string]any{"workflow": notesWorkflow(fmt.Sprint("queued-", n)), "namespace": "queued"}
		},
	}
	for _, id := range []string{"source", "other"} {
		if status, text := w.keyed(at, "/v1/memories", "made-"+id, map[string]any{"id": id, "namespace": "k", "content": "the text of " + id}); status >= 300 {
			t.Fatal(status, text)
		}
	}
	length := make([]time.Duration, len(posts)) // of a post that nothing disturbs
	for kind := range posts {
		path, body := posts[kind](kind)
		began := time.Now()
		if status, text := w.keyed(at, path, fmt.Sprint("first-", kind), body); status < 200 || status >= 300 {
			t.Fatal(path, status, text)
		}
		length[kind] = time.Since(began)
	}
	done := map[string]int{}
	for n := len(posts); n < len(posts)+kills(12); n++ {
		kind := n % len(posts)
		path, body := posts[kind](n)
		key := fmt.Sprint("key-", n)
		type answer struct {
			status int
			text   string
		}
		first := make(chan answer, 1)
		go func() {
			status, text := w.keyed(at, path, key, body)
			first <- answer{status, text}
		}()
		<-time.After(rand.N(length[kind] * 3 / 2))
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		before := <-first
		cmd, at = w.serve()
		status, text := w.keyed(at, path, key, body)
		if status < 200 || status >= 300 || strings.Contains(text, outcomeUnknown) || before.status >= 300 {
			t.Fatalf("%s: %d %s, before the kill %d %s", path, status, text, before.status, before.text)
		}
		if before.text != "" && before.text != text {
			t.Errorf("%s was answered by %s, and now by %s", path, before.text, text)
		}
		done[map[bool]string{true: "answered", false: "not answered"}[before.text != ""]]++
	}
	t.Logf("%v before the kill", done)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	w.wantKeyedOnce(func(kind int) int { return (len(posts) + kills(12) - kind + len(posts) - 1) / len(posts) })
	w.took("store", "check")
}

// wantKeyedOnce wants what as many posts of each kind did: nothing twice.
func (w *killWorld) wantKeyedOnce(posts func(kind int) int) {
	w.t.Helper()
	want := func(what string, got, kind int) {
		if got != posts(kind) {
			w.t.Errorf("%d %s, want %d", got, what, posts(kind))
		}
	}
	var page operation.Page[struct{ Content string }]
	w.json(&page, "memory", "list", "--namespace", "k", "--limit", "200")
	seen := map[string]bool{}
	for _, m := range page.Items {
		if seen[m.Content] {
			w.t.Errorf("%q is there twice", m.Content)
		}
		seen[m.Content] = true
	}
	var runs struct{ Items []struct{ Workflow string } }
	w.json(&runs, "runs", "list", "--limit", "200")
	elsewhere := 0
	for _, r := range runs.Items {
		if r.Workflow == "elsewhere" {
			elsewhere++
		}
	}
	want("runs from elsewhere", elsewhere, 2)
	var jobs operation.JobPage
	w.json(&jobs, "jobs", "list", "--type", "workflow", "--limit", "200")
	want("queued runs", len(jobs.Items), 5)
	var source core.Memory
	w.json(&source, "memory", "get", "source")
	want("turns that used the memory", int(source.Signals.Successes), 4)
}
