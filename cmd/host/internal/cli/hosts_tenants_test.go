//go:build linux

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/store"
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

// TestHosts_TenantIsMoved: a command moves a tenant with records to a database of its own, and back,
// while servers work on the main one.
func TestHosts_TenantIsMoved(t *testing.T) {
	cluster := postgrestest.Start(t)
	own := cluster.URL(t)
	w := newSharedWorldOn(t, cluster.URL(t), "quick-host", 1)
	old := w.hosts[0] // whose map has no tenants
	for _, namespace := range []string{"team/a", "team2"} {
		old.took("memory", "observe", "--namespace", namespace, "--id", strings.ReplaceAll(namespace, "/", "-"), "--content", "the harbour of "+namespace+" closes")
	}
	old.took("memory", "recall", "harbour", "--namespace", "team/a", "--session", "s")
	old.awaitEnd(old.at, old.enqueue("team/a"))

	stores := filepath.Join(w.dir, "stores.yaml")
	if err := os.WriteFile(stores, fmt.Appendf(nil, "team: %q\n", own), 0o600); err != nil {
		t.Fatal(err)
	}
	command := &killWorld{t: t, dir: w.dir, self: w.self, env: append(slices.Clone(w.env), "REFLECTORY_DATA_DIR="+filepath.Join(w.dir, "command"))}
	var done store.TenantMove
	if code := command.json(&done, "tenant", "move", "team", "--stores", stores); code != exitPassed || !done.Moved || done.Records == 0 {
		t.Fatalf("exit %d: %+v", code, done)
	}
	var refused struct{ Error core.ErrorInfo }
	if code := old.json(&refused, "memory", "observe", "--namespace", "team/a", "--content", "x"); code == exitPassed || refused.Error.Code != store.TenantElsewhere {
		t.Errorf("a server with the old map: exit %d, %+v", code, refused)
	}
	old.took("memory", "observe", "--namespace", "team2", "--content", "x")

	w.env = append(w.env, "REFLECTORY_STORES="+stores)
	moved := w.add()
	var found operation.Recalled
	if moved.json(&found, "memory", "recall", "harbour", "--namespace", "team", "--subtree"); len(found.Memories) != 1 {
		t.Errorf("%d memories are found", len(found.Memories))
	}
	moved.took("memory", "observe", "--namespace", "team/b", "--content", "the pier opens")
	var list tenantList
	if command.json(&list, "tenant", "list", "--stores", stores); len(list.Items) != 1 || list.Items[0].Moves != 1 || list.Items[0].Database == "" || list.Items[0].State != "" {
		t.Errorf("listed are %+v", list)
	}
	moved.terminate(moved.cmd, moved.cmd.Process)
	alone := &killWorld{t: t, dir: w.dir, self: w.self, env: append(slices.Clone(command.env), "REFLECTORY_STORE="+own)}
	for _, database := range []*killWorld{command, alone} {
		var checked operation.StoreChecked
		if code := database.json(&checked, "store", "check"); code != exitPassed || !checked.Valid {
			t.Errorf("exit %d: %+v", code, checked)
		}
		database.took("audit", "verify")
	}

	if code := command.json(&refused, "tenant", "move", "team"); code == exitPassed || refused.Error.Code != "tenants_unmapped" {
		t.Errorf("without the other database: exit %d, %+v", code, refused)
	}
	if code := command.json(&done, "tenant", "move", "team", "--other", own); code != exitPassed || !done.Moved {
		t.Fatalf("back: exit %d: %+v", code, done)
	}
	old.took("memory", "observe", "--namespace", "team/a", "--content", "y")
	if old.json(&found, "memory", "recall", "harbour pier", "--namespace", "team", "--subtree"); len(found.Memories) < 2 {
		t.Errorf("%d memories are found after it was moved back", len(found.Memories))
	}
	old.sound()
	w.end()
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
