//go:build linux

package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/jsontext"
)

// notesWorkflow needs no plugin, and writes as often as it has nodes.
func notesWorkflow(name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "name: %s\nnodes:\n", name)
	for i := range 10 {
		fmt.Fprintf(&b, "  - {name: n%d, action: memory.observe, with: {content: %s %d}}\n", i, name, i)
	}
	return b.String()
}

// ask asks a server over TCP as the operator, and again if it asked too often. The answer is
// nil if the server is gone.
func (w *killWorld) ask(at served, method, path string, body any) *http.Response {
	w.t.Helper()
	for {
		answer := w.askOnce(at, method, path, body)
		if answer == nil || answer.StatusCode != http.StatusTooManyRequests {
			return answer
		}
		_ = answer.Body.Close()
		<-time.After(10 * time.Millisecond)
	}
}

func (w *killWorld) askOnce(at served, method, path string, body any, headers ...string) *http.Response {
	w.t.Helper()
	token, err := os.ReadFile(at.Token)
	if err != nil {
		w.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(w.t.Context(), method, "http://"+at.Listen+path, bytes.NewReader(jsontext.MustEncode(body)))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	if body == nil {
		r.Body, r.ContentLength = nil, 0
	} else {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		return nil
	}
	return answer
}

// queueRuns makes jobs run workflows, and returns those that the server acknowledged.
func (w *killWorld) queueRuns(at served, workflows []string) (queued []operation.JobQueued) {
	w.t.Helper()
	for _, text := range workflows {
		answer := w.ask(at, "POST", "/v1/runs", operation.RunStart{Workflow: text})
		if answer == nil {
			return queued
		}
		var one operation.JobQueued
		err := json.NewDecoder(answer.Body).Decode(&one)
		_ = answer.Body.Close()
		if err == nil && answer.StatusCode == http.StatusAccepted {
			queued = append(queued, one)
		}
	}
	return queued
}

// awaitEnd follows a job until it has ended.
func (w *killWorld) awaitEnd(at served, id string) {
	w.t.Helper()
	answer := w.ask(at, "GET", "/v1/jobs/"+id+"/events", nil)
	if answer == nil || answer.StatusCode != http.StatusOK {
		w.t.Fatalf("job %s can't be followed: %+v", id, answer)
	}
	defer answer.Body.Close()
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		if lines.Text() == "event: job.ended" {
			return
		}
	}
	w.t.Fatalf("the events of job %s end before the job", id)
}

// terminate stops a server as an operator does.
func (w *killWorld) terminate(cmd interface{ Wait() error }, process *os.Process) {
	w.t.Helper()
	if err := process.Signal(syscall.SIGTERM); err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		w.t.Errorf("stopped by SIGTERM: %v", err)
	}
}

// TestJobs_AServerKilledAtAnyMomentLosesNone: whatever was acknowledged ends, once, with one
// run, and the calls that the run pays for are made once, except the one that was cut off.
func TestJobs_AServerKilledAtAnyMomentLosesNone(t *testing.T) {
	coretest.Long(t)
	w := newKillWorld(t).count()
	const passes = 8
	workflows := []string{fmt.Sprintf(tallyWorkflow, w.tally, passes), notesWorkflow("one"), notesWorkflow("two")}
	cmd, at := w.serve()
	began := time.Now()
	for _, q := range w.queueRuns(at, workflows) {
		w.awaitEnd(at, q.JobID)
	}
	length := time.Since(began)
	w.terminate(cmd, cmd.Process)
	for range kills(6) {
		_ = os.RemoveAll(filepath.Join(w.dir, "data"))
		_ = os.Remove(w.tally)
		cmd, at := w.serve()
		killed := make(chan struct{})
		go func() {
			defer close(killed)
			<-time.After(rand.N(length))
			_ = cmd.Process.Kill()
		}()
		acknowledged := w.queueRuns(at, workflows)
		<-killed
		_ = cmd.Wait()
		w.checkJobs(acknowledged)
	}
}

// checkJobs lets another server do what the killed one left.
func (w *killWorld) checkJobs(acknowledged []operation.JobQueued) {
	w.t.Helper()
	cmd, at := w.serve()
	defer w.terminate(cmd, cmd.Process)
	answer := w.ask(at, "GET", "/v1/jobs?type=workflow", nil)
	var page operation.JobPage
	text, err := io.ReadAll(answer.Body)
	if err != nil || json.Unmarshal(text, &page) != nil {
		w.t.Fatalf("%s: %v", text, err)
	}
	for _, q := range acknowledged {
		if !slices.ContainsFunc(page.Items, func(j job.Job) bool { return j.ID == q.JobID }) {
			w.t.Errorf("job %s is lost", q.JobID)
		}
	}
	for _, listed := range page.Items {
		w.awaitEnd(at, listed.ID)
		var j job.Job
		var ran operation.RunJob
		if code := w.json(&j, "jobs", "show", listed.ID); code != exitPassed || json.Unmarshal(j.Result, &ran) != nil {
			w.t.Fatalf("exit %d, %+v", code, j)
		}
		if j.Status != job.StatusCompleted || ran.Status != core.StatusPassed {
			w.t.Errorf("job %s is %s (%s: %s), its run %s", j.ID, j.Status, j.Reason, j.Message, ran.Status)
		}
	}
	ends := w.jobEnds()
	for _, listed := range page.Items {
		if ends[listed.ID] != 1 {
			w.t.Errorf("job %s has %d ends", listed.ID, ends[listed.ID])
		}
	}
	var runs struct{ Items []shownRun }
	if w.json(&runs, "runs", "list"); len(runs.Items) != len(page.Items) {
		w.t.Errorf("%d runs of %d jobs", len(runs.Items), len(page.Items))
	}
	if len(page.Items) > 0 {
		w.checkTally()
	}
}

// TestJobs_MaintenanceSurvivesAKillAtAnyMoment: a job of each type that an operator may ask for
// ends once, whenever its server is killed, and the next server waits for nobody.
func TestJobs_MaintenanceSurvivesAKillAtAnyMoment(t *testing.T) {
	coretest.Long(t)
	w := newKillWorld(t)
	types := []job.Type{job.Revalidate, job.Reembed, job.Compact}
	for i := range 30 {
		w.took("memory", "observe", "--namespace", "team/a", "--content", fmt.Sprintf("memory %d", i))
	}
	kept := filepath.Join(w.dir, "kept")
	if err := os.CopyFS(kept, os.DirFS(filepath.Join(w.dir, "data"))); err != nil {
		t.Fatal(err)
	}
	for range kills(9) {
		if err := errors.Join(os.RemoveAll(filepath.Join(w.dir, "data")), os.CopyFS(filepath.Join(w.dir, "data"), os.DirFS(kept))); err != nil {
			t.Fatal(err)
		}
		cmd, at := w.serve()
		killed := make(chan struct{})
		go func() {
			defer close(killed)
			<-time.After(rand.N(60 * time.Millisecond))
			_ = cmd.Process.Kill()
		}()
		asked := 0
		for _, kind := range types {
			answer := w.ask(at, "POST", "/v1/jobs", operation.JobEnqueue{Type: kind, Namespace: "team/a"})
			if answer == nil {
				break
			}
			if _ = answer.Body.Close(); answer.StatusCode == http.StatusOK {
				asked++
			}
		}
		<-killed
		_ = cmd.Wait()
		w.checkMaintained(asked)
	}
}

// checkMaintained lets another server do what the killed one left of so many jobs.
func (w *killWorld) checkMaintained(asked int) {
	w.t.Helper()
	cmd, at := w.serve()
	defer w.terminate(cmd, cmd.Process)
	var page operation.JobPage
	if code := w.json(&page, "jobs", "list"); code != exitPassed || len(page.Items) < asked {
		w.t.Fatalf("exit %d: %d jobs of %d that were acknowledged", code, len(page.Items), asked)
	}
	for _, listed := range page.Items {
		w.awaitEnd(at, listed.ID)
		var j job.Job
		if w.json(&j, "jobs", "show", listed.ID); j.Status != job.StatusCompleted || j.Attempts > 2 {
			w.t.Errorf("job %s of %s is %s (%s: %s) after %d attempts", j.ID, j.Type, j.Status, j.Reason, j.Message, j.Attempts)
		}
	}
	for stream, ends := range w.jobEnds() {
		if ends != 1 {
			w.t.Errorf("job %s has %d ends", stream, ends)
		}
	}
}

// jobEnds counts the ends of the operator's jobs.
func (w *killWorld) jobEnds() map[string]int {
	w.t.Helper()
	var events operation.Page[struct {
		Type string
		Data struct {
			JobID string `json:"job_id"`
		}
	}]
	w.json(&events, "audit", "show", job.Stream(core.OperatorSubject), "--limit", "200")
	ends := map[string]int{}
	for _, e := range events.Items {
		if e.Type == "agent.job.completed" || e.Type == "agent.job.failed" {
			ends[e.Data.JobID]++
		}
	}
	return ends
}
