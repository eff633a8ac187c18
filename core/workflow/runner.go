package workflow

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/core/workflow/action"
	"github.com/reflectory/reflectory/core/workflow/state"
	"github.com/reflectory/reflectory/sdk"
)

// Actions runs the actions of nodes.
type Actions interface {
	// Act runs one action. The result is a core.LoopResult, a core.Memory, one of the
	// results of memory requests in core, or a result of package action, by the type of
	// the action's spec. A loop that ended without passing is a result, not an error.
	Act(ctx context.Context, req *action.Request) (any, error)
}

// RunReporter reports to the memories how a run went.
type RunReporter interface {
	// Feedback ends a turn of the run.
	Feedback(ctx context.Context, r *core.FeedbackRequest) (*core.FeedbackResult, error)
	// AddDAG records a workflow's graph. The memories of earlier runs keep their nodes in
	// it.
	AddDAG(ctx context.Context, dag *core.WorkflowDAG) error
	// AddTools records outcomes of evaluators for memories that were used in turns which had
	// their feedback. A memory that was purged since then is left out.
	AddTools(ctx context.Context, outcomes []core.ToolOutcome) error
}

// Runner runs plans. It is safe for concurrent use if its parts are.
type Runner struct {
	// Actions runs the actions of nodes. Required.
	Actions Actions
	// Recorder makes progress durable; nil records nothing.
	Recorder core.RunRecorder
	// Reporter reports the end of a run to the memories that the run recalled. Without one
	// (nil), recalls have no session, so nothing is learned from them, as in a trial run.
	Reporter RunReporter
	// Recall is whether plugins may recall memories by themselves: then no texts of prompts are kept.
	Recall bool
	// Events receives what happens, in order; nil drops it.
	Events func(core.Event)
	// Clock gives the time; nil means the system clock.
	Clock core.Clock
}

// Run runs a plan from the point where progress ends: finished visits aren't run again,
// and the visit after them gets the recorded attempts. The run's ID and State must be
// set. Run updates its other fields and records its end: Status, StopReason,
// ExhaustedLoops, Score, Iterations, Usage, UpdatedAt, Error, Result.
//
// A loop that raises, fails or is cancelled ends the run with its status. After a loop that
// is exhausted the next node runs, and the run is exhausted at its end, unless the loop
// passes when the run visits it again, or is one that may be exhausted. Otherwise the status
// is passed, or exhausted if the last node that ran is an evaluation that wasn't valid. A run that was cancelled or failed can be resumed: the visit in progress
// isn't recorded.
//
// The error is returned when the status is error, except if a loop ended with that
// status. Then the error is nil, as at any other end, and run.Error has the reason.
func (r *Runner) Run(ctx context.Context, plan *Plan, run *core.Run, progress core.Progress) error {
	var open *core.Visit
	w, err := newWalk(r, plan, run)
	if err == nil {
		err = w.walk(ctx, progress)
		open = w.open
	}
	if err != nil {
		run.Status, run.StopReason, run.Error = core.StatusError, "", core.NewErrorInfo(err)
		if ctx.Err() != nil && sdk.CodeOf(err) == sdk.Cancelled { // a plugin's own cancelled error doesn't cancel the run
			run.Status, run.StopReason, run.Error = core.StatusCancelled, core.StopCancelled, nil
		}
	}
	if w != nil {
		w.giveFeedback(ctx)
		w.tally()
	}
	run.UpdatedAt = r.clock().Now()
	if recordErr := r.recordEnd(ctx, run, open); recordErr != nil {
		return recordErr
	}
	if run.Status == core.StatusCancelled {
		return nil
	}
	return err
}

// recordEnd also records the end of a cancelled run, so it ignores the end of ctx.
func (r *Runner) recordEnd(ctx context.Context, run *core.Run, open *core.Visit) error {
	if r.Recorder == nil {
		return nil
	}
	return sdk.Wrap("record the end of run "+run.ID, r.Recorder.RecordEnd(context.WithoutCancel(ctx), run, open))
}

func (r *Runner) clock() core.Clock {
	if r.Clock == nil {
		return core.SystemClock{}
	}
	return r.Clock
}

func (r *Runner) emit(e core.Event) {
	if r.Events != nil {
		r.Events(e)
	}
}

// walk is one execution of a plan.
type walk struct {
	*Runner
	plan  *Plan
	run   *core.Run
	state *state.State
	// visits counts the finished visits, and trail holds their nodes.
	visits  int
	trail   []string
	results core.Results
	turns   turns
	// open is the visit that ended the run and isn't recorded, because a resume continues
	// it.
	open  *core.Visit
	calls time.Duration // active time of the calls outside loops
}

func newWalk(r *Runner, plan *Plan, run *core.Run) (*walk, error) {
	start, err := state.New(run.State)
	if err != nil {
		return nil, sdk.Wrap("start run "+run.ID, err)
	}
	run.Status, run.StopReason, run.ExhaustedLoops, run.Error, run.Result = core.StatusPassed, "", nil, nil, nil
	run.Score, run.Iterations, run.Usage, run.Open = 0, 0, core.RunUsage{}, core.RunUsage{}
	return &walk{Runner: r, plan: plan, run: run, state: start}, nil
}

func (w *walk) walk(ctx context.Context, progress core.Progress) error {
	next, err := w.takeOver(progress.Visits)
	if err != nil {
		return err
	}
	w.run.Open = progress.Used
	attempts := progress.Attempts
	for next != "" {
		if w.visits >= w.plan.StepLimit {
			return w.stepLimit(next)
		}
		ended, after, err := w.visit(ctx, next, attempts)
		if err != nil {
			return err
		}
		if ended {
			break
		}
		next, attempts = after, nil
	}
	w.run.Result = w.results.Run(w.run)
	return nil
}

// takeOver replays recorded visits and returns the node to continue with.
func (w *walk) takeOver(visits []core.Visit) (next string, err error) {
	next = w.plan.Nodes[0].Name
	for i := range visits {
		v := &visits[i]
		at := w.plan.index(v.Node)
		if at < 0 || v.Next != "" && w.plan.index(v.Next) < 0 {
			return "", sdk.Errorf(sdk.Invalid, "progress_invalid", "the run's visit %d is to node %q, followed by %q, and the workflow doesn't have both", v.Number, v.Node, v.Next).
				WithHint("resume the run with the workflow that it was started with")
		}
		if _, err := w.finish(&w.plan.Nodes[at], v); err != nil {
			return "", err
		}
		next = v.Next
	}
	return next, nil
}

// visit runs one node. It reports whether the run ends there, and otherwise which node is
// next.
func (w *walk) visit(ctx context.Context, name string, attempts []core.Attempt) (ended bool, next string, err error) {
	at := w.plan.index(name)
	node := &w.plan.Nodes[at]
	visit := &core.Visit{Number: w.visits + 1, Node: name}
	defer func() {
		if err != nil && len(visit.Prompts) > 0 { // what its calls asked is recorded with the end of the run
			w.open = &core.Visit{Number: visit.Number, Node: name, Prompts: visit.Prompts}
		}
	}()
	start := w.clock().Now()
	w.emit(core.NodeStarted{Visit: visit.Number, Node: name, Action: node.ActionName})
	defer func() {
		w.emit(core.NodeEnded{Visit: visit.Number, Node: name, Skipped: visit.Skipped, Took: w.clock().Now().Sub(start)})
	}()

	runs, err := w.decide(ctx, node.When)
	if err != nil {
		return false, "", sdk.Wrap("node "+name+": when", err)
	}
	visit.Skipped = !runs
	if runs {
		if visit.Result, err = w.act(ctx, visit, node, attempts); err != nil {
			return false, "", sdk.Wrap("node "+name, err)
		}
		if _, isLoop := node.Action.(*action.LoopSpec); !isLoop {
			w.calls += w.clock().Now().Sub(start)
		}
	}
	if ended, err = w.finish(node, visit); err != nil {
		return false, "", err
	}
	if ended && w.run.Status.Resumable() {
		w.open = visit
		return true, "", nil
	}
	if !ended {
		if visit.Next, err = w.next(ctx, at, runs); err != nil {
			return false, "", err
		}
	}
	return ended, visit.Next, w.record(ctx, visit)
}

// record makes a finished visit durable.
func (w *walk) record(ctx context.Context, visit *core.Visit) error {
	if w.Recorder == nil {
		return nil
	}
	return sdk.Wrap("record node "+visit.Node, w.Recorder.RecordVisit(ctx, visit))
}

// act runs a node's action and returns its result as JSON.
func (w *walk) act(ctx context.Context, visit *core.Visit, node *Node, attempts []core.Attempt) (json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	req := &action.Request{
		RunID: w.run.ID, Visit: visit.Number, Node: node.Name, Action: node.Action,
		State: w.state.JSON(), Done: attempts, Used: w.run.Open, Memories: w.turns.given(), Withhold: w.withholds(),
	}
	if w.Recorder != nil {
		req.Attempts = w.Recorder.Attempts(visit.Number, node.Name)
	}
	var notes notes
	req.Prompt, req.Given = notes.prompt, notes.give
	if w.Reporter != nil {
		req.Session, req.Turn, req.Note = w.run.SessionID(), w.turns.open(), notes.add
	}
	result, err := w.Actions.Act(ctx, req)
	notes.into(visit, &w.turns)
	if err != nil {
		return nil, err
	}
	data, err := jsontext.Encode(result)
	if err != nil {
		return nil, sdk.Errorf(sdk.Internal, "result_invalid", "the result of %s can't be encoded: %w", node.ActionName, err)
	}
	return data, nil
}

// withholds is why the texts of a run's prompts aren't kept; "" keeps them.
func (w *walk) withholds() string {
	switch {
	case w.turns.hasTexts:
		return core.PromptSession
	case w.Recall:
		return core.PromptRecall
	case w.plan.Digests:
		return core.PromptDigests
	}
	return ""
}

// next is the node after the one at an index: the target of its first goto whose
// condition holds, if the node ran, else the next node in the file. "" is the end.
func (w *walk) next(ctx context.Context, at int, ran bool) (string, error) {
	node := &w.plan.Nodes[at]
	for i := range node.Goto {
		if !ran {
			break
		}
		taken, err := w.decide(ctx, node.Goto[i].When)
		switch {
		case err != nil:
			return "", sdk.Wrap("node "+node.Name+": goto "+node.Goto[i].To, err)
		case taken && node.Goto[i].To == End:
			return "", nil
		case taken:
			return node.Goto[i].To, nil
		}
	}
	if at+1 < len(w.plan.Nodes) {
		return w.plan.Nodes[at+1].Name, nil
	}
	return "", nil
}

func (w *walk) decide(ctx context.Context, when policypoint.Expression) (bool, error) {
	if when == nil {
		return true, nil
	}
	vars, err := w.state.Vars()
	if err != nil {
		return false, err
	}
	return when.Eval(ctx, vars)
}

// ReasonStepLimit is the reason of the error that ends a run in an endless cycle.
// Resuming such a run doesn't help.
const ReasonStepLimit = "step_limit"

// stepLimit describes the cycle that used up the steps.
func (w *walk) stepLimit(next string) error {
	cycle := next
	for i := len(w.trail) - 1; i >= 0; i-- {
		if w.trail[i] == next {
			cycle = strings.Join(w.trail[i:], " → ") + " → " + next
			break
		}
	}
	return sdk.Errorf(sdk.Exhausted, ReasonStepLimit, "the workflow didn't end within %d steps: it goes round %s", w.plan.StepLimit, cycle).
		WithHint("give the cycle a goto to end, or raise settings.step_limit, and start a new run: a resumed run keeps its old limit").
		WithDetail("cycle", cycle)
}
