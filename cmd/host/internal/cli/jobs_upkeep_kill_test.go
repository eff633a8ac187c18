//go:build linux

package cli

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/job"
)

// TestJobs_UpkeepKilledAtAnyMomentEndsOnce: dreams, new embeddings, sweeps and the compaction
// after a purge each end once, whenever the server is killed, and what they do is done once.
func TestJobs_UpkeepKilledAtAnyMomentEndsOnce(t *testing.T) {
	coretest.Long(t)
	w := newKillWorld(t)
	const memories = 12
	var lines strings.Builder
	for n := range memories {
		fmt.Fprintf(&lines, `{"id":"visit-%d","content":"Visitor %d came yesterday with a %s."}`+"\n", n, n, strings.Repeat("very ", n)+"large gift")
	}
	if err := os.WriteFile(filepath.Join(w.dir, "visits.jsonl"), []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	acknowledged, length := 0, 150*time.Millisecond
	for n := 0; n < kills(4) || acknowledged == 0; n++ {
		_ = os.RemoveAll(filepath.Join(w.dir, "data"))
		cmd, at := w.serve()
		w.took("memory", "observe", "--namespace", "team/a", "--file", "visits.jsonl")
		w.took("gate", "request", "visit-0", "--erase", "--reason", "it was asked for")
		killed := make(chan struct{})
		go func() {
			defer close(killed)
			<-time.After(rand.N(length))
			_ = cmd.Process.Kill()
		}()
		var queued []string
		for path, body := range map[string]any{
			"/v1/dream/runs": map[string]any{"namespace": "team/a"}, "/v1/reembed": map[string]any{"namespace": "team/a"}, "/v1/sweep": map[string]any{"namespace": "team/a"},
		} {
			if id := w.queueUpkeep(at, path, body); id != "" {
				queued = append(queued, id)
			}
		}
		<-killed
		_ = cmd.Wait()
		w.checkUpkeep(queued, memories-1)
		if acknowledged += len(queued); acknowledged == 0 {
			length *= 2 // the kill came before the first job
		}
	}
}

// queueUpkeep asks for work in the background, and returns its job if that was acknowledged.
func (w *killWorld) queueUpkeep(at served, path string, body any) string {
	w.t.Helper()
	answer := w.ask(at, "POST", path, body)
	if answer == nil {
		return ""
	}
	defer answer.Body.Close()
	var one operation.JobQueued
	if err := json.NewDecoder(answer.Body).Decode(&one); err != nil || answer.StatusCode != 202 {
		return ""
	}
	return one.JobID
}

// checkUpkeep lets another server do what the killed one left.
func (w *killWorld) checkUpkeep(queued []string, memories int) {
	w.t.Helper()
	cmd, at := w.serve()
	for _, id := range queued {
		w.awaitEnd(at, id)
		var j job.Job
		if w.json(&j, "jobs", "show", id); j.Status != job.StatusCompleted {
			w.t.Errorf("job %s of type %s is %s (%s: %s)", j.ID, j.Type, j.Status, j.Reason, j.Message)
		}
	}
	until(w.t, "nothing is left to do", func() bool {
		var waiting, running operation.JobPage
		asked := w.json(&waiting, "jobs", "list", "--status", "queued") + w.json(&running, "jobs", "list", "--status", "running")
		return asked == exitPassed && len(waiting.Items)+len(running.Items) == 0
	})
	for id, n := range w.jobEnds() {
		if n != 1 {
			w.t.Errorf("job %s has %d ends", id, n)
		}
	}
	var page operation.Page[core.Memory]
	w.json(&page, "memory", "list", "--namespace", "team/a", "--kind", "observation", "--limit", "200")
	dated := 0
	for _, m := range page.Items {
		if !strings.Contains(m.Content, "yesterday") {
			dated++
		}
	}
	if len(page.Items) != memories || dated != 0 && dated != memories {
		w.t.Errorf("%d memories, of which %d are dated", len(page.Items), dated)
	}
	w.took("store", "check")
	w.terminate(cmd, cmd.Process)
}
