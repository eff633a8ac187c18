//go:build linux

package cli

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
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
)

// TestHosts_AStoppedHostWritesNothingMore: a server is suspended at a random moment of a run
// and of a job, which another takes over, and continues later. It writes nothing of what it
// lost.
func TestHosts_AStoppedHostWritesNothingMore(t *testing.T) {
	const passes = 40
	w := newSharedWorld(t, 2)
	w.workflow(tallyWorkflow, w.tally, passes)
	a, b := w.hosts[0], w.hosts[1]
	known := map[string]bool{}
	for range coretest.Heavy(1, 100) {
		client, out, run := a.startRun(func() string { return b.begun(known) }) // on a busy machine it may have ended
		known[run] = true
		queued := a.queueRuns(a.at, []string{fmt.Sprintf(tallyWorkflow, w.tally, passes/2)})
		<-time.After(rand.N(40 * time.Millisecond))
		a.signal(syscall.SIGSTOP)
		until(t, "the run goes on", func() bool { r, _ := b.shownRun(run); return r.Status == core.StatusPassed })
		for _, q := range queued {
			b.awaitEnd(b.at, q.JobID)
		}
		before := b.events("run/" + run)
		a.signal(syscall.SIGCONT)
		_ = client.Wait()
		if !strings.Contains(out.String(), "run_taken_over") && slices.Contains(before, "run_resumed") {
			t.Errorf("the run of the stopped host ends with %s", out)
		}
		until(t, "the stopped host is one again", func() bool {
			return slices.ContainsFunc(b.listed(), func(h operation.HostItem) bool { return h.ID == a.id && h.State == host.HostLives })
		})
		if after := b.events("run/" + run); !slices.Equal(after, before) {
			t.Errorf("the stopped host wrote: %v, then %v", before, after)
		}
		b.whole(run, passes)
		for _, q := range queued {
			var j job.Job
			if b.json(&j, "jobs", "show", q.JobID); j.Status != job.StatusCompleted {
				t.Errorf("job %s is %s (%s: %s)", j.ID, j.Status, j.Reason, j.Message)
			}
			var ran operation.RunJob
			if json.Unmarshal(j.Result, &ran) == nil {
				known[ran.RunID] = true
			}
		}
	}
	b.sound()
	w.end()
}

// TestHosts_ADrainedHostTakesNothingMore: what is queued is done by the others.
func TestHosts_ADrainedHostTakesNothingMore(t *testing.T) {
	w := newSharedWorld(t, 2)
	a, b := w.hosts[0], w.hosts[1]
	b.took("hosts", "drain", a.id)
	until(t, "the host drains, and gives up its lease", func() bool {
		return slices.ContainsFunc(b.listed(), func(h operation.HostItem) bool { return h.ID == a.id && h.Draining && len(h.Leases) == 0 }) &&
			slices.ContainsFunc(b.listed(), func(h operation.HostItem) bool { return h.ID == b.id && len(h.Leases) == 1 })
	})
	for _, q := range a.queueRuns(a.at, []string{notesWorkflow("one"), notesWorkflow("two")}) {
		b.awaitEnd(b.at, q.JobID)
	}
	answer := a.ask(a.at, "GET", "/readyz", nil)
	if answer == nil || answer.StatusCode != 503 {
		t.Errorf("a drained host is ready: %+v", answer)
	}
	_ = answer.Body.Close()
	w.end()
}
