//go:build linux

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/job"
)

// poisoned is a world in which twelve runs make progress, and one kills its server each time it is started.
type poisoned struct {
	*killWorld
	cmd  *exec.Cmd
	at   served
	gone chan struct{} // closed once the server has ended
	// ends are how many servers were killed, by the test or by the poison.
	ends int
	// runs are the jobs by their run's place: each run notes its calls in a file of its own.
	runs []string
}

const poisonPlace = 4

// again starts the next server.
func (p *poisoned) again() {
	p.t.Helper()
	p.cmd, p.at = p.serve()
	cmd, gone := p.cmd, make(chan struct{})
	p.gone = gone
	go func() {
		defer close(gone)
		_ = cmd.Wait()
	}()
	p.t.Cleanup(func() { // before serve's own, which waits for it again
		_ = cmd.Process.Kill()
		<-gone
	})
}

// kill ends the server, if it hasn't been ended, and starts the next one.
func (p *poisoned) kill() {
	p.t.Helper()
	_ = p.cmd.Process.Kill()
	<-p.gone
	p.ends++
	p.again()
}

func (p *poisoned) file(place int) string {
	return filepath.Join(p.dir, fmt.Sprintf("tally-%d.txt", place))
}

// notes is how many calls each run has made.
func (p *poisoned) notes() (list []int) {
	for place := range p.runs {
		text, _ := os.ReadFile(p.file(place))
		list = append(list, bytes.Count(text, []byte("\n")))
	}
	return list
}

// queue queues a run. The poison may end the server meanwhile.
func (p *poisoned) queue(place, passes int) {
	p.t.Helper()
	workflow := fmt.Sprintf(tallyWorkflow, p.file(place), passes)
	if place == poisonPlace {
		workflow = fmt.Sprintf("name: poison\nnodes:\n  - {name: n, action: plugin.call, with: {plugin: test/tally, config: {file: %q, kills: true}}}\n", p.file(place))
	}
	for {
		status, text := p.keyed(p.at, "/v1/runs", fmt.Sprint("run-", place), operation.RunStart{Workflow: workflow})
		var queued operation.JobQueued
		switch {
		case status == 0:
			p.kill()
			continue
		case status != http.StatusAccepted || json.Unmarshal([]byte(text), &queued) != nil:
			p.t.Fatalf("%d %s", status, text)
		}
		p.runs = append(p.runs, queued.JobID)
		return
	}
}

// jobs are the jobs as the server lists them, by their ids; nil if it is gone.
func (p *poisoned) jobs() map[string]job.Job {
	p.t.Helper()
	answer := p.ask(p.at, http.MethodGet, "/v1/jobs?type=workflow", nil)
	if answer == nil {
		return nil
	}
	defer answer.Body.Close()
	var page operation.JobPage
	if json.NewDecoder(answer.Body).Decode(&page) != nil {
		return nil
	}
	list := map[string]job.Job{}
	for _, j := range page.Items {
		list[j.ID] = j
	}
	return list
}

// awaitProgress waits until each run that the server runs has recorded an attempt since the server's start, or
// until the server is gone. A run's third note shows that the attempt of its second is recorded.
func (p *poisoned) awaitProgress() {
	p.t.Helper()
	before := p.notes()
	until(p.t, "the runs go on", func() bool {
		select {
		case <-p.gone:
			return true
		default:
		}
		jobs, now := p.jobs(), p.notes()
		working := 0
		for place, id := range p.runs {
			if j := jobs[id]; j.Status == job.StatusRunning {
				if now[place] < before[place]+3 {
					return false
				}
				working++
			}
		}
		return working > 0
	})
}

// TestJobs_OnlyPoisonEndsOfKills: servers are killed one after the other while twelve runs make progress, and by
// a thirteenth run whenever it starts. That one ends as poisoned after three starts; each of the others passes.
func TestJobs_OnlyPoisonEndsOfKills(t *testing.T) {
	coretest.Long(t)
	kills := coretest.Heavy(6, 30)
	p := &poisoned{killWorld: newKillWorld(t).count()}
	p.again()
	for place := range 13 {
		p.queue(place, 6*kills)
	}
	for p.ends < kills {
		p.awaitProgress()
		p.kill()
	}
	until(t, "all runs end", func() bool {
		select {
		case <-p.gone:
			p.ends++
			p.again()
		case <-time.After(50 * time.Millisecond):
		}
		ended := 0
		for _, j := range p.jobs() {
			if j.Status == job.StatusCompleted || j.Status == job.StatusFailed {
				ended++
			}
		}
		return ended == len(p.runs)
	})
	for place, id := range p.runs {
		var j job.Job
		var ran operation.RunJob
		p.json(&j, "jobs", "show", id)
		if place == poisonPlace {
			if j.Status != job.StatusFailed || j.Reason != job.Poisoned || p.notes()[place] != 3 {
				t.Errorf("the poison is %s (%s: %s) after %d starts", j.Status, j.Reason, j.Message, p.notes()[place])
			}
			continue
		}
		if json.Unmarshal(j.Result, &ran) != nil || j.Status != job.StatusCompleted || ran.Status != core.StatusPassed {
			t.Errorf("run %d is %s (%s: %s)", place, j.Status, j.Reason, j.Message)
		}
	}
	t.Logf("%d servers ended", p.ends)
}
