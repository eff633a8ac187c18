//go:build linux

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/store/postgres/postgrestest"
)

// TestHosts_TenantsHaveDatabases: two servers have a main database and one of a tenant. The
// tenant's run goes on when its server is killed, its job is done, what it has is in its own
// database only, and a push of policies is in both.
func TestHosts_TenantsHaveDatabases(t *testing.T) {
	const passes = 40
	cluster := postgrestest.Start(t)
	own := cluster.URL(t)
	w := newSharedWorldOn(t, cluster.URL(t), "quick-host", 0)
	stores := filepath.Join(w.dir, "stores.yaml")
	if err := os.WriteFile(stores, fmt.Appendf(nil, "team: %q\n", own), 0o600); err != nil {
		t.Fatal(err)
	}
	alone := &killWorld{t: t, dir: w.dir, self: w.self, env: append(append([]string{}, w.env...), "REFLECTORY_STORE="+own, "REFLECTORY_DATA_DIR="+filepath.Join(w.dir, "alone"))}
	w.env = append(w.env, "REFLECTORY_STORES="+stores)
	w.workflow(tallyWorkflow, w.tally, passes)
	a, b := w.add(), w.add()
	client, _ := a.killWorld.start("run", "workflow.yaml", "--namespace", "team/a", "--json")
	run := ""
	until(t, "the run begins", func() bool { run = b.running(nil); return run != "" })
	a.signal(syscall.SIGKILL)
	_, _ = a.cmd.Wait(), client.Wait()
	until(t, "the run goes on", func() bool { r, _ := b.shownRun(run); return r.Status == core.StatusPassed })
	b.whole(run, passes)
	b.took("memory", "observe", "--namespace", "team/a", "--id", "of-team", "--content", "the harbour closes")
	b.took("memory", "observe", "--namespace", "staff", "--id", "of-staff", "--content", "the harbour opens")
	b.awaitEnd(b.at, b.enqueue("team/a"))

	policies := filepath.Join(w.dir, "policies", "retention")
	if err := os.MkdirAll(policies, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(policies, "all.yaml"), []byte("rule: {match: [{output: '{\"ttl_score\": 0.1, \"state\": state}'}]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.took("policy", "push", filepath.Dir(policies))
	if answer := b.ask(b.at, "GET", "/readyz", nil); answer == nil || answer.StatusCode != http.StatusOK {
		t.Errorf("not ready: %+v", answer)
	}
	w.end()

	var found operation.Memories
	alone.json(&found, "memory", "list", "--namespace", "team", "--subtree")
	var pushed operation.Policies
	alone.json(&pushed, "policy", "list")
	if text, _ := json.Marshal(found.Items); strings.Count(string(text), "of-team") == 0 || strings.Contains(string(text), "of-staff") || pushed.Epoch != 1 {
		t.Errorf("the tenant's database has %s, and policies of epoch %d", text, pushed.Epoch)
	}
	var checked operation.StoreChecked
	if code := alone.json(&checked, "store", "check"); code != exitPassed || !checked.Valid {
		t.Errorf("exit %d: %+v", code, checked)
	}
}

// enqueue queues a job of a namespace, and returns its id.
func (h *sharedHost) enqueue(namespace string) string {
	h.t.Helper()
	answer := h.ask(h.at, "POST", "/v1/jobs", operation.JobEnqueue{Type: "revalidate", Namespace: namespace})
	if answer == nil {
		h.t.Fatal("the server is gone")
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	var queued operation.JobQueued
	if err != nil || json.Unmarshal(text, &queued) != nil || queued.JobID == "" {
		h.t.Fatalf("%d %s: %v", answer.StatusCode, text, err)
	}
	return queued.JobID
}
