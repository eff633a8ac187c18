package host

import (
	"context"
	"encoding/json"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/loop"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/core/workflow/action"
	"github.com/reflectory/reflectory/sdk"
)

// A loop that a program of its own drives leaves nothing here, so its attempts can be recorded afterwards:
// as a run of one loop, without a workflow, which lists, pages and counts show like any other. The loop is
// run again from what was recorded, in the transaction that stores it, so that its result is made as for any
// other run.

// repository is run.Repository under another name, since variables named run hide the package.
type repository = run.Repository

// elsewhereNode is the node of a run whose attempts were made elsewhere.
const elsewhereNode = "attempts"

// MaxRecorded is how many attempts such a run has at most, as a loop has.
const MaxRecorded = loop.MaxMaxIterations

// Record stores a run whose attempts were made elsewhere, in their order; each but the last isn't valid. It
// sets the run's fields as Start does. Used of an attempt are Output, Valid, Score, Errors, Feedback and
// Usage.
func (r *Runner) Record(ctx context.Context, run *core.Run, attempts []core.Attempt) error {
	run.Source, run.State = core.Source{File: run.Workflow}, json.RawMessage("{}")
	plan := &workflow.Plan{Name: run.Workflow, StepLimit: workflow.DefaultStepLimit, Nodes: []workflow.Node{
		{Name: elsewhereNode, ActionName: "reflection.loop", Action: &action.LoopSpec{}},
	}}
	err := r.runs.Atomically(ctx, func(runs *repository) error {
		runs.Leave(run.ID) // of a try before
		if err := runs.Create(ctx, run); err != nil {
			return err
		}
		runner := &workflow.Runner{Actions: elsewhere{attempts, r.config.Clock}, Recorder: runs.Recorder(run), Clock: r.config.Clock}
		return runner.Run(ctx, plan, run, core.Progress{})
	})
	if err != nil {
		r.runs.Leave(run.ID)
		return err
	}
	r.ended.Add(1)
	return nil
}

// elsewhere makes and judges attempts as they were made and judged elsewhere. It implements
// [workflow.Actions].
type elsewhere struct {
	attempts []core.Attempt
	clock    core.Clock
}

// Act implements [workflow.Actions].
func (e elsewhere) Act(ctx context.Context, req *action.Request) (any, error) {
	of := func(c *sdk.Call) *core.Attempt { return &e.attempts[c.Iteration-1] }
	return loop.Run(ctx, &loop.Options{
		Limits: loop.Limits{MaxIterations: len(e.attempts), EvaluatorRetries: -1, GeneratorRetries: -1},
		State:  req.State, RunID: req.RunID, Visit: req.Visit, Node: req.Node, Recorder: req.Attempts, Clock: e.clock,
		Generator: sdk.GeneratorFunc(func(_ context.Context, r *sdk.GenerateRequest) (*sdk.GenerateResponse, error) {
			return &sdk.GenerateResponse{Output: of(&r.Call).Output, Usage: of(&r.Call).Usage}, nil
		}),
		Evaluator: sdk.EvaluatorFunc(func(_ context.Context, r *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
			a := of(&r.Call)
			return &sdk.EvaluateResponse{Verdict: sdk.Verdict{Valid: a.Valid, Score: a.Score, Errors: a.Errors, Feedback: a.Feedback}}, nil
		}),
	})
}
