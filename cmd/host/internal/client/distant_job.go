package client

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/sdk"
)

// On a server on another machine, long work is a job, since no connection over a network
// lasts as long as a model may take. A command still waits for the job, as it does on its
// own machine.

// jobPause is the time between two polls of a job.
const jobPause = 300 * time.Millisecond

// askTime is how long a request may still take after its caller has given up, because only
// the answer names the job to cancel.
const askTime = 5 * time.Second

// asking is the context of a request for an operation.
func asking(ctx context.Context, o *operation.Operation) (context.Context, context.CancelFunc) {
	if _, queues := o.AsJob(); !queues {
		return ctx, func() {}
	}
	own, abandon := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(askTime, abandon) })
	return own, func() { stop(); abandon() }
}

// jobDone waits for the job that the server has queued, and returns its result as the
// operation's. If the caller gives up, the job is cancelled, and its outcome is the result.
// If the job can't be cancelled, the error names it.
func (d *Distant) jobDone(ctx context.Context, o *operation.Operation, answer *http.Response) (any, error) {
	var queued operation.JobQueued
	if err := json.NewDecoder(io.LimitReader(answer.Body, MaxFrame)).Decode(&queued); err != nil {
		return nil, d.unknown(answer.Status)
	}
	out, err := d.awaitJob(ctx, o, queued.JobID)
	if ctx.Err() == nil {
		return out, err
	}
	last, done := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
	defer done()
	if _, err = d.Call(last, operation.Call{}, "job_cancel", &operation.JobCancel{ID: queued.JobID}); err == nil {
		if out, err = d.awaitJob(last, o, queued.JobID); last.Err() == nil {
			return out, err
		}
	}
	return nil, sdk.Errorf(sdk.Cancelled, "job_goes_on", "job %s goes on at the server %s: %w", queued.JobID, d.options.URL, ctx.Err()).
		WithHint("cancel it, or look at it later").WithAction("jobs cancel", "job", queued.JobID)
}

// awaitJob polls a job until the job or ctx has ended.
func (d *Distant) awaitJob(ctx context.Context, o *operation.Operation, id string) (any, error) {
	for {
		out, err := d.Call(ctx, operation.Call{}, "job_get", &operation.JobGet{ID: id})
		if err != nil {
			return nil, sdk.Wrap("job "+id, err)
		}
		if j := out.(*job.Job); j.CompletedAt != nil {
			return d.ended(ctx, o, j)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(jobPause):
		}
	}
}

// ended is the outcome of a job. If the job ran a workflow, it names the run, and the
// outcome is the stored run's.
func (d *Distant) ended(ctx context.Context, o *operation.Operation, j *job.Job) (any, error) {
	runs := o.Out() == reflect.TypeFor[operation.RunEnded]()
	var of operation.RunJob
	if runs && len(j.Result) > 0 {
		if err := json.Unmarshal(j.Result, &of); err != nil {
			return nil, d.unknown("the result of job " + j.ID)
		}
	}
	if j.Status != job.StatusCompleted && of.RunID == "" {
		if j.Status == job.StatusFailed && j.Failure != nil {
			return d.failed(o, j)
		}
		return nil, job.EndError(j.ID, j.Status, j.Reason, j.Message, j.Failure)
	}
	if !runs {
		return d.result(o, j.Result)
	}
	out, err := d.Call(ctx, operation.Call{}, "run_get", &operation.RunGet{ID: of.RunID})
	if err != nil {
		return nil, err
	}
	run := out.(*operation.Run)
	run.Run.ID = run.RunID
	return &operation.RunEnded{Run: run.Run}, nil
}

// failed is the error with which a job failed, and the result that came with the error, if
// any, as the operation returns both.
func (d *Distant) failed(o *operation.Operation, j *job.Job) (any, error) {
	if len(j.Result) == 0 {
		return nil, j.Failure.Err()
	}
	out, broken := d.result(o, j.Result)
	return out, core.JoinErrors(j.Failure.Err(), broken)
}
