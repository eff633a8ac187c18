package action

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/loop"
	"github.com/reflectory/reflectory/core/work"
	"github.com/reflectory/reflectory/sdk"
)

// Actions runs the actions of workflow nodes: those that call plugins with Plugins, and
// memory.* with Memories. It implements workflow.Actions and is safe for concurrent use.
type Actions struct {
	Plugins core.Plugins
	// Memories is used by memory.* actions; nil refuses them.
	Memories core.Memories
	// Injector is used by inject.snapshot; nil refuses it.
	Injector Injector
	// Replies stores models' replies for calls with cache: true; nil stores nothing.
	Replies core.Replies
	// Steps keeps what models had done by tools, so that a resume doesn't have it done again; nil keeps
	// nothing.
	Steps core.Steps
	// WithholdSteps is whether only that something was done is kept, not its result, since a purge
	// wouldn't find a memory's text there.
	WithholdSteps bool
	// RunWorkflow runs a workflow that a model called as a tool to its end, or goes on with the run of
	// that id; nil refuses it.
	RunWorkflow func(ctx context.Context, id string, source core.Source, arguments json.RawMessage) (*core.Run, error)
	// Events receives what happens in loops; nil receives nothing.
	Events func(core.Event)
	// Observer follows the iterations of loops; nil follows nothing.
	Observer work.Observer
	// Pieces is whether Events includes the pieces of outputs: see [loop.Options].
	Pieces func() bool
	// Clock measures active time. Default core.SystemClock.
	Clock core.Clock
	// Policy, Namespace and Workflow are passed to each loop: see [loop.Options].
	Policy              loop.Policy
	Namespace, Workflow string
}

// Act implements workflow.Actions.
func (a *Actions) Act(ctx context.Context, req *Request) (any, error) {
	own := *req
	own.given = &given{ids: req.Memories, hear: req.Given}
	req = &own
	switch s := req.Action.(type) {
	case *LoopSpec:
		return a.loop(ctx, req, s)
	case *EvaluateSpec:
		return a.evaluate(ctx, req, s)
	case *CorrectSpec:
		return a.correct(ctx, req, s)
	case *CallSpec:
		return a.call(ctx, req, s)
	case *MemorySpec:
		return a.remember(ctx, req, s)
	case *SnapshotSpec:
		return a.inject(ctx, req, s)
	}
	panic(fmt.Sprintf("action: no spec %T", req.Action))
}

func (a *Actions) loop(ctx context.Context, req *Request, s *LoopSpec) (any, error) {
	req, record, end := heardByAttempts(req, a.versions(ctx, req, s))
	defer end()
	o := &loop.Options{
		Limits: s.Limits, State: req.State, RunID: req.RunID, Visit: req.Visit, Node: req.Node,
		Done: req.Done, Used: req.Used, Recorder: record, Events: a.Events, Pieces: a.Pieces, Observer: a.Observer, Clock: a.Clock,
		Policy: a.Policy, Namespace: a.Namespace, Workflow: a.Workflow,
	}
	gen, err := a.step(ctx, req, s.Generator)
	if err != nil {
		return nil, sdk.Wrap("generator", err)
	}
	o.Generator = gen
	if o.Evaluator, err = newEvaluator(a.Plugins, s.Judge(), listenerOf(req)); err != nil {
		return nil, sdk.Wrap("evaluator", err)
	}
	if s.Corrector != nil {
		corr, err := a.step(ctx, req, *s.Corrector)
		if err != nil {
			return nil, sdk.Wrap("corrector", err)
		}
		o.Corrector = corr
	}
	noteDone(req, s)
	result, err := loop.Run(ctx, o)
	if result == nil {
		return nil, err
	}
	return result, nil // the result has the error, if there is one
}

// noteDone notes the calls that made and judged the attempts of an interrupted run.
func noteDone(req *Request, s *LoopSpec) {
	if req.Note == nil {
		return
	}
	for i := range req.Done {
		a := &req.Done[i]
		if a.Role == sdk.RoleCorrect && s.Corrector != nil {
			req.Note(s.Corrector.Refers, nil)
		} else {
			req.Note(s.Generator.Refers, nil)
		}
		if a.Judged && !a.GeneratorFailed() {
			for _, u := range evaluators("", s.Evaluator) {
				req.Note(u.step.Refers, nil)
			}
		}
	}
}

func (a *Actions) evaluate(ctx context.Context, req *Request, s *EvaluateSpec) (any, error) {
	ev, err := newEvaluator(a.Plugins, s.Evaluator, listenerOf(req))
	if err != nil {
		return nil, err
	}
	data, err := dataOf(s.Data, req.State)
	if err != nil {
		return nil, err
	}
	state, iteration, err := loop.RecordedState(req.State, data)
	if err != nil {
		return nil, err
	}
	call := callOf(req, sdk.RoleEvaluate)
	call.Iteration = iteration
	resp, err := ev.Evaluate(ctx, &sdk.EvaluateRequest{Call: call, State: state, Output: data})
	if err != nil {
		return nil, err
	}
	if err := resp.Verdict.Check(); err != nil {
		return nil, err
	}
	v := resp.Verdict
	return &EvaluateResult{
		Valid: v.Valid, Score: v.Score, Errors: nonNil(v.Errors), Feedback: v.Feedback, Output: v.Output, Children: v.Children,
		Usage: reported(resp.Usage),
	}, nil
}

func (a *Actions) correct(ctx context.Context, req *Request, s *CorrectSpec) (any, error) {
	corr, err := a.step(ctx, req, s.Corrector)
	if err != nil {
		return nil, err
	}
	findings, err := findingsOf(s.Errors, req.State)
	if err != nil {
		return nil, err
	}
	data, err := dataOf(s.Data, req.State)
	if err != nil {
		return nil, err
	}
	state, err := loop.StandaloneState(req.State, data, findings)
	if err != nil {
		return nil, err
	}
	resp, err := corr.Correct(ctx, &sdk.CorrectRequest{
		Call: callOf(req, sdk.RoleCorrect), State: state, Output: data, Errors: findings,
	})
	if err != nil {
		return nil, err
	}
	return &CorrectResult{Output: resp.Output, Changed: !loop.SameOutput(data, resp.Output), Usage: reported(resp.Usage)}, nil
}

func (a *Actions) call(ctx context.Context, req *Request, s *CallSpec) (any, error) {
	gen, err := a.step(ctx, req, s.Step)
	if err != nil {
		return nil, err
	}
	call := &sdk.GenerateRequest{
		Call: callOf(req, sdk.RoleGenerate), State: req.State,
		Emit: loop.Emitter(a.Events, a.Pieces, core.OutputChunk{Visit: req.Visit, Node: req.Node, Iteration: 1}),
	}
	resp, err := gen.Generate(ctx, call)
	if err != nil {
		return nil, err
	}
	result := &CallResult{Output: resp.Output, Usage: reported(resp.Usage)}
	if s.WithUsage {
		result.Usage = &resp.Usage
	}
	return result, nil
}

// reported is the usage of a call; nil if its plugin reported none. The run counts it
// from the result.
func reported(u sdk.Usage) *sdk.Usage {
	if u == (sdk.Usage{}) {
		return nil
	}
	return &u
}

// callOf identifies a call outside a loop: it counts as iteration 1 of its visit.
func callOf(req *Request, role sdk.Role) sdk.Call {
	return loop.Call(req.RunID, req.Visit, req.Node, 1, role)
}

func nonNil(findings []sdk.Finding) []sdk.Finding {
	if findings == nil {
		return []sdk.Finding{}
	}
	return findings
}
