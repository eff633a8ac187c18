//go:build linux

package cli

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/reflectory/reflectory/core/host/operation"
)

// mixed is a load of writes, lists, recalls and refusals on a server, from several callers.
type mixed struct {
	mu     sync.Mutex
	stored []string
	failed []string
}

// request makes one request of the mix; false means that the server is gone.
func (m *mixed) request(w *killWorld, at served, caller, n int) bool {
	id, method, path := "", "GET", "/v1/memories?limit=5&namespace=load"
	var body any
	switch n % 4 {
	case 0, 1:
		id = fmt.Sprintf("load-%d-%d", caller, n)
		method, path, body = "POST", "/v1/memories", map[string]any{"id": id, "namespace": "load", "content": "memory " + id}
	case 2:
		method, path, body = "POST", "/v1/recall", map[string]any{"namespace": "load", "query": "memory"}
	case 3:
		if n%8 == 3 {
			path = "/v1/memories/absent-memory"
		}
	}
	answer := w.ask(at, method, path, body)
	if answer == nil {
		return false
	}
	text, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case err != nil: // it was killed meanwhile
		return false
	case id != "" && answer.StatusCode == http.StatusOK:
		m.stored = append(m.stored, id)
	case answer.StatusCode >= http.StatusInternalServerError || answer.StatusCode == http.StatusUnauthorized:
		m.failed = append(m.failed, fmt.Sprintf("%s %s: %d %s", method, path, answer.StatusCode, text))
	}
	return true
}

// acknowledged is how many writes were.
func (m *mixed) acknowledged() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.stored)
}

// TestServe_KilledUnderLoadKeepsWhatItAcknowledged: several callers write and read, and the
// server is killed in the middle of it. The next one has all that was acknowledged, and its
// store is whole. In make stress there are 200 rounds on one store.
func TestServe_KilledUnderLoadKeepsWhatItAcknowledged(t *testing.T) {
	w := newKillWorld(t)
	const callers, writes = 4, 25
	load := &mixed{}
	for round := range kills(1) {
		cmd, at := w.serve()
		before := load.acknowledged()
		var all sync.WaitGroup
		for caller := range callers {
			all.Go(func() {
				for n := 0; load.request(w, at, caller, round*1_000_000+n); n++ {
				}
			})
		}
		until(t, "the load writes", func() bool { return load.acknowledged() >= before+writes })
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		all.Wait()
	}
	for _, f := range load.failed {
		t.Error(f)
	}
	cmd, _ := w.serve()
	there := map[string]bool{}
	for token, more := "", true; more; more = token != "" {
		var page operation.Page[struct{ ID string }]
		w.json(&page, strings.Fields("memory list --namespace load --limit 200 --page-token="+token)...)
		for _, m := range page.Items {
			there[m.ID] = true
		}
		token = page.NextPageToken
	}
	for _, id := range load.stored {
		if !there[id] {
			t.Errorf("%s was acknowledged, and isn't there", id)
		}
	}
	w.terminate(cmd, cmd.Process)
	w.took("store", "check")
}
