package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/jsontext"
)

// queue asks for a run over TCP, and returns the job.
func (s *site) queue(who string) operation.JobQueued {
	s.T.Helper()
	body := jsontext.MustEncode(operation.RunStart{Workflow: operationtest.LostYAML, Namespace: operationtest.Here})
	a := s.send(who, "POST", "/v1/runs", string(body))
	var queued operation.JobQueued
	if err := json.Unmarshal([]byte(a.body), &queued); err != nil || a.StatusCode != http.StatusAccepted {
		s.T.Fatalf("%d %s", a.StatusCode, a.body)
	}
	return queued
}

// TestJobs_OfLongOperations: a run is asked for over TCP, found by the id that the answer
// named once the job has run, and for others its job doesn't exist.
func TestJobs_OfLongOperations(t *testing.T) {
	s := newSite(t)
	queued := s.queue("here")
	p, err := s.Host.Workers.NewPool(operation.Handlers(s.Host))
	s.Must(err)
	if _, err := p.RunUntilIdle(t.Context()); err != nil {
		t.Fatal(err)
	}
	var j job.Job
	a := s.send("here", "GET", "/v1/jobs/"+queued.JobID, "")
	s.Must(json.Unmarshal([]byte(a.body), &j))
	var ran operation.RunJob
	s.Must(json.Unmarshal(j.Result, &ran))
	if j.Status != job.StatusCompleted || !reflect.DeepEqual(ran, operation.RunJob{RunID: queued.RunID, Status: core.StatusError}) {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	if a := s.send("here", "GET", "/v1/runs/"+queued.RunID, ""); a.StatusCode != 200 {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	const never = "ffffffff-0000-7000-8000-00000000dead"
	for _, path := range []string{"/v1/jobs/%s", "/v1/jobs/%s/events"} {
		there := s.send("elsewhere", "GET", fmt.Sprintf(path, queued.JobID), "")
		absent := s.send("elsewhere", "GET", fmt.Sprintf(path, never), "")
		got, want := there.problem(t), absent.problem(t)
		got.TraceID, want.TraceID = "", ""
		text := strings.ReplaceAll(string(jsontext.MustEncode(got)), queued.JobID, never)
		if there.StatusCode != 404 || text != string(jsontext.MustEncode(want)) {
			t.Errorf("%s: %d %s, want %s", path, there.StatusCode, text, jsontext.MustEncode(want))
		}
	}
}

// TestJobs_FullQueues: a user's own is too many requests, the whole one an unavailable
// service.
func TestJobs_FullQueues(t *testing.T) {
	for code, status := range map[string]int{"exhausted": 429, "unavailable": 503} {
		s := newSite(t)
		o := job.Options{WorkflowsPerUser: 1}
		if code == "unavailable" {
			o = job.Options{QueueTotal: 1}
		}
		jobs, err := job.New(s.Host.Journal, s.Config.IDs, o)
		s.Must(err)
		s.Host.Jobs = jobs
		s.queue("here")
		a := s.send("here", "POST", "/v1/runs", string(jsontext.MustEncode(operation.RunStart{Workflow: operationtest.LostYAML, Namespace: operationtest.Here})))
		if p := a.problem(t); p.Status != status || p.Code != job.QueueFull || a.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %s, Retry-After %q", code, a.StatusCode, a.body, a.Header.Get("Retry-After"))
		}
	}
}

// TestEvents_FollowAJob from its first event, without the events of the user's other jobs,
// with progress that has no id.
func TestEvents_FollowAJob(t *testing.T) {
	s := newSite(t)
	server, l := s.start()
	id, other := s.ReadyJob(operationtest.Here), s.ReadyJob("team/other")
	r := s.open(l, "operator", "/v1/jobs/"+id+"/events")
	r.want("0", "")
	r.want("1", "agent.job.queued")
	for range 2 {
		c, err := s.Host.Jobs.Claim(t.Context(), "h", job.Types())
		s.Must(err)
		if c.ID == other {
			s.Must(s.Host.Jobs.Complete(t.Context(), c.Held, &job.Outcome{}))
			continue
		}
		r.want("3", "agent.job.started")
		s.Must(s.Host.Jobs.Progress(t.Context(), c.Held, 0.5))
		if e := r.want("", "job.progress"); e.data != fmt.Sprintf(`{"job_id":%q,"progress":0.5}`, id) {
			t.Errorf("%s", e.data)
		}
		s.Must(s.Host.Jobs.Fail(t.Context(), c.Held, &job.Outcome{Reason: "broken"}))
		if e := r.want("4", "job.ended"); !strings.Contains(e.data, `"status":"failed"`) || !strings.Contains(e.data, `"reason":"broken"`) {
			t.Errorf("%s", e.data)
		}
		r.wantEnd("4")
	}
	again := s.open(l, "operator", "/v1/jobs/"+id+"/events", "Last-Event-ID", "3")
	again.want("3", "")
	again.want("4", "job.ended")
	again.wantEnd("6")
	later := s.open(l, "operator", "/v1/jobs/"+id+"/events", "Last-Event-ID", "1") // the end isn't the next entry
	for _, name := range []string{"", "agent.job.started", "job.ended", "bye"} {
		if e, _ := later.next(); e.name != name {
			t.Errorf("%+v, want %s", e, name)
		}
	}
	later.close()
	if a := s.send("operator", "GET", "/v1/jobs/"+id+"/events", "", "Last-Event-ID", "6"); a.StatusCode != http.StatusNoContent || a.body != "" {
		t.Errorf("after the end: %d %q", a.StatusCode, a.body)
	}
	s.Must(server.Stop())
}
