package operation

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// A job stores what its handler needs, and its outcome. A caller that asked for an
// operation and got a job wants the operation's own result instead. For a workflow, this
// is the run's end, which is stored in the run and not in the job. This file makes that
// result, without repeating the request.

// jobResults are the operations on the results of jobs.
func jobResults() []Operation {
	return []Operation{
		define(Operation{
			Name: "job_result", Method: "GET", Path: "/v1/jobs/{id}/result", Scope: core.ScopeRun, Or: jobScopes(), ReadOnly: true, Idempotent: true,
			Doc: "Show the progress of a job, or the result of its operation.",
		}, ofJob(func(in *JobResultGet) (*string, string) { return &in.ID, in.UserID }), jobResult),
	}
}

// JobResultGet names a job.
type JobResultGet struct {
	ID string `json:"id"`
	// UserID, if set, must be the job's user; for another user there is no such job.
	UserID string `json:"user_id,omitempty"`
	Waiting
}

// JobResult is the progress of a job, and its result.
type JobResult struct {
	Status job.Status `json:"status"`
	JobID  string     `json:"job_id"`
	// Operation is the operation that the job does; "" for a job without an operation, such
	// as a reflection. RunID is its run, if there is one.
	Operation string     `json:"operation,omitempty"`
	RunID     string     `json:"run_id,omitempty"`
	QueuedAt  time.Time  `json:"queued_at"`
	StartedAt *time.Time `json:"started_at"`
	// Progress is its progress, from 0 to 1.
	Progress    float64    `json:"progress"`
	CompletedAt *time.Time `json:"completed_at,omitempty"`
	// Reason is how it ended, and Message why it failed.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Failure is the whole error of a job whose work failed.
	Failure *job.Failure `json:"failure,omitempty"`
	// Result is the operation's result, once the job has completed.
	Result json.RawMessage `json:"result,omitempty"`
}

// Err is the error of a job that ended without completing.
func (r *JobResult) Err() error {
	return job.EndError(r.JobID, r.Status, r.Reason, r.Message, r.Failure)
}

func jobResult(ctx context.Context, c *Call, in *JobResultGet) (*JobResult, error) {
	if in.waits() {
		if err := in.Waiting.job(ctx, c, in.ID); err != nil {
			return nil, err
		}
	}
	j, err := c.Host.Jobs.Get(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	var asked work
	_ = json.Unmarshal(j.Payload, &asked) // what it was asked for may be purged
	r := &JobResult{
		Status: j.Status, JobID: j.ID, Operation: asked.Operation, RunID: asked.RunID, QueuedAt: j.QueuedAt, StartedAt: j.StartedAt,
		Progress: j.Progress, CompletedAt: j.CompletedAt, Message: j.Message, Failure: j.Failure, Result: j.Result,
	}
	if j.Status.Terminal() {
		r.Reason = cmp.Or(j.Reason, string(j.Status))
	}
	if j.Status != job.StatusCompleted || asked.RunID == "" {
		return r, nil
	}
	run, err := c.Host.Runs.Get(ctx, asked.RunID)
	switch {
	case sdk.CodeOf(err) == sdk.NotFound: // it was pruned, and only its end is left
		return r, nil
	case err != nil:
		return nil, err
	}
	r.Result, err = jsontext.Encode(RunEnded{run})
	return r, err
}
