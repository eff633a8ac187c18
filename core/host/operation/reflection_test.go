package operation_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/reflection"
	"github.com/reflectory/reflectory/sdk"
)

// said is an answer as compact JSON.
func said(w *world, c core.Caller, name string, in any) string {
	w.T.Helper()
	out, err := w.Do(c, name, in)
	if err != nil {
		return "error " + sdk.ReasonOf(err)
	}
	text, err := json.Marshal(out)
	w.Must(err)
	return string(text)
}

// TestReflection_AnswersAtOnce: each answer in its exact shape.
func TestReflection_AnswersAtOnce(t *testing.T) {
	w := newWorld(t)
	operator := core.Operator("")
	anna := core.Caller{Subject: "anna-token", Scopes: []core.Scope{core.ScopeMemoryRead, core.ScopeMemoryWrite}, Namespaces: []string{"users/anna"}}
	bob := core.Caller{Subject: "bob-token", Scopes: anna.Scopes, Namespaces: []string{"users/bob"}}
	force := &operation.ReflectionEnqueue{UserID: "anna", Force: true}
	var queued operation.ReflectionEnqueued
	expect := func(c core.Caller, name string, in any, want string) string {
		t.Helper()
		got := said(w, c, name, in)
		if want = strings.ReplaceAll(want, "JOB", queued.JobID); got != want && want != "" {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		return got
	}
	status := &operation.ReflectionStatus{UserID: "anna"}
	expect(anna, "reflection_enqueue", &operation.ReflectionEnqueue{UserID: "anna"}, `{"status":"not_triggered","reason":"no trigger conditions met"}`)
	w.Must(json.Unmarshal([]byte(expect(anna, "reflection_enqueue", force, "")), &queued))
	expect(anna, "reflection_enqueue", force, `{"status":"already_running","job_id":"JOB"}`)
	status.JobID = queued.JobID
	const now = `"2000-01-01T00:00:00Z"`
	if queued.Status != "queued" || *queued.ETASeconds != 30 {
		t.Errorf("%+v", queued)
	}
	expect(anna, "reflection_status", status, `{"status":"queued","job_id":"JOB","queued_at":`+now+`,"started_at":null,"progress":0}`)
	expect(bob, "reflection_status", status, `{"status":"not_found"}`)
	expect(bob, "reflection_cancel", &operation.ReflectionCancel{JobID: queued.JobID}, `{"status":"not_found","cancelled":false}`)
	expect(anna, "reflection_status", &operation.ReflectionStatus{JobID: queued.JobID, UserID: "bob"}, `{"status":"not_found"}`)
	expect(anna, "reflection_status", &operation.ReflectionStatus{JobID: "nothing", UserID: "anna"}, `{"status":"not_found"}`)
	// Without a namespace, a reflection is on what the caller itself observed, and takes no place of another user's.
	expect(bob, "reflection_enqueue", &operation.ReflectionEnqueue{UserID: "anna"}, `{"status":"not_triggered","reason":"no trigger conditions met"}`)
	expect(bob, "reflection_enqueue", &operation.ReflectionEnqueue{UserID: "anna", Namespace: "users/anna"}, "error namespace_denied")
	expect(bob, "reflection_enqueue", &operation.ReflectionEnqueue{UserID: "anna", Namespace: "users/bob", Force: true}, "error user_denied")
	cancel := &operation.ReflectionCancel{JobID: queued.JobID, UserID: "anna"}
	expect(anna, "reflection_cancel", cancel, `{"status":"cancelled","cancelled":true}`)
	expect(anna, "reflection_cancel", cancel, `{"status":"cancelled","cancelled":false}`)
	expect(anna, "reflection_status", status, `{"status":"cancelled","job_id":"JOB","completed_at":`+now+`,"reason":"cancel_requested"}`)
	for range 2 { // with the first one these are three
		w.Must(json.Unmarshal([]byte(expect(operator, "reflection_enqueue", force, "")), &queued))
		expect(operator, "reflection_cancel", &operation.ReflectionCancel{JobID: queued.JobID}, `{"status":"cancelled","cancelled":true}`)
	}
	expect(anna, "reflection_enqueue", force, `{"status":"rate_limited","retry_after_seconds":3600}`)
	expect(anna, "stats", &operation.StatsGet{Scope: operation.StatsReflection, UserID: "anna"},
		`{"reflection":{"pending_jobs":0,"running_jobs":0,"last_completed_job":null,"triggers":{"namespace":"users/anna","due":false,"reason":"no trigger conditions met","importance":0,"observations":0,"hours":0,"thresholds":{"importance":150,"observations":100,"hours":24}}}}`)
}

// TestReflection_ShowsWhatItMadeInPages ends jobs as a worker does.
func TestReflection_ShowsWhatItMadeInPages(t *testing.T) {
	w := newWorld(t)
	end := func(do func(l job.Lease) error) string {
		t.Helper()
		made, err := w.Host.Reflections.Queue(w.Ctx, "anna", reflection.Request{Namespace: "users/anna", Force: true})
		w.Must(err)
		claimed, err := w.Host.Jobs.Claim(w.Ctx, "worker", []job.Type{job.Reflection})
		w.Must(err)
		if claimed == nil || claimed.ID != made.Job.ID {
			t.Fatalf("claimed %+v", claimed)
		}
		w.Must(do(claimed.Held))
		return made.Job.ID
	}
	result := reflection.Result{InsightsCreated: 45, Insights: []reflection.Insight{}, Procedures: []reflection.Procedure{}, MemoriesAnalyzed: 9}
	for i := range 45 {
		result.Insights = append(result.Insights, reflection.Insight{Content: fmt.Sprint(i)})
	}
	id := end(func(l job.Lease) error {
		return w.Host.Jobs.Complete(w.Ctx, l, &job.Outcome{Result: jsontext.MustEncode(result)})
	})
	var seen []string
	for in := (&operation.ReflectionStatus{JobID: id}); ; {
		out, err := w.Do(core.Operator(""), "reflection_status", in)
		w.Must(err)
		p := out.(*operation.ReflectionProgress)
		if p.Status != "completed" || *p.InsightsCreated != 45 || *p.MemoriesAnalyzed != 9 || p.Procedures == nil || len(p.Insights) > 20 {
			t.Fatalf("%+v", p)
		}
		for _, i := range p.Insights {
			seen = append(seen, i.Content)
		}
		if in.PageToken = p.NextPageToken; in.PageToken == "" {
			break
		}
	}
	if len(seen) != 45 || seen[44] != "44" {
		t.Errorf("%v", seen)
	}
	if _, err := w.Do(core.Operator(""), "reflection_status", &operation.ReflectionStatus{JobID: id, PageToken: "x"}); sdk.ReasonOf(err) != "invalid_page_token" {
		t.Error(err)
	}
	failed := end(func(l job.Lease) error { return w.Host.Jobs.Fail(w.Ctx, l, &job.Outcome{Reason: "no_generator"}) })
	if got := said(w, core.Operator(""), "reflection_status", &operation.ReflectionStatus{JobID: failed}); got != `{"status":"failed","job_id":"`+failed+`","reason":"no_generator"}` {
		t.Error(got)
	}
	stats := said(w, core.Operator(""), "stats", &operation.StatsGet{Scope: operation.StatsReflection, UserID: "anna"})
	if !strings.Contains(stats, `"last_completed_job":{"job_id":"`+id+`","completed_at":"2000-01-01T00:00:00Z","insights_created":45}`) ||
		!strings.Contains(stats, `"rest_until":"2000-01-01T00:10:00Z"`) {
		t.Error(stats)
	}
}
