package operation

import (
	"context"
	"encoding/json"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/sdk"
)

// A job does an operation as the caller that asked for it, with the rights of that time,
// and the access policy is asked again. Only runs need more: a run outlives the process
// that began it, so a job that is taken over continues its run instead of paying for a new
// run.

// Handlers do the work of a host's jobs, by type: see [host.Workers.NewPool].
func Handlers(h *host.Host) map[job.Type]job.Handler {
	do := job.HandlerFunc(func(ctx context.Context, j *job.Running) (*job.Outcome, error) { return doJob(ctx, h, j) })
	return map[job.Type]job.Handler{
		job.Workflow: do, job.Reembed: do, job.Compact: do,
		job.Revalidate: job.HandlerFunc(func(ctx context.Context, j *job.Running) (*job.Outcome, error) {
			result, err := h.Workers.Revalidate(ctx, j.Namespace)
			out, err := outcome(nil, result, err)
			if err == nil {
				out.Effects = noneWaits(h, j.Namespace, result.Pending)
			}
			return out, err
		}),
		job.Dream: job.HandlerFunc(func(ctx context.Context, j *job.Running) (*job.Outcome, error) {
			if len(j.Payload) > 0 { // a caller asked for it
				return doJob(ctx, h, j)
			}
			report, err := h.Dreams.Run(ctx, j)
			return outcome(nil, report, err)
		}),
		job.Reflection: h.Reflections,
	}
}

// noneWaits checks, as a job of the gate ends, that no memory began to wait meanwhile: its feedback
// found this job still active, so it queued no other one. left are the memories that keep waiting.
func noneWaits(h *host.Host, namespace string, left []string) func(*journal.Tx) error {
	return func(tx *journal.Tx) error {
		due, err := h.Memories.Gate.Due(tx, namespace, left)
		if err == nil && due {
			err = job.ErrAgain
		}
		return err
	}
}

// doJob does a job's operation.
func doJob(ctx context.Context, h *host.Host, j *job.Running) (*job.Outcome, error) {
	var asked work
	if err := json.Unmarshal(j.Payload, &asked); err != nil {
		return nil, sdk.Errorf(sdk.Incompatible, "job_payload_invalid", "the job's payload can't be read: %w", err).
			WithHint("ask for it again: another version queued it")
	}
	o, in, err := asked.read()
	if err != nil {
		return nil, err
	}
	c := Call{Host: h, chosen: true, runID: asked.RunID, Progress: func(p Progress) {
		if p.Total > 0 {
			j.Progress(float64(p.Done) / float64(p.Total))
		}
	}}
	if asked.RunID != "" {
		c.Events = runProgress(c.nodes(ctx, in), j.Progress)
		if o.Name == "run_start" {
			asked.NextEnd = 1
		}
		out, err := runJob(ctx, c, &o, in, asked.NextEnd)
		return out, elsewhere(ctx, h, err)
	}
	out, err := o.Do(ctx, c, in)
	return outcome(in, out, elsewhere(ctx, h, err))
}

// elsewhere postpones a job that needs plugins which this host lacks but another host may
// have.
func elsewhere(ctx context.Context, h *host.Host, err error) error {
	if h.Membership.PluginElsewhere(ctx, err) {
		return &job.SnoozeError{Err: err}
	}
	return err
}

// nodes is the number of nodes of the workflow that a request runs or continues; 0 if it
// isn't known, because the job is wrong.
func (c *Call) nodes(ctx context.Context, in any) int {
	var plan *workflow.Plan
	var err error
	switch in := in.(type) {
	case *RunStart:
		var w *startable
		if w, err = loaded(c, in); err == nil {
			plan = w.plan
		}
	case *RunResume:
		var run *core.Run
		if run, err = c.Host.Runs.Get(ctx, in.ID); err == nil {
			plan, err = workflow.Load(run.Source, host.LoadOptions())
		}
	}
	if err != nil || plan == nil {
		return 0
	}
	return len(plan.Nodes)
}

// runProgress computes a run's progress from its events: the finished nodes, and the
// iterations of a loop. A run may visit nodes again, so the progress is never 1 before its
// end.
func runProgress(nodes int, tell func(float64)) func(core.Event) {
	const most = 0.99
	done, part := 0, 0.0
	return func(e core.Event) {
		switch e := e.(type) {
		case core.IterationStarted:
			part = float64(e.Iteration-1) / float64(max(e.Max, 1))
		case core.AttemptJudged:
			part = float64(e.Attempt.Iteration) / float64(max(e.Max, 1))
		case core.NodeEnded:
			done, part = done+1, 0
		default:
			return
		}
		if nodes > 0 {
			tell(min((float64(done)+part)/float64(nodes), most))
		}
	}
}

// outcome is the outcome of a job from its operation's result. If a service asks to wait,
// that isn't a failure.
func outcome(in, out any, err error) (*job.Outcome, error) {
	var o job.Outcome
	if out != nil {
		o.Result, o.Memories = jsontext.MustEncode(out), memoriesIn(in, out)
	}
	if wait := sdk.RetryAfter(err); wait > 0 {
		err = &job.SnoozeError{Wait: wait, Err: err}
	}
	return &o, err
}

// RunJob is the result of a job that ran a workflow.
type RunJob struct {
	RunID  string      `json:"run_id"`
	Status core.Status `json:"status"`
	// ExhaustedLoops are the nodes of the loops that a limit stopped.
	ExhaustedLoops []string `json:"exhausted_loops,omitempty"`
}

// runJob starts a run or continues it. It continues a run that another process began, or
// that this process began before the job went back to its queue. nextEnd is the run's
// NextEnd when the job was requested: if the run has ended since then, the job is done.
func runJob(ctx context.Context, c Call, o *Operation, in any, nextEnd int) (*job.Outcome, error) {
	resume, err := Find("run_resume")
	if err != nil {
		return nil, err
	}
	run, err := c.Host.Runs.Get(ctx, c.runID)
	next := 0
	if err == nil {
		next, err = c.Host.Runs.NextEnd(ctx, c.runID)
	}
	switch {
	case sdk.CodeOf(err) == sdk.NotFound && o.Name == "run_start":
		run, err = endOf(o.Do(ctx, c, in))
	case err != nil:
		return nil, err
	case nextEnd > 0 && next > nextEnd && (!run.Status.Resumable() || run.Status == core.StatusError):
		// It has ended.
	default:
		run, err = endOf(resume.Do(ctx, c, &RunResume{ID: c.runID}))
	}
	if reason := sdk.ReasonOf(err); reason == host.LockDiffers || reason == host.PluginLacking { // a host that has the plugins may take it meanwhile
		err = &job.SnoozeError{Err: err}
	}
	if run == nil {
		return outcome(nil, nil, err)
	}
	if err == nil && run.Status == core.StatusCancelled {
		err = sdk.Errorf(sdk.Cancelled, "run_cancelled", "run %s was cancelled", run.ID)
	}
	return outcome(nil, &RunJob{run.ID, run.Status, run.ExhaustedLoops}, err)
}

// endOf is the run in an operation's result.
func endOf(out any, err error) (*core.Run, error) {
	if ended, is := out.(*RunEnded); is {
		return ended.Run, err
	}
	return nil, err
}
