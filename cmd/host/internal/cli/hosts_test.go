//go:build linux

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/store/postgres/postgrestest"
)

// sharedWorld is several servers on one database, each with a data folder of its own, and the
// same plugins. The clocks of two that were started one after the other are an hour apart.
type sharedWorld struct {
	*killWorld
	hosts []*sharedHost
	// args are more flags of each server.
	args []string
}

// sharedHost is one of the servers.
type sharedHost struct {
	*killWorld
	cmd *exec.Cmd
	at  served
	id  string
}

func newSharedWorld(t *testing.T, hosts int) *sharedWorld {
	t.Helper()
	return newSharedWorldOn(t, postgrestest.Start(t).URL(t), "quick-host", hosts)
}

// newSharedWorldOn is newSharedWorld on a database, with one of the programs.
func newSharedWorldOn(t *testing.T, url, program string, hosts int) *sharedWorld {
	t.Helper()
	w := &sharedWorld{killWorld: newKillWorld(t).count()}
	w.env = append(w.env, "REFLECTORY_STORE="+url)
	if w.self = filepath.Join(w.dir, program); program != "reflectory" { // which is there
		if err := linkFile(filepath.Join(programs, program), w.self); err != nil {
			t.Fatal(err)
		}
	}
	for range hosts {
		w.add()
	}
	return w
}

// add starts one more server.
func (w *sharedWorld) add() *sharedHost {
	w.t.Helper()
	h := &sharedHost{killWorld: &killWorld{t: w.t, dir: w.dir, self: w.self, tally: w.tally}}
	h.env = append(slices.Clone(w.env), fmt.Sprintf("REFLECTORY_DATA_DIR=%s/data-%d", w.dir, len(w.hosts)),
		fmt.Sprintf("%s=%dh", clockAhead, 1-len(w.hosts)))
	known := map[string]bool{}
	for _, other := range w.hosts {
		known[other.id] = true
	}
	h.cmd, h.at = h.serve(w.args...)
	for _, shown := range h.listed() {
		if !known[shown.ID] && shown.Self {
			h.id = shown.ID
		}
	}
	if h.id == "" {
		w.t.Fatalf("the server isn't among the hosts: %+v", h.listed())
	}
	w.hosts = append(w.hosts, h)
	return h
}

// listed are the hosts as a server sees them.
func (h *sharedHost) listed() []operation.HostItem {
	h.t.Helper()
	var list operation.Hosts
	if code := h.json(&list, "hosts", "list"); code != exitPassed {
		h.t.Fatalf("hosts list: exit %d", code)
	}
	return list.Items
}

// signal sends a signal to a server and to the plugins that it started.
func (h *sharedHost) signal(s syscall.Signal) {
	h.t.Helper()
	if err := h.cmd.Process.Signal(s); err != nil {
		h.t.Fatal(err)
	}
}

// shownRun asks a server for a run, while there is one.
func (h *sharedHost) shownRun(id string) (run shownRun, found bool) {
	h.t.Helper()
	answer := h.ask(h.at, "GET", "/v1/runs/"+id, nil)
	if answer == nil {
		return run, false
	}
	defer answer.Body.Close()
	err := json.NewDecoder(answer.Body).Decode(&run)
	return run, err == nil && run.ID == id
}

// events are the types of the events of a stream, in order.
func (h *sharedHost) events(stream string) (types []string) {
	h.t.Helper()
	var page operation.Page[struct{ Type string }]
	h.json(&page, "audit", "show", stream, "--limit", "200")
	for _, e := range page.Items {
		types = append(types, e.Type)
	}
	return types
}

// start runs the workflow on a server, through its socket, and returns the run once it has
// begun.
func (h *sharedHost) startRun(id func() string) (client *exec.Cmd, out *bytes.Buffer, run string) {
	h.t.Helper()
	client, out = h.killWorld.start("run", "workflow.yaml", "--json")
	until(h.t, "the run begins", func() bool { run = id(); return run != "" })
	return client, out, run
}

// running is the id of a running run that isn't known, as a server lists it; "" for none.
func (h *sharedHost) running(known map[string]bool) string {
	return h.listedRun("?status=running", known)
}

// begun is the id of a run that isn't known, running or ended, as a server lists it; "" for none.
func (h *sharedHost) begun(known map[string]bool) string { return h.listedRun("", known) }

// listedRun is the id of the newest run of a list that isn't known; "" for none.
func (h *sharedHost) listedRun(filter string, known map[string]bool) string {
	answer := h.ask(h.at, "GET", "/v1/runs"+filter, nil)
	if answer == nil {
		return ""
	}
	defer answer.Body.Close()
	var page operation.Page[operation.RunSummary]
	_ = json.NewDecoder(answer.Body).Decode(&page)
	for _, r := range page.Items {
		if !known[r.RunID] {
			return r.RunID
		}
	}
	return ""
}

// whole checks that a run passed, with each attempt recorded once.
func (h *sharedHost) whole(id string, passes int) {
	h.t.Helper()
	run, found := h.shownRun(id)
	if !found || run.Status != core.StatusPassed || len(run.Loops) != 1 || len(run.Loops[0].Attempts) != passes {
		h.t.Fatalf("run %s: %+v", id, run)
	}
	for i, a := range run.Loops[0].Attempts {
		if a.Iteration != i+1 || !a.Judged {
			h.t.Errorf("attempt %d of run %s is %+v", i+1, id, a)
		}
	}
	verdicts := 0
	for _, event := range h.events("run/" + id) {
		if event == "verdict_recorded" {
			verdicts++
		}
	}
	if verdicts != passes {
		h.t.Errorf("run %s has %d verdicts of %d: %v", id, verdicts, passes, h.events("run/"+id))
	}
}

// sound checks the store and the journal.
func (h *sharedHost) sound() {
	h.t.Helper()
	var checked operation.StoreChecked
	if code := h.json(&checked, "store", "check"); code != exitPassed || !checked.Valid {
		h.t.Errorf("exit %d: %+v", code, checked)
	}
	h.took("audit", "verify")
}

// end stops the servers in order.
func (w *sharedWorld) end() {
	w.t.Helper()
	for _, h := range w.hosts {
		if h.cmd.ProcessState == nil {
			h.terminate(h.cmd, h.cmd.Process)
		}
	}
}

// TestHosts_AKilledHostsWorkGoesOn: of three servers the one that works is killed. Its run
// and its jobs continue on the others, each attempt is recorded once, and another writes
// the journal's root.
func TestHosts_AKilledHostsWorkGoesOn(t *testing.T) {
	const passes = 60
	program := "quick-host"
	if coretest.Stress() {
		program = "reflectory" // whose times are those of the figure
	}
	w := newSharedWorldOn(t, postgrestest.Start(t).URL(t), program, 3)
	w.workflow(tallyWorkflow, w.tally, passes)
	a, b := w.hosts[0], w.hosts[1]
	if list := a.listed(); len(list) != 3 || slices.ContainsFunc(list, func(h operation.HostItem) bool { return h.State != host.HostLives }) {
		t.Fatalf("the hosts are %+v", list)
	}
	client, out, run := a.startRun(func() string { return b.running(nil) })
	queued := a.queueRuns(a.at, []string{fmt.Sprintf(tallyWorkflow, w.tally, passes/2), notesWorkflow("one")})
	if len(queued) != 2 {
		t.Fatalf("%d jobs were queued", len(queued))
	}
	a.signal(syscall.SIGKILL)
	killed := time.Now()
	_, _ = a.cmd.Wait(), client.Wait()
	if out.Len() > 0 && strings.Contains(out.String(), `"passed"`) {
		t.Fatal("the run was faster than the kill")
	}
	if coretest.Stress() {
		until(t, "another host goes on with the run", func() bool { return slices.Contains(b.events("run/"+run), "run_resumed") })
		coretest.Figure{
			Name: "PostgreSQL: from kill -9 of a host until another goes on with its run", Value: time.Since(killed).Seconds(), Unit: "s", Target: 15,
		}.Print(os.Stdout)
	}
	until(t, "the run goes on", func() bool { r, _ := b.shownRun(run); return r.Status == core.StatusPassed })
	b.whole(run, passes)
	for _, q := range queued {
		b.awaitEnd(b.at, q.JobID)
		var j job.Job
		var ran operation.RunJob
		if b.json(&j, "jobs", "show", q.JobID); json.Unmarshal(j.Result, &ran) != nil || j.Status != job.StatusCompleted || ran.Status != core.StatusPassed {
			t.Errorf("job %s is %s (%s: %s), its run %s", j.ID, j.Status, j.Reason, j.Message, ran.Status)
		}
	}
	until(t, "the killed host is forgotten, and another has its lease", func() bool {
		list := b.listed()
		return len(list) == 2 && slices.ContainsFunc(list, func(h operation.HostItem) bool { return len(h.Leases) == 1 })
	})
	b.sound()
	w.end()
}

// TestHosts_ANamespaceIsWarmOnOneHost: two servers send each other the requests of the
// other's namespaces, and each does them all once the other is killed.
func TestHosts_ANamespaceIsWarmOnOneHost(t *testing.T) {
	w := newSharedWorld(t, 0)
	folder := filepath.Join(w.dir, "peers")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(folder, name) }
	coretest.WriteCertificate(t, at("tls.crt"), at("tls.key"), time.Now().Add(-time.Hour), time.Now().Add(time.Hour), "peers.example.org")
	if err := linkFile(at("tls.crt"), at("ca.crt")); err != nil {
		t.Fatal(err)
	}
	w.args = []string{"--peer-listen", "127.0.0.1:0", "--peer-tls", folder}
	a, b, killed := w.add(), w.add(), false
	// A request that was under way to a host that is killed isn't done again by itself: it counts as
	// a recall. Its caller repeats it.
	recall := func(h *sharedHost, n int) string {
		for {
			answer := h.ask(h.at, "POST", "/v1/recall", map[string]any{"namespace": fmt.Sprintf("team/n%d", n), "query": "harbour"})
			if answer == nil {
				t.Fatal("the server is gone")
			}
			text, err := io.ReadAll(answer.Body)
			answer.Body.Close()
			switch {
			case err == nil && answer.StatusCode == http.StatusOK:
				return string(text)
			case err != nil || !killed || !strings.Contains(string(text), `"host_unanswered"`):
				t.Fatalf("%d %s: %v", answer.StatusCode, text, err)
			}
		}
	}
	const namespaces = 16
	for n := range namespaces {
		a.took("memory", "observe", "--id", fmt.Sprintf("note-%d", n), "--namespace", fmt.Sprintf("team/n%d", n), "--content", "the harbour closes")
		if text := recall(b, n) + recall(a, n); strings.Count(text, fmt.Sprintf(`"note-%d"`, n)) != 2 {
			t.Errorf("namespace %d: %s", n, text)
		}
	}
	b.signal(syscall.SIGKILL)
	killed = true
	_ = b.cmd.Wait()
	for n := range namespaces {
		if text := recall(a, n); !strings.Contains(text, fmt.Sprintf(`"note-%d"`, n)) {
			t.Errorf("without the other, namespace %d: %s", n, text)
		}
	}
	a.sound()
	w.end()
	forwarded := func(h *sharedHost) int { return strings.Count(h.log.String(), " by=127.0.0.1:") }
	if forwarded(a) == 0 || forwarded(b) == 0 || !strings.Contains(a.log.String(), "doesn't answer; this one does") {
		t.Errorf("%d and %d requests were sent on: %s", forwarded(a), forwarded(b), a.log.String())
	}
}
