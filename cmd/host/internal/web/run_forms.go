package web

import (
	"encoding/json"
	"net/url"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/sdk"
)

// runForms are the forms for what can be done with a run.
func runForms() []form {
	return []form{
		{path: "/runs/{id}/resume", nav: "/runs", do: resumeRun},
		{path: "/runs/{id}/replay", nav: "/runs", do: replayRun},
		{path: "/runs/{id}/cancel", nav: "/runs", do: cancelRun, ask: askCancelRun},
	}
}

func resumeRun(v *visit) (string, error) {
	in := &operation.RunResume{ID: v.PathValue("id")}
	_, err := call[operation.JobQueued](v, "run_resume", in)
	return "/runs/" + url.PathEscape(in.ID), err
}

func replayRun(v *visit) (string, error) {
	in := &operation.RunReplay{ID: v.PathValue("id"), Evaluator: v.PostFormValue("evaluator"), Accept: v.PostFormValue("accept")}
	queued, err := call[operation.JobQueued](v, "run_replay", in)
	if err != nil {
		return "", err
	}
	return "/runs/" + url.PathEscape(in.ID) + "?" + url.Values{"job": {queued.JobID}}.Encode() + "#run-replay", nil
}

func askCancelRun(v *visit) (*question, error) {
	in := &operation.RunGet{ID: v.PathValue("id")}
	r, err := call[operation.Run](v, "run_get", in)
	if err != nil {
		return nil, err
	}
	back := "/runs/" + url.PathEscape(r.RunID)
	q := &question{
		Title: "Cancel this run?", Crumbs: []crumb{{"Runs", "/runs"}, {short(r.RunID), back}}, Button: "Cancel the run", Back: back,
		Text: "The run of " + line(r.Workflow, 100) + " stops after the step that it is at. What it has made is kept, and it can be resumed.",
	}
	_, err = jobOfRun(v, r.RunID)
	return q, err
}

func cancelRun(v *visit) (string, error) {
	id := v.PathValue("id")
	found, err := jobOfRun(v, id)
	if err != nil {
		return "", err
	}
	_, err = call[operation.JobCancelled](v, "job_cancel", &operation.JobCancel{ID: found})
	return "/runs/" + url.PathEscape(id), err
}

// maxJobs is how many jobs are looked at to find the one that runs a run.
const maxJobs = 100

// jobOfRun is the job that works on a run, among the running and waiting jobs.
func jobOfRun(v *visit, id string) (string, error) {
	for _, status := range []job.Status{job.StatusRunning, job.StatusQueued} {
		page, err := call[operation.JobPage](v, "job_list", &operation.JobList{Type: job.Workflow, Status: status, Paging: operation.Paging{Limit: maxJobs}})
		if err != nil {
			return "", err
		}
		for _, listed := range page.Items {
			j, err := call[job.Job](v, "job_get", &operation.JobGet{ID: listed.ID})
			if err != nil {
				continue // it is gone by now
			}
			var of struct {
				RunID string `json:"run_id"`
			}
			if json.Unmarshal(j.Payload, &of) == nil && of.RunID == id {
				return j.ID, nil
			}
		}
	}
	return "", sdk.Errorf(sdk.Conflict, "run_without_job", "No job works on this run: a program that isn’t this server’s runs it, or nobody does.").
		WithHint("End the program that started it, such as a command in a terminal.")
}

// replayView is a requested replay.
type replayView struct {
	Job *job.Job `json:"job"`
	// Result is its result; nil before its end.
	Result *host.Replayed `json:"result,omitempty"`
	Live   string         `json:"-"`
}

// replay adds the replay whose job the address names.
func (d *runData) replay(v *visit) error {
	id := v.query("job")
	if id == "" {
		return nil
	}
	j, err := call[job.Job](v, "job_get", &operation.JobGet{ID: id})
	if err != nil {
		return err
	}
	d.Replay = &replayView{Job: j}
	var result host.Replayed
	switch {
	case j.Status == job.StatusCompleted && json.Unmarshal(j.Result, &result) == nil && result.RunID == d.Run.RunID:
		d.Replay.Result = &result
	case !j.Status.Terminal():
		d.Replay.Live = "/v1/jobs/" + url.PathEscape(j.ID) + "/events"
	}
	j.Payload, j.Result = nil, nil // the page has what it needs from them
	return nil
}

// Running reports whether the run is still running.
func (d *runData) Running() bool { return d.Run.Status == core.StatusRunning }
