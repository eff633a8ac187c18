package mcpserver

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/reflection"
)

// TestReflect_AnswersOfEachKind to the byte, as an agent gets them: JOB is the job's id, and the
// time is always the same.
func TestReflect_AnswersOfEachKind(t *testing.T) {
	w := operationtest.New(t)
	s := newServerOf(t, w)
	anna := overStdio(t, s, Agent, core.Caller{Subject: "anna", Scopes: core.Scopes(), Namespaces: []string{"users/anna"}})
	const now = `"2000-01-01T00:00:00Z"`
	id := ""
	expect := func(tool, args, want string) {
		t.Helper()
		got := call(t, anna, tool, json.RawMessage(strings.ReplaceAll(args, "JOB", id)))
		if id == "" {
			id = member[string](t, got.text, "job_id")
		}
		if text := strings.ReplaceAll(got.text, id, "JOB"); got.isError || text != want || !equalJSON(t, got.structured, got.text) {
			t.Errorf("%s %s:\n%s, want\n%s", tool, args, text, want)
		}
	}
	claim := func() job.Lease {
		t.Helper()
		for {
			claimed, err := w.Host.Jobs.Claim(w.Ctx, "worker", []job.Type{job.Reflection})
			w.Must(err)
			if claimed.ID == id {
				return claimed.Held
			}
			w.Must(w.Host.Jobs.Fail(w.Ctx, claimed.Held, &job.Outcome{})) // another one's
		}
	}
	const ofJob, absent = `{"job_id":"JOB","user_id":"anna"}`, `{"status":"not_found"}`

	expect("reflect", `{"user_id":"anna","force":true}`, `{"status":"queued","job_id":"JOB","queued_at":`+now+`,"eta_seconds":30}`)
	expect("reflect", `{"user_id":"anna","force":true}`, `{"status":"already_running","job_id":"JOB"}`)
	expect("reflect_status", ofJob, `{"status":"queued","job_id":"JOB","queued_at":`+now+`,"started_at":null,"progress":0}`)
	lease := claim()
	w.Must(w.Host.Jobs.Progress(w.Ctx, lease, 0.5))
	expect("reflect_status", ofJob, `{"status":"running","job_id":"JOB","queued_at":`+now+`,"started_at":`+now+`,"progress":0.5}`)
	for _, args := range []string{ // another user's, another namespace's, and none
		`{"job_id":"JOB","user_id":"bert"}`, `{"job_id":"` + w.ReflectionJob("users/bert") + `","user_id":"anna"}`,
		`{"job_id":"` + w.Job("users/anna") + `","user_id":"anna"}`, `{"job_id":"ffffffff-0000-7000-8000-00000000dead","user_id":"anna"}`, `{"job_id":"","user_id":"anna"}`,
	} {
		expect("reflect_status", args, absent)
		expect("cancel_reflection", args, `{"status":"not_found","cancelled":false}`)
	}
	w.Must(w.Host.Jobs.Complete(w.Ctx, lease, &job.Outcome{Result: jsontext.MustEncode(reflection.Result{
		InsightsCreated: 1, MemoriesAnalyzed: 4, Insights: []reflection.Insight{{MemoryID: "m", Content: "c", Question: "q", Importance: 0.7, Sources: []string{"s"}}},
	})}))
	expect("reflect_status", ofJob, `{"status":"completed","job_id":"JOB","completed_at":`+now+`,"insights_created":1,"procedures_created":0,`+
		`"insights":[{"memory_id":"m","content":"c","question":"q","importance":0.7,"sources":["s"]}],"procedures":[],"memories_analyzed":4}`)
	expect("cancel_reflection", ofJob, `{"status":"completed","cancelled":false}`)
	expect("reflect", `{"user_id":"anna"}`, `{"status":"not_triggered","reason":"no trigger conditions met"}`)
	expect("stats", `{"scope":"reflection","user_id":"anna"}`, `{"reflection":{"pending_jobs":0,"running_jobs":0,`+
		`"last_completed_job":{"job_id":"JOB","completed_at":`+now+`,"insights_created":1},"triggers":{"namespace":"users/anna","due":false,"reason":"no trigger conditions met",`+
		`"importance":0,"observations":0,"hours":0,"thresholds":{"importance":150,"observations":100,"hours":24}}}}`)

	id = ""
	expect("reflect", `{"user_id":"anna","force":true}`, `{"status":"queued","job_id":"JOB","queued_at":`+now+`,"eta_seconds":0}`)
	expect("cancel_reflection", ofJob, `{"status":"cancelled","cancelled":true}`)
	expect("reflect_status", ofJob, `{"status":"cancelled","job_id":"JOB","completed_at":`+now+`,"reason":"cancel_requested"}`)
	id = ""
	expect("reflect", `{"user_id":"anna","force":true}`, `{"status":"queued","job_id":"JOB","queued_at":`+now+`,"eta_seconds":0}`)
	w.Must(w.Host.Jobs.Fail(w.Ctx, claim(), &job.Outcome{Reason: "no_generator"}))
	expect("reflect_status", ofJob, `{"status":"failed","job_id":"JOB","reason":"no_generator"}`)
	expect("reflect", `{"user_id":"anna","force":true}`, `{"status":"rate_limited","retry_after_seconds":3600}`)
}
