package host

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/inject"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/core/work"
	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/core/workflow/action"
	"github.com/reflectory/reflectory/core/workflow/state"
	"github.com/reflectory/reflectory/policy"
	"github.com/reflectory/reflectory/sdk"
)

// RunOptions are options of a run that depend on its caller.
type RunOptions struct {
	// Events is called with what happens, in order; nil drops it.
	Events func(core.Event)
	// Pieces includes the pieces of outputs in Events, while a model produces them. Others get them by
	// [Runner.FollowPieces].
	Pieces bool
	// Memories are the memories that nodes use. Nil means the Host's memories, without
	// restrictions: then the caller that starts the run decides which workflows may run.
	Memories core.Memories
	// Injector builds the snapshots of nodes. Nil means the Host's injector, without
	// restrictions.
	Injector action.Injector
	// Job is whether a job runs the run; then the job continues the run if this host is
	// gone.
	Job bool
	// From is the run as the previous host held it, if the run is taken over from a host
	// that is gone; nil for a run that a caller starts or resumes.
	From *run.Held
}

// LoadOptions are the options for loading a workflow.
func LoadOptions() workflow.Options { return workflow.Options{Expressions: policy.NewExpressions()} }

// needs is run.Needs under another name, since variables named run hide the package.
type needs = run.Needs

// Runner executes workflows, and single actions of them.
type Runner struct {
	config     *Config
	runs       *run.Repository
	replies    *run.Replies
	plugins    *Plugins
	policies   *Policies
	memories   *memory.Memories
	evidence   *gate.Recorder
	injections *inject.Builder
	tenants    *Tenants
	ended      *atomic.Int64 // counts the runs that ended
	pieces     pieces
}

// Start makes a run of a plan and runs it to its end. The run is stored before anything
// costs money. A problem of the plan is an error, and then there is no run. The run has
// its status at the end, also if there is an error.
func (r *Runner) Start(ctx context.Context, plan *workflow.Plan, run *core.Run, o RunOptions) error {
	return r.execute(ctx, plan, run, o, func(ctx context.Context, n needs) (core.Progress, error) {
		return core.Progress{}, r.runs.CreateWith(ctx, run, n)
	})
}

// Check is what Start would refuse before a run begins, without making one: the plugins of a plan
// are started and check their configs, and nothing is asked of them. failing are the errors of
// plugins that don't work, with which a run would end at their nodes.
func (r *Runner) Check(ctx context.Context, plan *workflow.Plan, namespace string) (failing []error, err error) {
	plugins, ctx, release, err := r.plugins.scoped(ctx, Need{Uses: plan.Plugins(), LLM: plan.LLM, Namespace: namespace})
	if err != nil {
		return nil, err
	}
	defer release()
	r.config.Activity(StartingPlugins)
	ready, err := prepare(ctx, &action.Actions{Plugins: plugins, Clock: r.config.Clock, Policy: r.policies, Namespace: namespace}, plan)
	r.config.Activity("")
	for _, node := range plan.Nodes {
		if broken := ready.broken[node.Name]; broken != nil {
			failing = append(failing, sdk.Wrap("node "+node.Name, broken))
		}
	}
	return failing, err
}

// Resume continues a run that was killed, cancelled or failed, at the first step that it
// didn't record. Its results are the same as Start's; if the run didn't continue, it
// returns no run.
func (r *Runner) Resume(ctx context.Context, id string, o RunOptions) (*core.Run, error) {
	run, err := r.runs.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	if isRequest(run) {
		return nil, notRepeatable("resumed", run)
	}
	plan, err := workflow.Load(run.Source, LoadOptions())
	if err != nil {
		return nil, err
	}
	if o.Job { // the host that had it may be gone, and may have had other plugins
		held, err := r.runs.HeldBy(ctx, run.ID)
		if err == nil && held != nil {
			err = r.plugins.checkRun(*held)
		}
		if err != nil {
			return nil, err
		}
	}
	begun := false
	err = r.execute(ctx, plan, run, o, func(ctx context.Context, n needs) (core.Progress, error) {
		resumed, err := r.runs.ResumeWith(ctx, run.ID, n, o.From)
		if err != nil {
			return core.Progress{}, err
		}
		*run, begun = *resumed, true
		return r.runs.Progress(ctx, run.ID)
	})
	if !begun { // it still has its earlier status
		return nil, err
	}
	return run, err
}

// isRequest reports whether a run is a request for a model, or was recorded from elsewhere: it has no
// workflow.
func isRequest(r *core.Run) bool {
	return r.Source.Text == "" || strings.HasPrefix(r.Workflow, core.RequestPrefix)
}

// notRepeatable refuses to do with a run without a workflow what can be done with other runs.
func notRepeatable(done string, r *core.Run) error {
	if !strings.HasPrefix(r.Workflow, core.RequestPrefix) {
		return sdk.Errorf(sdk.Conflict, "run_of_elsewhere", "the attempts of run %s were made elsewhere, so it can't be %s", r.ID, done).
			WithHint("look at its attempts").WithAction("runs show", "run", r.ID)
	}
	return sdk.Errorf(sdk.Conflict, "run_of_gateway", "run %s is a request for model %s and can't be %s", r.ID, strings.TrimPrefix(r.Workflow, core.RequestPrefix), done).
		WithHint("look at its attempts").WithAction("runs show", "run", r.ID)
}

// execute checks a plan with its plugins, calls begin, which returns the recorded
// progress, and runs the plan to its end.
func (r *Runner) execute(ctx context.Context, plan *workflow.Plan, run *core.Run, o RunOptions, begin func(context.Context, needs) (core.Progress, error)) error {
	namespace := cmp.Or(run.Namespace, config.DefaultNamespace)
	plugins, ctx, release, err := r.plugins.scoped(ctx, Need{Uses: plan.Plugins(), LLM: plan.LLM, Namespace: namespace, RunID: run.ID, Folder: run.Source.Folder})
	if err != nil {
		return err
	}
	defer release()
	memories := o.Memories
	if memories == nil {
		memories = sameDatabaseMemories{r.memories, r.tenants}
	}
	injector := o.Injector
	if injector == nil {
		injector = hostInjector{r.injections}
	}
	var pieces func() bool
	o.Events, pieces = r.pieces.of(run.ID, o.Events, o.Pieces)
	actions := &action.Actions{
		Plugins: plugins, Memories: memories, Injector: injector, Replies: r.replies, Steps: r.runs, Events: o.Events, Pieces: pieces, Observer: r.config.Observe.Work,
		Clock: r.config.Clock, Policy: r.policies, Namespace: namespace, Workflow: run.Workflow,
	}
	recall := slices.ContainsFunc(plan.Plugins(), func(use workflow.PluginUse) bool { return plugins.MayRecall(use.Plugin) })
	if recall { // a purge wouldn't find replies to prompts that have what it recalled
		actions.Replies, actions.WithholdSteps = nil, true
	}
	actions.RunWorkflow = func(ctx context.Context, id string, source core.Source, arguments json.RawMessage) (*core.Run, error) {
		return r.runTool(ctx, run, id, source, arguments, o)
	}
	r.config.Activity(StartingPlugins)
	ready, err := prepare(ctx, actions, plan)
	r.config.Activity("")
	if err != nil {
		return err
	}
	for _, node := range plan.Nodes[1:] { // earlier nodes may cost money
		if err := ready.broken[node.Name]; err != nil {
			r.config.warnf("node %s can't run, so the run will end there: %s", node.Name, err)
		}
	}
	n, err := r.plugins.needs(plan, o.Job)
	if err != nil {
		return err
	}
	progress, err := begin(ctx, n)
	if err != nil {
		return err
	}
	if recalls(plan) {
		r.memories.Warm(namespace)
	}
	runner := &workflow.Runner{Actions: ready, Recorder: runEnd{r.runs.Recorder(run), r.runs, ctx}, Events: o.Events, Reporter: runReporter{r.memories, r.evidence, namespace}, Recall: recall}
	ctx, end := r.config.Observe.Work.Begin(ctx, work.Work{Kind: work.Run, Name: run.Workflow, RunID: run.ID, Namespace: namespace})
	err = runner.Run(ctx, plan, run, progress)
	r.ended.Add(1)
	end(work.Outcome{Err: err, Run: run})
	return err
}

// runTool runs a workflow that a model of a run called, to its end, or continues with it if it ran before.
// Nobody else continues it: the run itself does, when it is resumed.
func (r *Runner) runTool(ctx context.Context, caller *core.Run, id string, source core.Source, arguments json.RawMessage, o RunOptions) (*core.Run, error) {
	o.Events, o.Pieces, o.From, o.Job = nil, false, nil, true
	known, err := r.runs.Get(ctx, id)
	switch {
	case err == nil && known.Status.Resumable():
		return r.Resume(ctx, id, o)
	case sdk.CodeOf(err) != sdk.NotFound:
		return known, err
	}
	plan, err := workflow.Load(source, LoadOptions())
	if err != nil {
		return nil, err
	}
	begin, err := (&state.Overlay{State: arguments}).Apply(plan.State)
	if err != nil {
		return nil, err
	}
	run := &core.Run{ID: id, Parent: caller.ID, Workflow: plan.Name, Namespace: caller.Namespace, Session: caller.SessionID(), Source: source, State: begin}
	return run, r.Start(ctx, plan, run, o)
}

// recalls reports whether a node of a plan recalls.
func recalls(plan *workflow.Plan) bool {
	return slices.ContainsFunc(plan.Nodes, func(n workflow.Node) bool {
		memory, ok := n.Action.(*action.MemorySpec)
		_, injects := n.Action.(*action.SnapshotSpec)
		return ok && memory.Verb == action.VerbRecall || injects
	})
}

// runReporter reports to the memories how runs went.
type runReporter struct {
	*memory.Memories
	evidence  *gate.Recorder
	namespace string // of the run
}

// AddDAG implements [workflow.RunReporter]. Each namespace has its own graph of a workflow: otherwise a
// run could change the evidence on memories that its caller doesn't reach, by the workflow's name.
func (t runReporter) AddDAG(ctx context.Context, dag *core.WorkflowDAG) error {
	own := *dag
	own.Workflow = gate.RunWorkflow(t.namespace, dag.Workflow)
	return t.evidence.AddDAG(ctx, &own)
}

// AddTools implements [workflow.RunReporter].
func (t runReporter) AddTools(ctx context.Context, outcomes []core.ToolOutcome) error {
	var errs []error
	for i := range outcomes { // one by one, so that one that is gone doesn't refuse the others
		if _, err := t.evidence.RecordTools(ctx, outcomes[i:i+1]); err != nil && sdk.CodeOf(err) != sdk.NotFound {
			errs = append(errs, err)
		}
	}
	return core.JoinErrors(errs...)
}

// prepare has the plugins check their configs before anything runs. The problems of all
// nodes are reported at once. A plugin that doesn't start isn't the workflow's mistake.
// The run begins, and ends with that error when it reaches the node.
func prepare(ctx context.Context, actions *action.Actions, plan *workflow.Plan) (readyNodes, error) {
	var wrong []error
	ready := readyNodes{Actions: actions, broken: map[string]error{}}
	for _, node := range plan.Nodes {
		refused, broken := actions.Prepare(ctx, node.Action)
		for _, err := range refused {
			wrong = append(wrong, sdk.Wrap("node "+node.Name, err))
		}
		if err := core.JoinErrors(broken...); err != nil {
			ready.broken[node.Name] = err
		}
	}
	for _, tool := range plan.Tools { // one that doesn't start fails the call
		if _, err := prepare(ctx, actions, tool.Plan); err != nil {
			wrong = append(wrong, sdk.Wrap("the workflow of tool "+tool.Name, err))
		}
	}
	return ready, core.JoinErrors(wrong...)
}

// readyNodes runs the nodes whose plugins started.
type readyNodes struct {
	workflow.Actions
	broken map[string]error // why a node's plugins can't run, by the node's name
}

// Act implements [workflow.Actions].
func (r readyNodes) Act(ctx context.Context, req *action.Request) (any, error) {
	if err := r.broken[req.Node]; err != nil {
		return nil, err
	}
	return r.Actions.Act(ctx, req)
}
