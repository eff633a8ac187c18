package loop

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/work"
	"github.com/reflectory/reflectory/sdk"
)

// driver carries out what the engine decides: it calls plugins, records attempts, and
// sends events.
type driver struct {
	o       *Options
	engine  engine
	breaker *Breaker
	active  activeTime
	began   time.Time // of the iteration
}

func newDriver(o *Options) (*driver, error) {
	v, err := newView(o.State)
	if err != nil {
		return nil, err
	}
	d := &driver{o: o, engine: engine{limits: withDefaults(o.Limits), corrects: o.Corrector != nil, view: v, best: -1}}
	if err := d.engine.replay(o.Done); err != nil {
		return nil, err
	}
	d.engine.resume(o.Used.Usage)
	d.breaker = NewBreaker(d.engine.limits.MaxIterations)
	for range o.Done {
		d.breaker.Admit()
	}
	d.active = activeTime{clock: o.Clock, limit: o.Timeout}
	if d.active.clock == nil {
		d.active.clock = core.SystemClock{}
	}
	before := o.Used.WallMillis
	if last := d.engine.last(); last != nil {
		before = max(before, last.ActiveMillis)
	}
	d.active.before = time.Duration(before) * time.Millisecond
	d.active.start = d.active.clock.Now()
	return d, nil
}

// loop runs iterations until one of them ends the loop. The limit is fixed here, so
// nothing that a plugin returns can extend it.
func (d *driver) loop(ctx context.Context) (core.StopReason, error) {
	if last := d.engine.last(); last != nil && last.Judged {
		d.askToStop(ctx)
		if reason := d.engine.check(ctx, d.active); reason != "" {
			return reason, nil
		}
	}
	for range d.engine.limits.MaxIterations {
		reason, err := d.iterate(ctx)
		if reason != "" || err != nil {
			return reason, err
		}
	}
	return core.StopMaxIterations, nil
}

// iterate makes one attempt, unless a resumed loop already has one, and judges it. It
// returns the reason why the loop stops, or "" to continue.
func (d *driver) iterate(ctx context.Context) (core.StopReason, error) {
	d.began = d.active.clock.Now()
	number := len(d.engine.attempts)
	if last := d.engine.last(); last == nil || last.Judged {
		if !d.breaker.Admit() {
			return core.StopMaxIterations, nil
		}
		number++
	}
	ctx, end := d.o.Observer.Begin(ctx, work.Work{Kind: work.Iteration, Name: d.o.Node, RunID: d.o.RunID, Iteration: number})
	reason, err := d.attempt(ctx)
	end(d.outcome(number, err))
	return reason, err
}

// outcome is the outcome of an iteration, for the observer.
func (d *driver) outcome(number int, err error) work.Outcome {
	out := work.Outcome{Err: err}
	if last := d.engine.last(); last != nil && last.Iteration == number {
		out.Attempt = last
	}
	if d.engine.best >= 0 {
		out.BestScore = d.engine.attempts[d.engine.best].Score
	}
	return out
}

// attempt is an iteration that was admitted.
func (d *driver) attempt(ctx context.Context) (core.StopReason, error) {
	if last := d.engine.last(); last == nil || last.Judged {
		if reason, err := d.produce(ctx); reason != "" || err != nil {
			return reason, err
		}
	}
	if !d.engine.last().Judged {
		if reason := d.interrupted(ctx); reason != "" {
			return reason, nil
		}
		if err := d.judge(ctx); err != nil {
			return d.failure(ctx, err)
		}
	}
	return d.engine.check(ctx, d.active), nil
}

// produce makes the next attempt, with the corrector or the generator.
func (d *driver) produce(ctx context.Context) (core.StopReason, error) {
	if d.engine.next() == sdk.RoleCorrect {
		made, reason, err := d.correct(ctx)
		if made || reason != "" || err != nil {
			return reason, err
		}
		if reason := d.interrupted(ctx); reason != "" {
			return reason, nil
		}
	}
	return d.generate(ctx)
}

func (d *driver) generate(ctx context.Context) (core.StopReason, error) {
	d.started(sdk.RoleGenerate)
	req := d.generateRequest()
	resp, err := retried(ctx, d, req.Call, d.engine.limits.GeneratorRetries, func() (*sdk.GenerateResponse, error) {
		resp, err := d.o.Generator.Generate(ctx, req)
		if err != nil {
			return nil, err
		}
		return resp, sdk.WithUsage(checkOutput(resp.Output), resp.Usage)
	})
	if err == nil {
		return "", d.recordOutput(ctx, d.engine.produced(sdk.RoleGenerate, resp.Output, resp.Usage))
	}
	if ctx.Err() != nil {
		return d.interrupted(ctx), nil
	}
	if d.endsTheRun(err) {
		return core.StopGeneratorError, sdk.Wrap("generator", err)
	}
	a := d.engine.failed(err)
	d.askToStop(ctx)
	return "", d.recordVerdict(ctx, a)
}

// correct asks the corrector for the next attempt, or for feedback to the generator. It
// reports whether the corrector made the attempt.
func (d *driver) correct(ctx context.Context) (made bool, reason core.StopReason, err error) {
	d.started(sdk.RoleCorrect)
	resp, err := d.o.Corrector.Correct(ctx, d.correctRequest())
	if err == nil {
		err = sdk.WithUsage(checkOutput(resp.Output), resp.Usage)
	}
	if err == nil && d.o.CorrectMode == CorrectRegenerate {
		err = sdk.WithUsage(d.engine.patched(resp.Output, resp.Usage), resp.Usage)
	} else if err == nil {
		return true, "", d.recordOutput(ctx, d.engine.produced(sdk.RoleCorrect, resp.Output, resp.Usage))
	}
	if err == nil {
		return false, "", nil
	}
	d.engine.addUsage(sdk.UsageOf(err))
	if ctx.Err() != nil {
		return false, d.interrupted(ctx), nil
	}
	d.emit(core.CorrectorFailed{Node: d.o.Node, Iteration: d.engine.last().Iteration, Err: err})
	d.engine.correctorFailed(finding(sdk.TypeCorrectorError, err))
	return false, "", nil
}

// judge evaluates the last attempt and records the verdict.
func (d *driver) judge(ctx context.Context) error {
	r, err := d.verdict(ctx)
	if err != nil {
		return err
	}
	if err := d.applyRuling(ctx, r); err != nil {
		return err
	}
	return d.recordVerdict(ctx, d.engine.last())
}

// ruling is how an attempt was judged.
type ruling struct {
	*sdk.EvaluateResponse
	// accepted is whether the attempt passes by the workflow's rule.
	accepted bool
	// failed is whether the evaluator failed, so that the loop counts the attempt as
	// invalid.
	failed bool
}

// verdict returns the ruling on the last attempt.
func (d *driver) verdict(ctx context.Context) (ruling, error) {
	resp, err := d.evaluate(ctx)
	if err != nil && ctx.Err() == nil && d.o.OnEvaluatorError == EvaluatorErrorFail {
		failed := sdk.Verdict{Errors: []sdk.Finding{finding(sdk.TypeEvaluatorError, err)}}
		return ruling{EvaluateResponse: &sdk.EvaluateResponse{Verdict: failed}, failed: true}, nil
	}
	if err != nil {
		return ruling{}, err
	}
	accepted, err := d.accepts(ctx, &resp.Verdict)
	if err != nil {
		d.engine.addUsage(resp.Usage)
	}
	return ruling{EvaluateResponse: resp, accepted: accepted}, err
}

// evaluate asks the evaluator for a verdict.
func (d *driver) evaluate(ctx context.Context) (*sdk.EvaluateResponse, error) {
	req := d.evaluateRequest()
	return retried(ctx, d, req.Call, d.engine.limits.EvaluatorRetries, func() (*sdk.EvaluateResponse, error) {
		resp, err := d.o.Evaluator.Evaluate(ctx, req)
		if err != nil {
			return nil, err
		}
		resp.Verdict.Errors = withoutLoopTypes(resp.Verdict.Errors)
		return resp, sdk.WithUsage(resp.Verdict.Check(), resp.Usage)
	})
}

// withoutLoopTypes are an evaluator's findings without the types that only the loop
// gives. An evaluator may repeat the findings of an earlier attempt, but an attempt that
// was judged isn't one whose generator or corrector failed.
func withoutLoopTypes(findings []sdk.Finding) []sdk.Finding {
	types := []string{sdk.TypeGeneratorError, sdk.TypeCorrectorError}
	own := func(f sdk.Finding) bool { return slices.Contains(types, f.Type) }
	if !slices.ContainsFunc(findings, own) {
		return findings
	}
	out := slices.Clone(findings)
	for i := range out {
		if own(out[i]) {
			out[i].Type = ""
		}
	}
	return out
}

// failure classifies an error during judging: the end of the loop's own context if that
// is the cause, else the evaluator's failure.
func (d *driver) failure(ctx context.Context, err error) (core.StopReason, error) {
	var lost *recordError
	if ctx.Err() != nil && !errors.As(err, &lost) {
		return d.interrupted(ctx), nil
	}
	return core.StopEvaluatorError, err
}

// interrupted returns the reason why no further call may start, or "".
func (d *driver) interrupted(ctx context.Context) core.StopReason {
	switch {
	case d.active.cancelled():
		return core.StopCancelled
	case d.active.over(ctx):
		return core.StopTimeout
	case d.engine.overBudget():
		return core.StopBudget
	}
	return ""
}

// call identifies the step that a request belongs to.
func (d *driver) call(role sdk.Role) sdk.Call {
	return Call(d.o.RunID, d.o.Visit, d.o.Node, d.engine.iteration(role), role)
}

// idempotencyKey is run_id/iteration/role. From the second visit on it contains the visit
// too (run_id.visit/…), because a workflow may have several loops.
func idempotencyKey(runID string, visit, iteration int, role sdk.Role) string {
	if runID == "" {
		return ""
	}
	if visit > 1 {
		runID += "." + strconv.Itoa(visit)
	}
	return runID + "/" + strconv.Itoa(iteration) + "/" + string(role)
}

func (d *driver) generateRequest() *sdk.GenerateRequest {
	var output []byte
	if last := d.engine.last(); last != nil {
		output = last.Output
	}
	req := &sdk.GenerateRequest{Call: d.call(sdk.RoleGenerate)}
	req.State = d.engine.view.state(d.engine.reflection(req.Iteration, output))
	req.Emit = Emitter(d.o.Events, d.o.Pieces, core.OutputChunk{Visit: d.o.Visit, Node: d.o.Node, Iteration: req.Iteration})
	return req
}

// Emitter sends the pieces of a call's output as events, which are first with the piece's text. It is
// nil if nobody receives them, so that plugins don't produce any: see [Options.Pieces].
func Emitter(events func(core.Event), pieces func() bool, first core.OutputChunk) func(chunk string) {
	if events == nil || pieces == nil || !pieces() {
		return nil
	}
	return func(chunk string) {
		first.Text = chunk
		events(first)
		first.Offset += utf8.RuneCountInString(chunk)
	}
}

func (d *driver) evaluateRequest() *sdk.EvaluateRequest {
	output := d.engine.last().Output
	req := &sdk.EvaluateRequest{Call: d.call(sdk.RoleEvaluate), Output: output}
	req.State = d.engine.view.state(d.engine.reflection(req.Iteration, output))
	return req
}

func (d *driver) correctRequest() *sdk.CorrectRequest {
	last := d.engine.last()
	output := last.Output
	if last.GeneratorFailed() {
		output = last.Raw // there is nothing else to repair
	}
	return &sdk.CorrectRequest{
		Call: d.call(sdk.RoleCorrect), Output: output, Errors: last.Errors, Feedback: last.Feedback,
		State: d.engine.view.state(d.engine.reflection(last.Iteration, output)),
	}
}

func (d *driver) started(role sdk.Role) {
	d.emit(core.IterationStarted{
		Node: d.o.Node, Iteration: len(d.engine.attempts) + 1, Max: d.engine.limits.MaxIterations, Role: role,
	})
}

func (d *driver) emit(e core.Event) {
	if d.o.Events != nil {
		d.o.Events(e)
	}
}
