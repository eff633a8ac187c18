package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/store/mem"
)

// writing is a site with the plugin test/judge, whose jobs are worked on until the test ends.
func writing(t *testing.T) *site {
	t.Helper()
	s := &site{World: operationtest.NewWithJudge(t, mem.Open())}
	s.api = s.newAPI(Limits{Requests: -1, Writes: -1, FailedLogins: -1})
	return s
}

// work begins to work on jobs, until the test ends.
func (s *site) work() {
	s.T.Helper()
	p, err := s.Host.Workers.NewPool(operation.Handlers(s.Host))
	s.Must(err)
	s.Must(p.Start(s.Ctx))
	s.T.Cleanup(func() { s.Must(p.Stop(context.WithoutCancel(s.Ctx))) })
}

// write queues a run of a loop that passes once its generator is asked for pieces: a text, so many times.
func (s *site) write(iterations int, text string, times int) operation.JobQueued {
	s.T.Helper()
	workflow := fmt.Sprintf(`name: write
nodes:
  - name: draft
    action: reflection.loop
    with:
      generator: {plugin: test/judge, config: {pieces: [%q], times: %d}}
      evaluator: {plugin: test/judge, config: {want: in pieces}}
      max_iterations: %d
`, text, times, iterations)
	a := s.send("here", "POST", "/v1/runs", string(jsontext.MustEncode(operation.RunStart{Workflow: workflow, Namespace: operationtest.Here})))
	var queued operation.JobQueued
	if err := json.Unmarshal([]byte(a.body), &queued); err != nil || a.StatusCode != http.StatusAccepted {
		s.T.Fatalf("%d %s", a.StatusCode, a.body)
	}
	return queued
}

// pieces reads a stream to its end, and returns the text of its pieces, of which each must begin where the last
// one ended and come before its attempt is recorded, and the names of the other events.
func (r *reader) pieces(runID string) (text string, others []string) {
	r.t.Helper()
	recorded := 0
	for {
		e, more := r.next()
		switch {
		case !more || e.name == "bye":
			return text, others
		case e.name != "run.piece":
			others = append(others, e.name)
			if e.name == "output_recorded" {
				recorded++
			}
			continue
		}
		var p client.StreamPiece
		if err := json.Unmarshal([]byte(e.data), &p); err != nil {
			r.t.Fatal(err)
		}
		want := client.StreamPiece{RunID: runID, Visit: 1, Node: "draft", Iteration: p.Iteration, Offset: utf8.RuneCountInString(text), Text: p.Text}
		if p != want || e.id != "" || len(p.Text) > maxPiece || p.Iteration <= recorded {
			r.t.Errorf("after %v comes %.300s with id %q", others, e.data, e.id)
		}
		text += p.Text
	}
}

// TestPieces_ReachTheFollowersOfARun, and of its job, before the attempt is recorded: joined they are what
// was written, in events that aren't long. Who reads nothing holds neither the run nor who reads.
func TestPieces_ReachTheFollowersOfARun(t *testing.T) {
	s := writing(t)
	server, l := s.start()
	const text, times = "Größe zählt. ", 10_000
	q := s.write(1, text, times)
	ofJob := s.open(l, "here", "/v1/jobs/"+q.JobID+"/events")
	again := s.open(l, "operator", "/v1/jobs/"+q.JobID+"/events", "Last-Event-ID", "1")
	stuck := s.open(l, "operator", "/v1/jobs/"+q.JobID+"/events")
	s.work()
	for _, r := range []*reader{ofJob, again} {
		if got, others := r.pieces(q.RunID); got != strings.Repeat(text, times) {
			t.Errorf("%d bytes, and %v", len(got), others)
		}
		r.close()
	}
	if run, err := s.Host.Runs.Get(s.Ctx, q.RunID); err != nil || run.Status != core.StatusPassed {
		t.Errorf("%+v, %v", run, err)
	}
	stuck.close()
	s.Must(server.Stop())
}

// TestPieces_ComeToWhoIsLate from the next attempt on, on the run's own stream, and to nobody of another tenant.
func TestPieces_ComeToWhoIsLate(t *testing.T) {
	s := writing(t)
	server, l := s.start()
	const text, times = "word ", 20_000
	q := s.write(1000, text, times)
	s.work()
	run, job := "/v1/runs/"+q.RunID+"/events", "/v1/jobs/"+q.JobID+"/events"
	for a := (&answer{}); a.Response == nil || a.StatusCode == http.StatusNotFound; a = s.send("here", "GET", "/v1/runs/"+q.RunID, "") {
	}
	for _, path := range []string{run, job} {
		if a := s.send("elsewhere", "GET", path, ""); a.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, a.StatusCode, a.body)
		}
	}
	r := s.open(l, "here", run)
	got, others := r.pieces(q.RunID)
	if got != strings.Repeat(text, times) || len(others) == 0 || others[len(others)-1] != "run.ended" {
		t.Errorf("%d bytes, and %v", len(got), others)
	}
	r.close()
	if run, err := s.Host.Runs.Get(s.Ctx, q.RunID); err != nil || run.Status != core.StatusPassed {
		t.Errorf("%+v, %v", run, err)
	}
	s.Must(server.Stop())
}
