package gateway

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/conversation"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/loop"
	"github.com/reflectory/reflectory/core/work"
	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/core/workflow/action"
	"github.com/reflectory/reflectory/sdk"
)

const (
	// commitEvery is how often what was answered is committed.
	commitEvery = 500 * time.Millisecond
	// sweepEvery is how often turns are looked for that nobody goes on with.
	sweepEvery = time.Minute
)

// Options are the settings of a gateway.
type Options struct {
	// WhenUnrecorded is what happens while the store can't write. Default [UnrecordedRefuse].
	WhenUnrecorded WhenUnrecorded
	// Warn receives what the operator should know. It must be safe for concurrent use. Nil drops it.
	Warn func(error)
}

// Gateway serves the requests for models. It is safe for concurrent use, and must be closed before its
// host.
type Gateway struct {
	host    *host.Host
	options Options
	// act has plugins judge.
	act  func(context.Context, host.Need, action.Spec, json.RawMessage) (any, error)
	logs map[*host.Host]*conversation.Log

	placing sync.Mutex
	// building is closed once the newest turn of a session has its context, by session.
	building map[string]chan struct{}

	stop   chan struct{}
	stopMu sync.Mutex
	work   sync.WaitGroup
}

// New makes a gateway on a host and starts its background work.
func New(h *host.Host, o Options) *Gateway {
	if o.Warn == nil {
		o.Warn = func(error) {}
	}
	g := &Gateway{
		host: h, options: o, act: h.Runner.Act, logs: map[*host.Host]*conversation.Log{}, building: map[string]chan struct{}{},
		stop: make(chan struct{}),
	}
	for _, of := range h.Databases.All() {
		g.logs[of] = &conversation.Log{Store: of.Store, Clock: of.Config.Clock, KeepRuns: of.Config.Settings.Keep().Runs}
	}
	g.work.Go(g.background)
	return g
}

// Close commits what waits, and stops the background work. It is idempotent.
func (g *Gateway) Close() error {
	g.stopMu.Lock()
	select {
	case <-g.stop:
	default:
		close(g.stop)
	}
	g.stopMu.Unlock()
	g.work.Wait()
	var errs []error
	for _, log := range g.logs {
		errs = append(errs, log.Commit(context.Background()))
	}
	return core.JoinErrors(errs...)
}

// background commits what waits, and writes the feedback on turns that nobody goes on with.
func (g *Gateway) background() {
	commit, sweep := time.NewTicker(commitEvery), time.NewTicker(sweepEvery)
	defer commit.Stop()
	defer sweep.Stop()
	ctx := context.Background()
	for {
		select {
		case <-g.stop:
			return
		case <-commit.C:
			for _, log := range g.logs {
				before := log.Failure()
				if err := log.Commit(ctx); err != nil && before == nil {
					g.options.Warn(sdk.Wrap("record requests of the gateway", err))
				}
			}
		case <-sweep.C:
			for of, log := range g.logs {
				if err := g.settleOld(ctx, of, log); err != nil {
					g.options.Warn(sdk.Wrap("write the feedback on turns of the gateway", err))
				}
			}
		}
	}
}

// replyNode and contextNode are the nodes of a request's run.
const (
	replyNode   = "reply"
	contextNode = "context"
)

// exchange is one request, on its way through its run.
type exchange struct {
	*Gateway
	on     *host.Host
	log    *conversation.Log
	caller core.Caller
	model  *Model
	r      *Request
	up     Upstream

	at      *placement // nil if the request isn't recorded
	filed   string     // the place of the answer that is on file
	edits   Edits
	replies []*Reply // of the attempts, in order
	checker checker
	failure error // of the upstream
	outcome Outcome
}

// Serve serves a request. The outcome has the turn even if there is an error: one of the upstream is
// returned as it is. Refusals are sdk.Unavailable, reason "gateway_unrecorded", if the store can't
// write, and sdk.Exhausted, reason "reply_rejected", if no attempt passes and the model raises that.
func (g *Gateway) Serve(ctx context.Context, caller core.Caller, model *Model, r *Request, up Upstream) (*Outcome, error) {
	on := g.host.Databases.Of(model.Namespace)
	x := &exchange{Gateway: g, on: on, log: g.logs[on], caller: caller, model: model, r: r, up: up}
	ctx = core.WithCaller(ctx, caller)
	x.edits.Model = model.Upstream
	if x.edits.Model == "" {
		x.edits.Model = model.Name
	}
	x.checker = checker{exchange: x}
	of := &core.Run{
		ID: g.host.Config.IDs.NewID(), Workflow: core.RequestPrefix + model.Name, Namespace: model.Namespace,
		Source: core.Source{File: core.RequestPrefix + model.Name},
	}
	plan := &workflow.Plan{Name: of.Workflow, StepLimit: workflow.DefaultStepLimit, Nodes: []workflow.Node{
		{Name: replyNode, ActionName: "reflection.loop", Action: &action.LoopSpec{}},
	}}
	if !caller.Reaches(model.Namespace) {
		return &x.outcome, sdk.Errorf(sdk.Denied, "namespace_denied", "model %s is in namespace %s, which the caller doesn't reach", model.Name, model.Namespace)
	}
	if err := x.refers(ctx); err != nil {
		return &x.outcome, err
	}
	recorded := x.log.Failure()
	if recorded == nil {
		recorded = x.begin(ctx, of, plan)
	}
	if recorded != nil && g.options.WhenUnrecorded != UnrecordedPass {
		return &x.outcome, unrecorded(recorded)
	}
	runner := &workflow.Runner{Actions: x, Clock: on.Config.Clock}
	if recorded == nil {
		runner.Recorder = recorder{x.log, x.on.Runs, of.ID, model.Record == RecordDigests, g.options.WhenUnrecorded == UnrecordedPass}
	} else {
		x.at, of.ID, of.State = nil, "", json.RawMessage("{}")
		plan.Nodes = plan.Nodes[len(plan.Nodes)-1:]
	}
	observed, end := on.Config.Observe.Work.Begin(ctx, work.Work{Kind: work.Run, Name: of.Workflow, RunID: of.ID, Namespace: of.Namespace})
	err := runner.Run(observed, plan, of, core.Progress{})
	end(work.Outcome{Err: err, Run: of})
	if x.at != nil {
		x.at.done()
		x.answered(ctx)
	}
	return &x.outcome, x.ending(ctx, of, err)
}

// unrecorded is the refusal of a request that can't be recorded.
func unrecorded(err error) error {
	return sdk.Errorf(sdk.Unavailable, "gateway_unrecorded", "the request can't be recorded: %w", err).
		WithHint("try again; the operator may let requests pass meanwhile (gateway.when_unrecorded: pass)")
}

// begin places the request and lets its run begin.
func (x *exchange) begin(ctx context.Context, run *core.Run, plan *workflow.Plan) error {
	at, err := x.place(ctx)
	if err != nil {
		return err
	}
	x.at = at
	x.outcome.Turn = Turn{Run: run.ID, Session: at.shown, Number: at.turn}
	run.Session = at.session
	state := map[string]any{"session": at.shown, "turn": at.turn, "messages": len(x.r.Messages), "conversation": at.digests.last()}
	run.State = jsontext.MustEncode(state)
	switch {
	case x.model.Recall.MaxTokens == 0:
	case !at.begins && !at.retries:
		err = x.continued(ctx)
	default:
		plan.Nodes = append([]workflow.Node{{Name: contextNode, ActionName: "inject.snapshot", Action: &action.SnapshotSpec{}}}, plan.Nodes...)
	}
	if err == nil && x.model.Record != RecordDigests {
		err = x.addMessages(ctx)
	}
	if err == nil {
		err = x.log.Add(createStep(ctx, x.on.Runs, run))
	}
	if err != nil {
		at.done()
	}
	return err
}

// Act implements [workflow.Actions].
func (x *exchange) Act(ctx context.Context, req *action.Request) (any, error) {
	if req.Node == contextNode {
		defer x.at.done()
		return x.giveContext(ctx)
	}
	if x.at != nil {
		x.at.done()
	}
	result, _ := loop.Run(ctx, x.loop(req))                                          // the result has the error
	if x.failure != nil && len(x.replies) > 0 && result.Status == core.StatusError { // there is something to return
		result.Status, result.Exhausted = core.StatusExhausted, true
		if x.model.Check.OnFailure == loop.Raise {
			result.Status = core.StatusRaised
		}
	}
	x.outcome.Attempt, x.outcome.Attempts = result.Iteration, len(x.replies)
	x.outcome.Verdict = x.checker.said(result)
	if x.model.Record == RecordDigests {
		withoutContent(result)
	}
	return result, nil
}

// giveContext gives the turn its context, and commits the turn before its request goes up.
func (x *exchange) giveContext(ctx context.Context) (any, error) {
	built, err := x.context(ctx)
	if failure := x.log.Commit(context.WithoutCancel(ctx)); failure != nil {
		if x.options.WhenUnrecorded != UnrecordedPass {
			return nil, unrecorded(failure)
		}
		x.edits.System, x.edits.Context, x.outcome.Turn.Snapshot = "", nil, ""
		return struct{}{}, nil
	}
	if err != nil || x.model.Record != RecordDigests {
		return built, err
	}
	return map[string]string{"snapshot_id": built.SnapshotID}, nil
}

// ending is the error of a request whose run has ended.
func (x *exchange) ending(ctx context.Context, run *core.Run, err error) error {
	switch {
	case len(x.replies) == 0 && x.failure != nil:
		return x.failure
	case err != nil:
		return err
	case ctx.Err() != nil:
		return sdk.Errorf(sdk.Cancelled, "", "the client is gone")
	case run.Status == core.StatusError && x.model.Check.OnFailure == loop.Raise:
		return sdk.Errorf(sdk.Unavailable, "check_failed", "the reply couldn't be checked").WithHint("look at the run").WithAction("runs show", "run", run.ID)
	case run.Status == core.StatusRaised:
		return sdk.Errorf(sdk.Exhausted, "reply_rejected", "no reply passed the check in %d attempts, the best with score %.2f", x.outcome.Attempts, run.Score).
			WithHint("look at the run").WithAction("runs show", "run", run.ID)
	}
	return nil
}
