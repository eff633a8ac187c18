package web

import (
	"bytes"
	"encoding/json"
	"net/url"

	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/job"
)

// jobPages are the pages of background work.
func jobPages() []page {
	return []page{
		{path: "/jobs", template: "jobs.html", nav: "/jobs", parts: []string{"jobs-list"}, load: loadJobs},
		{path: "/jobs/{id}", template: "job.html", nav: "/jobs", parts: []string{"job-body"}, load: loadJob},
	}
}

func jobForms() []form {
	return []form{
		{path: "/jobs", nav: "/jobs", do: func(v *visit) (string, error) {
			queued, err := call[operation.JobQueued](v, "job_enqueue", &operation.JobEnqueue{Type: job.Type(v.FormValue("type")), Namespace: v.FormValue("namespace")})
			if err != nil {
				return "", err
			}
			return jobURL(queued.JobID), nil
		}},
		{path: "/jobs/{id}/cancel", nav: "/jobs", do: func(v *visit) (string, error) {
			_, err := call[operation.JobCancelled](v, "job_cancel", &operation.JobCancel{ID: v.PathValue("id")})
			return jobURL(v.PathValue("id")), err
		}},
	}
}

func jobTexts() []text {
	return []text{{path: "/jobs/{id}/result", load: func(v *visit) (string, error) {
		j, err := call[job.Job](v, "job_get", &operation.JobGet{ID: v.PathValue("id")})
		if err != nil {
			return "", err
		}
		return indented(j.Result), nil
	}}, {path: "/jobs/{id}/payload", load: func(v *visit) (string, error) {
		j, err := call[job.Job](v, "job_get", &operation.JobGet{ID: v.PathValue("id")})
		if err != nil {
			return "", err
		}
		return indented(j.Payload), nil
	}}}
}

func jobURL(id string) string { return "/jobs/" + url.PathEscape(id) }

// indented is JSON in a readable form; "" is none.
func indented(data json.RawMessage) string {
	var out bytes.Buffer
	if len(data) == 0 || json.Indent(&out, data, "", "  ") != nil {
		return string(data)
	}
	return out.String()
}

// jobsData is a page of the list of jobs.
type jobsData struct {
	operation.JobPage
	Filter   operation.JobList `json:"filter"`
	Statuses []choice          `json:"-"`
	// Types are the types of jobs that can be queued here.
	Types []job.Type `json:"-"`
	Live  string     `json:"-"`
	Next  string     `json:"-"`
}

func loadJobs(v *visit) (*content, error) {
	d := &jobsData{Types: operation.MaintenanceTypes(), Filter: operation.JobList{
		Namespace: v.query("namespace"), Subtree: v.query("subtree") != "", UserID: v.query("user_id"), Type: job.Type(v.query("type")), Status: job.Status(v.query("status")),
		Paging: operation.Paging{Limit: v.limit(maxRows), PageToken: v.query("page_token")},
	}}
	found, err := call[operation.JobPage](v, "job_list", &d.Filter)
	if err != nil {
		return nil, err
	}
	d.JobPage, d.Statuses = *found, choices(v, "status", "all", job.Statuses())
	for _, j := range d.Items {
		if !j.Status.Terminal() {
			d.Live = "/v1/jobs/" + url.PathEscape(j.ID) + "/events"
			break
		}
	}
	if d.NextPageToken != "" {
		d.Next = v.with("page_token", d.NextPageToken)
	}
	return &content{Title: "Jobs", Data: d}, nil
}

// jobData is one job. Its type determines the form of its payload and its
// result.
type jobData struct {
	*job.Job
	Payload *longText `json:"payload,omitempty"`
	Result  *longText `json:"result,omitempty"`
	// Run is the run that it works on; "" for none.
	Run string `json:"run_id,omitempty"`
	// Dream is the plan or pass of housekeeping that it made; "" for none.
	Dream string `json:"dream_run_id,omitempty"`
	Live  string `json:"-"`
	// Replay is the result as a table, if policies were replayed.
	Replay *policyReplayView `json:"-"`
}

func loadJob(v *visit) (*content, error) {
	j, err := call[job.Job](v, "job_get", &operation.JobGet{ID: v.PathValue("id")})
	if err != nil {
		return nil, err
	}
	d := &jobData{Job: j, Dream: dreamOf(j), Replay: policyReplayOf(j)}
	var asked struct {
		RunID string `json:"run_id"`
	}
	if json.Unmarshal(j.Payload, &asked) == nil {
		d.Run = asked.RunID
	}
	if len(j.Result) > 0 {
		d.Result = v.long(indented(j.Result), jobURL(j.ID)+"/result")
	}
	if len(j.Payload) > 0 {
		d.Payload = v.long(indented(j.Payload), jobURL(j.ID)+"/payload")
	}
	if !j.Status.Terminal() {
		d.Live = "/v1/jobs/" + url.PathEscape(j.ID) + "/events"
	}
	return &content{Title: "Job " + short(j.ID), Crumbs: []crumb{{"Jobs", "/jobs"}}, Data: d}, nil
}
