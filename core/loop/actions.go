package loop

import (
	"context"
	"fmt"
	"sync"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Actions runs the actions of workflow nodes on plugins. It implements
// core.Actions and is safe for concurrent use.
type Actions struct {
	Plugins core.Plugins
	// Memories is what memory.* actions work on; nil refuses them.
	Memories core.Memories
	// Replies keeps what models said for calls with cache: true; nil keeps nothing.
	Replies core.Replies
	// Events is told what happens in loops; nil tells nobody.
	Events func(core.Event)
	// Pieces sends Events the pieces of outputs too: see [Options].
	Pieces bool
	// Clock measures active time. Default core.SystemClock.
	Clock core.Clock
	// Policy, Namespace and Workflow are those of loops: see [Options].
	Policy              core.LoopPolicy
	Namespace, Workflow string
}

// Prepare has every plugin of an action check its config, so that a wrong one is
// refused before the first attempt. Templates that give texts don't keep the rest of
// a config from being checked; a config with others is checked when it is rendered.
// Problems come back in the order of the action's parts. Those in refused are wrong
// with what was asked for: an unknown plugin, one that may not run, a config that its
// plugin refuses. Those in broken are a plugin's own: it doesn't start, or it went
// away while it was asked.
func (a *Actions) Prepare(ctx context.Context, action core.Action) (refused, broken []error) {
	var wg sync.WaitGroup
	uses := usesOf(action)
	errs := make([]error, len(uses))
	started := make([]bool, len(uses))
	for i, u := range uses {
		wg.Go(func() { started[i], errs[i] = a.prepare(ctx, u) })
	}
	wg.Wait()
	for i, err := range errs {
		switch {
		case err == nil:
		case isBroken(started[i], sdk.CodeOf(err)):
			broken = append(broken, sdk.Wrap(uses[i].what, err))
		default:
			refused = append(refused, sdk.Wrap(uses[i].what, err))
		}
	}
	return refused, broken
}

// isBroken reports whether an error of this class is a plugin's failure. One that isn't
// there, may not run, or isn't waited for any more didn't fail. One that runs speaks of
// the config, unless it gave no answer.
func isBroken(started bool, code sdk.Code) bool {
	if !started {
		return code != sdk.NotFound && code != sdk.Denied && code != sdk.Cancelled
	}
	return code == sdk.Unavailable || code == sdk.Timeout || code == sdk.Exhausted
}

// prepare has one plugin check its config, and reports whether it runs at all.
func (a *Actions) prepare(ctx context.Context, u use) (started bool, err error) {
	s, err := newStep(a.Plugins, u.step, nil)
	if err != nil {
		return true, err
	}
	m, err := a.Plugins.Describe(ctx, u.step.Plugin)
	if err != nil {
		return false, err
	}
	if s.config == nil {
		return true, a.Plugins.Prepare(ctx, u.kind, s.target)
	}
	if !m.Has(u.kind) {
		return true, sdk.Errorf(sdk.Invalid, "kind_unsupported", "plugin %s is no %s; it is %v", m.Name, u.kind, m.Kinds)
	}
	if sampler, ok := s.config.(core.Sampler); ok {
		if sample := sampler.Sample(); sample != nil {
			target := s.target
			target.Config, target.Digest = sample, core.Digest(sample)
			return true, a.Plugins.Prepare(ctx, u.kind, target)
		}
	}
	return true, nil
}

// use is one plugin that an action needs, and for what.
type use struct {
	what string
	kind sdk.Kind
	step core.Step
}

func usesOf(action core.Action) []use {
	switch s := action.(type) {
	case *core.LoopSpec:
		uses := append([]use{{"generator", sdk.KindGenerator, s.Generator}}, evaluators("evaluator", s.Evaluator)...)
		if s.Corrector != nil {
			uses = append(uses, use{"corrector", sdk.KindCorrector, *s.Corrector})
		}
		return uses
	case *core.EvaluateSpec:
		return evaluators("evaluator", s.Evaluator)
	case *core.CorrectSpec:
		return []use{{"corrector", sdk.KindCorrector, s.Corrector}}
	case *core.CallSpec:
		return []use{{"action", sdk.KindGenerator, s.Step}}
	}
	return nil
}

func evaluators(what string, s core.Step) []use {
	if s.Composite == nil {
		return []use{{what, sdk.KindEvaluator, s}}
	}
	var uses []use
	for _, child := range s.Composite.Children {
		uses = append(uses, evaluators(what+" "+child.Name, child)...)
	}
	return uses
}

// Act implements core.Actions.
func (a *Actions) Act(ctx context.Context, req *core.ActionRequest) (any, error) {
	switch s := req.Action.(type) {
	case *core.LoopSpec:
		return a.loop(ctx, req, s)
	case *core.EvaluateSpec:
		return a.evaluate(ctx, req, s)
	case *core.CorrectSpec:
		return a.correct(ctx, req, s)
	case *core.CallSpec:
		return a.call(ctx, req, s)
	case *core.MemorySpec:
		return a.remember(ctx, req, s)
	}
	panic(fmt.Sprintf("loop: no action %T", req.Action))
}

func (a *Actions) loop(ctx context.Context, req *core.ActionRequest, s *core.LoopSpec) (any, error) {
	o := &Options{
		LoopLimits: s.Limits, State: req.State, RunID: req.RunID, Visit: req.Visit, Node: req.Node,
		Done: req.Done, Used: req.Used, Recorder: req.Attempts, Events: a.Events, Pieces: a.Pieces, Clock: a.Clock,
		Policy: a.Policy, Namespace: a.Namespace, Workflow: a.Workflow,
	}
	gen, err := a.step(req, s.Generator)
	if err != nil {
		return nil, sdk.Wrap("generator", err)
	}
	o.Generator = gen
	if o.Evaluator, err = newEvaluator(a.Plugins, s.Judge(), req.Note); err != nil {
		return nil, sdk.Wrap("evaluator", err)
	}
	if s.Corrector != nil {
		corr, err := a.step(req, *s.Corrector)
		if err != nil {
			return nil, sdk.Wrap("corrector", err)
		}
		o.Corrector = corr
	}
	noteDone(req, s)
	result, err := Run(ctx, o)
	if result == nil {
		return nil, err
	}
	return result, nil // its error, if any, stands in it
}

// noteDone notes the calls that made and judged the attempts of an interrupted run.
func noteDone(req *core.ActionRequest, s *core.LoopSpec) {
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
		if a.Judged && !generatorFailed(a) {
			for _, u := range evaluators("", s.Evaluator) {
				req.Note(u.step.Refers, nil)
			}
		}
	}
}

func (a *Actions) evaluate(ctx context.Context, req *core.ActionRequest, s *core.EvaluateSpec) (any, error) {
	ev, err := newEvaluator(a.Plugins, s.Evaluator, req.Note)
	if err != nil {
		return nil, err
	}
	data, state, err := standalone(req, s.Data, nil)
	if err != nil {
		return nil, err
	}
	call := callOf(req, sdk.RoleEvaluate)
	if state, call.Iteration, err = withRecorded(state, req.State, data); err != nil {
		return nil, err
	}
	resp, err := ev.Evaluate(ctx, &sdk.EvaluateRequest{Call: call, State: state, Output: data})
	if err != nil {
		return nil, err
	}
	if err := resp.Verdict.Check(); err != nil {
		return nil, err
	}
	v := resp.Verdict
	return &core.EvaluateResult{
		Valid: v.Valid, Score: v.Score, Errors: nonNil(v.Errors), Feedback: v.Feedback, Output: v.Output, Children: v.Children,
		Usage: reported(resp.Usage),
	}, nil
}

func (a *Actions) correct(ctx context.Context, req *core.ActionRequest, s *core.CorrectSpec) (any, error) {
	corr, err := a.step(req, s.Corrector)
	if err != nil {
		return nil, err
	}
	findings, err := findingsOf(s.Errors, req.State)
	if err != nil {
		return nil, err
	}
	data, state, err := standalone(req, s.Data, findings)
	if err != nil {
		return nil, err
	}
	resp, err := corr.Correct(ctx, &sdk.CorrectRequest{
		Call: callOf(req, sdk.RoleCorrect), State: state, Output: data, Errors: findings,
	})
	if err != nil {
		return nil, err
	}
	changed := outputKey(&core.Attempt{Output: data}) != outputKey(&core.Attempt{Output: resp.Output})
	return &core.CorrectResult{Output: resp.Output, Changed: changed, Usage: reported(resp.Usage)}, nil
}

func (a *Actions) call(ctx context.Context, req *core.ActionRequest, s *core.CallSpec) (any, error) {
	gen, err := a.step(req, s.Step)
	if err != nil {
		return nil, err
	}
	resp, err := gen.Generate(ctx, &sdk.GenerateRequest{
		Call: callOf(req, sdk.RoleGenerate), State: req.State, Emit: emitter(a.Events, a.Pieces, req.Node, 1),
	})
	if err != nil {
		return nil, err
	}
	result := &core.CallResult{Output: resp.Output, Usage: reported(resp.Usage)}
	if s.WithUsage {
		result.Usage = &resp.Usage
	}
	return result, nil
}

// reported is what a call took, nil if its plugin reported nothing. The run
// counts it from the result.
func reported(u sdk.Usage) *sdk.Usage {
	if u == (sdk.Usage{}) {
		return nil
	}
	return &u
}

// callOf names a call outside a loop: it counts as iteration 1 of its visit.
func callOf(req *core.ActionRequest, role sdk.Role) sdk.Call {
	return sdk.Call{
		RunID: req.RunID, Node: req.Node, Iteration: 1, Role: role,
		IdempotencyKey: idempotencyKey(req.RunID, req.Visit, 1, role),
	}
}

func nonNil(findings []sdk.Finding) []sdk.Finding {
	if findings == nil {
		return []sdk.Finding{}
	}
	return findings
}
