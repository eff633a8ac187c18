package operation

import (
	"cmp"
	"context"
	"encoding/json"
	"path/filepath"
	"time"
	"unicode/utf8"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/core/workflow/state"
	"github.com/reflectory/reflectory/sdk"
)

// A run is in a namespace. For a caller that doesn't reach it, the run doesn't exist.

// runs are the operations on runs.
func runs() []Operation {
	return []Operation{
		define(Operation{
			Name: "run_start", Method: "POST", Path: "/v1/runs", Scope: core.ScopeRun, Long: true, Job: job.Workflow,
			Doc: "Run a workflow, sent as text together with the files that it names.",
		}, inNamespace(func(in *RunStart) *string { return &in.Namespace }), runStart),
		define(Operation{
			Name: "run_resume", Method: "POST", Path: "/v1/runs/{id}/resume", Scope: core.ScopeRun, Long: true, Job: job.Workflow,
			Doc: "Resume a run that was killed, cancelled or failed.",
		}, ofRun(func(in *RunResume) *string { return &in.ID }), runResume),
		define(Operation{
			Name: "run_replay", Method: "POST", Path: "/v1/runs/{id}/replay", Scope: core.ScopeRun, ReadOnly: true, Idempotent: true, Long: true, Job: job.Workflow,
			Doc: "Judge a run's attempts again, and say what would change, and which of the judges' prompts differ.",
		}, ofRun(func(in *RunReplay) *string { return &in.ID }), runReplay),
		define(Operation{
			Name: "run_list", listed: true, Method: "GET", Path: "/v1/runs", Scope: core.ScopeRun, ReadOnly: true, Idempotent: true,
			Doc: "List runs, the newest first.",
		}, ofRuns, runList),
		define(Operation{
			Name: "run_get", Method: "GET", Path: "/v1/runs/{id}", Scope: core.ScopeRun, ReadOnly: true, Idempotent: true,
			Doc: "Show a run with every attempt.",
		}, ofRun(func(in *RunGet) *string { return &in.ID }), runGet),
	}
}

// ofRun is the place of a request that names a run, by its id or, for a caller that
// reaches every namespace, the start of its id: the run's namespace.
func ofRun[In any](id func(*In) *string) func(context.Context, *Call, *In) (place, error) {
	return func(ctx context.Context, c *Call, in *In) (_ place, err error) {
		id := id(in)
		at := place{absent: absence(run.RunNotFound, *id)}
		var namespace string
		if c.reaches("**") {
			*id, namespace, err = c.Host.Runs.Locate(ctx, *id)
		} else if namespace, err = c.Host.Runs.RunNamespace(ctx, *id); sdk.CodeOf(err) == sdk.NotFound {
			err = at.absent() // also for a pruned run, since its namespace isn't known any more
		}
		if err != nil {
			return place{}, err
		}
		at.namespaces = []string{cmp.Or(namespace, config.DefaultNamespace)}
		return at, nil
	}
}

// maxFileName is the longest name of a text's file, in bytes.
const maxFileName = 4 << 10

// SourceFiles are the files that belong to a text in a request.
type SourceFiles struct {
	// File is the file that the text was read from, up to 4,096 bytes. Messages name it,
	// and a workflow without a name is named after it.
	File string `json:"file,omitempty"`
	// Files are the files that the text names, by their slash-separated path relative to
	// its folder. Other files are ignored.
	Files map[string]string `json:"files,omitempty"`
	// Folder is the folder of the file, as an absolute path, which programs may work on a copy of. It
	// counts only if the caller is the operator on this machine; any other caller's is ignored.
	Folder string `json:"folder,omitempty"`
}

// local keeps the folder only if the caller is local.
func (f *SourceFiles) local(is bool) {
	if !is || !filepath.IsAbs(f.Folder) {
		f.Folder = ""
	}
}

// source is a text with its files. A text without a file name gets a default name.
func (f *SourceFiles) source(what, text string) (core.Source, error) {
	if len(f.File) > maxFileName || !utf8.ValidString(f.File) {
		return core.Source{}, sdk.Errorf(sdk.Invalid, "file_invalid", "file has %d bytes (limit %d), or isn't UTF-8", len(f.File), maxFileName).
			WithDetail("field", "file")
	}
	source, err := workflow.FromText(cmp.Or(f.File, what+".yaml"), text, f.Files)
	source.Folder = f.Folder
	return source, err
}

// RunStart asks for a run.
type RunStart struct {
	// Workflow is the YAML of the workflow; "" if Attempts are what is recorded.
	Workflow string `json:"workflow,omitempty"`
	SourceFiles
	// Attempts were made by a program of the caller's own, in their order, at most 1,000: they are
	// recorded as a run of one loop, which passes if the last one is valid. No other is.
	Attempts []MadeAttempt `json:"attempts,omitempty"`
	// Name is the workflow's name under which these attempts are listed and counted. Only with Attempts.
	Name string `json:"name,omitempty"`
	// Namespace is the run's namespace, which policies depend on; "" is the configured
	// one. Session is the session of the run's recalls; "" is a session named by the
	// run's id.
	Namespace string `json:"namespace,omitempty"`
	Session   string `json:"session,omitempty"`
	// Overlay overrides the workflow's own state.
	state.Overlay
}

// RunEnded is how a run ended. As JSON it is the run's result or, if there is none, the
// run's id, status and error.
type RunEnded struct{ *core.Run }

// MarshalJSON implements [json.Marshaler].
func (r RunEnded) MarshalJSON() ([]byte, error) {
	if len(r.Result) > 0 {
		return r.Result, nil
	}
	return json.Marshal(struct {
		RunID          string          `json:"run_id"`
		Status         core.Status     `json:"status"`
		ExhaustedLoops []string        `json:"exhausted_loops,omitempty"`
		Error          *core.ErrorInfo `json:"error,omitempty"`
	}{r.ID, r.Status, r.ExhaustedLoops, r.Error})
}

func runStart(ctx context.Context, c *Call, in *RunStart) (*RunEnded, error) {
	if in.Session != "" { // a session that isn't the caller's is refused to the node that uses it
		if _, err := c.ownSession(ctx, &in.Session); err != nil && sdk.CodeOf(err) != sdk.NotFound {
			return nil, err
		}
	}
	w, err := loaded(c, in)
	if err != nil {
		return nil, err
	}
	run := &core.Run{
		ID: c.runID, Workflow: w.name, Namespace: in.Namespace, Session: in.Session, Source: w.source, State: w.state,
	}
	if w.made != nil && c.name != "" { // so that a call that is repeated after a crash finds it
		run.ID = core.NamedID(c.named("", 0))
		if known, err := c.Host.Runs.Get(ctx, run.ID); err == nil {
			return ended(known, nil)
		}
	}
	if run.ID == "" {
		run.ID = c.Host.Config.IDs.NewID()
	}
	c.runSession = run.SessionID()
	if w.made != nil {
		return ended(run, c.Host.Runner.Record(ctx, run, w.made))
	}
	return ended(run, c.Host.Runner.Start(ctx, w.plan, run, c.runOptions()))
}

// startable is a workflow with the state in which a run of it begins.
type startable struct {
	name   string
	plan   *workflow.Plan
	source core.Source
	state  json.RawMessage
	made   []core.Attempt // elsewhere; there is no plan then
}

// load reads the workflow, and checks what its run gets.
func (in *RunStart) load() (*startable, error) {
	if len(in.Attempts) > 0 || in.Name != "" {
		made, err := in.made()
		return &startable{name: in.Name, made: made}, core.JoinErrors(checkNamespace(in.Namespace), err)
	}
	source, err := in.source("workflow", in.Workflow)
	plan := &workflow.Plan{}
	if err == nil {
		plan, err = workflow.Load(source, host.LoadOptions())
	}
	if err != nil {
		return nil, core.JoinErrors(inField("workflow", err), checkNamespace(in.Namespace))
	}
	state, err := in.Apply(plan.State)
	if err := core.JoinErrors(checkNamespace(in.Namespace), err); err != nil {
		return nil, err
	}
	return &startable{name: plan.Name, plan: plan, source: source, state: state}, nil
}

// check implements checked.
func (in *RunStart) check() error {
	_, err := in.load()
	return err
}

// loadFor implements loads.
func (in *RunStart) loadFor(c *Call) error {
	_, err := loaded(c, in)
	return err
}

// runOptions pass events of a run to the caller, and restrict its nodes to what the
// caller may do.
func (c *Call) runOptions() host.RunOptions {
	return host.RunOptions{
		Events: c.Events, Pieces: c.Pieces, Memories: runMemories{c}, Injector: runMemories{c}, Job: c.runID != "", From: c.from,
	}
}

// ended is the result of a run that was started. A failed run is a result too; any other
// error means that the run didn't start, or that its end couldn't be recorded.
func ended(run *core.Run, failure error) (*RunEnded, error) {
	if failure != nil && run.Status != core.StatusError {
		return nil, failure
	}
	return &RunEnded{run}, nil
}

// RunResume names a run.
type RunResume struct {
	ID string `json:"id"`
}

func runResume(ctx context.Context, c *Call, in *RunResume) (*RunEnded, error) {
	run, err := c.Host.Runs.Get(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	c.runSession = run.SessionID()
	run, err = c.Host.Runner.Resume(ctx, in.ID, c.runOptions())
	if run == nil {
		return nil, err
	}
	return ended(run, err)
}

// TakeOver continues a run whose host is gone, with the rights of the run's caller: see
// host.JoinOptions. It returns an error only if it didn't continue the run.
func TakeOver(h *host.Host) func(context.Context, run.Held) error {
	return func(ctx context.Context, held run.Held) error {
		out, err := Do(core.WithCaller(ctx, held.Caller), Call{Host: h, chosen: true, from: &held}, "run_resume", &RunResume{ID: held.RunID})
		if ended, is := out.(*RunEnded); is && ended != nil {
			return nil // even if it failed, which the run records
		}
		return err
	}
}

// RunReplay names a run, and the evaluator and the accept rule that replace its own.
type RunReplay struct {
	ID string `json:"id"`
	// Evaluator is YAML: the part of a workflow under evaluator:, with or without that
	// key. "" means the run's own evaluator.
	Evaluator string `json:"evaluator,omitempty"`
	SourceFiles
	// Accept is a CEL expression over valid, score, errors, output and iteration; "" means
	// the run's own rule.
	Accept string `json:"accept,omitempty"`
}

func runReplay(ctx context.Context, c *Call, in *RunReplay) (*host.Replayed, error) {
	o, err := loaded(c, in)
	if err != nil {
		return nil, err
	}
	return c.Host.Runner.Replay(ctx, in.ID, o)
}

// load reads what replaces the run's own evaluator and rule.
func (in *RunReplay) load() (o host.ReplayOptions, err error) {
	var accept error
	if in.Evaluator != "" {
		o.Evaluator, err = in.single("evaluator", in.Evaluator, workflow.LoadEvaluator)
	}
	if in.Accept != "" {
		o.Accept, accept = host.LoadOptions().Expressions.Compile(policypoint.Accept, in.Accept)
	}
	return o, core.JoinErrors(err, inField("accept", sdk.Wrap("accept", accept)))
}

func (in *RunReplay) check() error {
	_, err := in.load()
	return err
}

// loadFor implements loads.
func (in *RunReplay) loadFor(c *Call) error {
	_, err := loaded(c, in)
	return err
}

// RunList selects runs.
type RunList struct {
	// Namespace is where to look; "" is every namespace that the caller reaches. Subtree
	// includes the namespaces below.
	Namespace string `json:"namespace,omitempty"`
	Subtree   bool   `json:"subtree,omitempty"`
	// Status is one of core.RunStatuses, and Workflow a workflow's name; "" selects all.
	Status   core.Status `json:"status,omitempty"`
	Workflow string      `json:"workflow,omitempty"`
	// Since leaves out runs that began before; the zero time selects all.
	Since time.Time `json:"since,omitzero"`
	Paging
}

// RunSummary is a run in a list.
type RunSummary struct {
	RunID      string          `json:"run_id"`
	Workflow   string          `json:"workflow"`
	Namespace  string          `json:"namespace"`
	Status     core.Status     `json:"status"`
	StopReason core.StopReason `json:"stop_reason,omitempty"`
	// ExhaustedLoops are the nodes of the loops that a limit stopped.
	ExhaustedLoops []string      `json:"exhausted_loops,omitempty"`
	Score          float64       `json:"score"`
	Iterations     int           `json:"iterations"`
	StartedAt      time.Time     `json:"started_at"`
	UpdatedAt      time.Time     `json:"updated_at"`
	Usage          core.RunUsage `json:"usage"`
}

// ofRuns is the place of a list: the namespace that it names, or the host, with a filter
// by what the caller reaches.
func ofRuns(ctx context.Context, c *Call, in *RunList) (place, error) {
	if in.Namespace == "" {
		return place{}, nil
	}
	return inTree(func(in *RunList) (*string, bool) { return &in.Namespace, in.Subtree })(ctx, c, in)
}

func (in *RunList) check() error {
	return core.JoinErrors(oneOf("status", in.Status, core.RunStatuses()), checkNamespace(in.Namespace), in.Paging.check())
}

func runList(ctx context.Context, c *Call, in *RunList) (*Page[RunSummary], error) {
	filter := *in
	filter.Paging = Paging{}
	after, limit, err := in.open(ctx, c, filter)
	if err != nil {
		return nil, err
	}
	found, next, err := c.Host.Runs.List(ctx, run.ListFilter{
		Status: in.Status, Workflow: in.Workflow, Since: in.Since, Limit: limit, After: after, In: func(namespace string) bool {
			namespace = cmp.Or(namespace, config.DefaultNamespace)
			return within(namespace, in.Namespace, in.Subtree) && c.reaches(namespace)
		},
	})
	if err != nil {
		return nil, err
	}
	list := make([]RunSummary, len(found))
	for i := range found {
		r := &found[i]
		list[i] = RunSummary{
			r.ID, r.Workflow, cmp.Or(r.Namespace, config.DefaultNamespace), r.Status, r.StopReason, r.ExhaustedLoops, r.Score, r.Iterations,
			r.StartedAt, r.UpdatedAt, r.Usage,
		}
	}
	return pageOf(ctx, c, list, next, filter)
}

// RunGet names a run.
type RunGet struct {
	ID string `json:"id"`
	Waiting
}

// Run is a run with the attempts of its loops.
type Run struct {
	RunID string `json:"run_id"`
	*core.Run
	// ID isn't shown, because run_id is.
	ID    *string             `json:"id,omitempty"`
	Loops []run.VisitAttempts `json:"loops"`
	// Prompts are what nodes that aren't loops sent to language models, and calls that ended the run
	// with an error. Other prompts of loops are at their attempts.
	Prompts []VisitPrompts `json:"prompts"`
	// Memories are the memories that its finished nodes were given and wrote; left out if the
	// workflow can't be loaded any more.
	Memories *RunMemories `json:"memories,omitempty"`
}

// VisitPrompts are the prompts of a node that isn't a loop, or of the call that ended the run.
type VisitPrompts struct {
	Visit int    `json:"visit"`
	Node  string `json:"node"`
	// Prompts has a prompt for each call, in the order of the calls.
	Prompts []core.Prompt `json:"prompts"`
}

// RunMemories are memories of a run, by their ids, in the order in which it had them.
type RunMemories struct {
	// Given are the memories that recalls and snapshots gave it.
	Given []string `json:"given"`
	// Written are the memories that it observed or reflected.
	Written []string `json:"written"`
}

func runGet(ctx context.Context, c *Call, in *RunGet) (*Run, error) {
	if in.waits() {
		if err := in.Waiting.run(ctx, c, in.ID); err != nil {
			return nil, err
		}
	}
	run, err := c.Host.Runs.Get(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	loops, err := c.Host.Runs.Attempts(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	visits, err := c.Host.Runs.Visits(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	out := &Run{RunID: run.ID, Run: run, Loops: orEmpty(loops), Prompts: []VisitPrompts{}}
	for i := range visits {
		if v := &visits[i]; len(v.Prompts) > 0 {
			out.Prompts = append(out.Prompts, VisitPrompts{v.Number, v.Node, v.Prompts})
		}
	}
	open, err := c.Host.Runs.OpenPrompts(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	plan, err := workflow.Load(run.Source, host.LoadOptions())
	if err != nil {
		return out, nil
	}
	if len(open) > 0 {
		node := plan.Nodes[0].Name
		if len(visits) > 0 {
			node = visits[len(visits)-1].Next
		}
		out.Prompts = append(out.Prompts, VisitPrompts{len(visits) + 1, node, open})
	}
	given, written := plan.Memories(visits)
	out.Memories = &RunMemories{orEmpty(given), orEmpty(written)}
	return out, nil
}
