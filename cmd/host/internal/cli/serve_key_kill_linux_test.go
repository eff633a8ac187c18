//go:build linux

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strings"
	"testing"

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
	}
	cmd, at := w.serve()
	for _, id := range []string{"source", "other"} {
		if status, text := w.keyed(at, "/v1/memories", "made-"+id, map[string]any{"id": id, "namespace": "k", "content": "the text of " + id}); status >= 300 {
			t.Fatal(status, text)
		}
	}
	done := map[string]int{}
	for n := range kills(8) {
		path, body := posts[n%len(posts)](n)
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
		for range rand.IntN(200_000) {
			runtime.Gosched()
		}
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
	var page operation.Page[struct{ Content string }]
	w.json(&page, "memory", "list", "--namespace", "k", "--limit", "200")
	seen := map[string]bool{}
	for _, m := range page.Items {
		if seen[m.Content] {
			t.Errorf("%q is there twice", m.Content)
		}
		seen[m.Content] = true
	}
	var runs operation.Page[json.RawMessage]
	w.json(&runs, "runs", "list", "--limit", "200")
	if want := (kills(8) + 1) / len(posts); len(runs.Items) != want {
		t.Errorf("%d runs, want %d", len(runs.Items), want)
	}
	w.took("store", "check")
}
