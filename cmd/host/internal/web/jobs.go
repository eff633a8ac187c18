package web

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"time"

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
	// Folded are the completed jobs of the host itself that aren't in Items, in groups.
	Folded []foldedJobs `json:"folded,omitempty"`
	// Types are the types of jobs that can be queued here.
	Types []job.Type `json:"-"`
	Live  string     `json:"-"`
	Next  string     `json:"-"`
}

// foldedJobs are completed jobs of one type that the host queued for itself.
type foldedJobs struct {
	Type  job.Type `json:"type"`
	Count int      `json:"count"`
	// Newest is when the newest of them was queued.
	Newest time.Time `json:"newest"`
	// URL is the list of them.
	URL string `json:"-"`

	newest job.Job
}

const (
	// minUnfolded is how many jobs a page shows besides the folded ones, if there are as many.
	minUnfolded = 20
	// maxFolded is how many pages of the list are read for them.
	maxFolded = 20
)

// folds reports whether a job is folded: the host queues such jobs by itself, some after almost
// every turn, and one that has completed isn't news. A list of one type, user or status isn't
// folded.
func (d *jobsData) folds(j *job.Job) bool {
	return d.Filter.Type == "" && d.Filter.UserID == "" && d.Filter.Status == "" &&
		j.UserID == job.SystemUser && j.Status == job.StatusCompleted && slices.Contains(d.Types, j.Type)
}

// read reads pages of the list until there are enough jobs that aren't folded.
func (d *jobsData) read(v *visit) error {
	var items []job.Job
	filter := d.Filter
	for range maxFolded {
		found, err := call[operation.JobPage](v, "job_list", &filter)
		if err != nil {
			return err
		}
		for i := range found.Items {
			if j := &found.Items[i]; d.folds(j) {
				d.fold(v, j)
			} else {
				items = append(items, *j)
			}
		}
		d.JobPage = *found
		if filter.PageToken = found.NextPageToken; filter.PageToken == "" || len(items) >= minUnfolded {
			break
		}
	}
	d.Items = append([]job.Job{}, items...)
	d.Folded = slices.DeleteFunc(d.Folded, func(f foldedJobs) bool {
		if f.Count == 1 { // a group of one says less than the job itself
			d.Items = append(d.Items, f.newest)
		}
		return f.Count == 1
	})
	slices.SortStableFunc(d.Items, func(a, b job.Job) int { return b.QueuedAt.Compare(a.QueuedAt) })
	return nil
}

// fold counts a job.
func (d *jobsData) fold(v *visit, j *job.Job) {
	at := slices.IndexFunc(d.Folded, func(f foldedJobs) bool { return f.Type == j.Type })
	if at < 0 {
		at = len(d.Folded)
		d.Folded = append(d.Folded, foldedJobs{Type: j.Type, Newest: j.QueuedAt, URL: v.with(
			"type", string(j.Type), "user_id", job.SystemUser, "status", string(job.StatusCompleted), "page_token", ""), newest: *j})
	}
	d.Folded[at].Count++
}

func loadJobs(v *visit) (*content, error) {
	d := &jobsData{Types: operation.MaintenanceTypes(), Filter: operation.JobList{
		Namespace: v.query("namespace"), Subtree: v.query("subtree") != "", UserID: v.query("user_id"), Type: job.Type(v.query("type")), Status: job.Status(v.query("status")),
		Paging: operation.Paging{Limit: v.limit(maxRows), PageToken: v.query("page_token")},
	}}
	if err := d.read(v); err != nil {
		return nil, err
	}
	d.Statuses = choices(v, "status", "all", job.Statuses())
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
