package operation

import (
	"cmp"
	"context"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/dream"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

// dreamPasses are the operations of dream passes: their plans, which are runs once they are
// applied.
func dreamPasses() []Operation {
	return []Operation{
		define(Operation{
			Name: "dream_run", Method: "POST", Path: "/v1/dream/runs", Scope: core.ScopeMemoryWrite, Long: true, Job: job.Dream,
			Doc: "Make a pass of housekeeping over a namespace: plan it, and apply the plan.",
		}, inNamespace(func(in *DreamPass) *string { return &in.Namespace }), dreamRun),
		define(Operation{
			Name: "dream_plan", Method: "POST", Path: "/v1/dream/plans", Scope: core.ScopeMemoryWrite, Long: true, Job: job.Workflow,
			Doc: "Plan a pass of housekeeping without changing a memory, or store a plan that was made before.",
		}, ofDreamPlan, dreamPlan),
		define(Operation{
			Name: "dream_list", Method: "GET", Path: "/v1/dream/plans", Scope: core.ScopeMemoryRead, ReadOnly: true, Idempotent: true,
			Doc: "List the plans and runs of a namespace, the newest first.",
		}, inNamespace(func(in *DreamList) *string { return &in.Namespace }), dreamList),
		define(Operation{
			Name: "dream_show", Method: "GET", Path: "/v1/dream/plans/{id}", Scope: core.ScopeMemoryRead, ReadOnly: true, Idempotent: true,
			Doc: "Show a plan, and what its steps would change or have changed.",
		}, ofDream(func(in *DreamShow) *string { return &in.ID }), dreamShow),
		define(Operation{
			Name: "dream_apply", Method: "POST", Path: "/v1/dream/plans/{id}/apply", Scope: core.ScopeMemoryWrite, Idempotent: true, Long: true, Job: job.Workflow,
			Doc: "Apply a plan, or continue an interrupted run.",
		}, ofDream(func(in *DreamApply) *string { return &in.ID }), dreamApply),
		define(Operation{
			Name: "dream_undo", Method: "POST", Path: "/v1/dream/plans/{id}/undo", Scope: core.ScopeMemoryWrite, Idempotent: true, Long: true,
			Doc: "Undo the steps of a run, the last first, or one of them.",
		}, ofDream(func(in *DreamUndo) *string { return &in.ID }), dreamUndo),
		define(Operation{
			Name: "dream_conflicts", Method: "GET", Path: "/v1/dream/conflicts", Scope: core.ScopeMemoryRead, ReadOnly: true, Idempotent: true,
			Doc: "List the pairs of memories that contradict each other.",
		}, inNamespace(func(in *DreamConflicts) *string { return &in.Namespace }), dreamConflicts),
	}
}

// ofDream is the place of a run, named by its id or, for a caller that reaches every
// namespace, the start of its id.
func ofDream[In any](id func(*In) *string) func(context.Context, *Call, *In) (place, error) {
	return func(ctx context.Context, c *Call, in *In) (place, error) {
		given := id(in)
		absent := absence(memory.DreamNotFound, *given)
		found, err := c.Host.Memories.Dreams.Find(ctx, *given)
		if !c.reaches("**") {
			switch code := sdk.CodeOf(err); {
			case err == nil && found.ID != *given, code == sdk.NotFound, code == sdk.Invalid, code == sdk.Conflict:
				return place{}, absent()
			}
		}
		if err != nil {
			return place{}, err
		}
		*given = found.ID
		return place{namespaces: []string{found.Namespace}, absent: absent}, nil
	}
}

// DreamPass asks for a pass.
type DreamPass struct {
	// Namespace is the namespace; "" is the configured one. Agent restricts the pass to the
	// memories of one agent.
	Namespace string `json:"namespace,omitempty"`
	Agent     string `json:"agent,omitempty"`
	// Mode is coordinated, which skips a pass that comes too soon, finds little that is new, or
	// follows another program's housekeeping;
	// always, which skips none; or force, which also removes the limit on how much is archived.
	// "" is coordinated.
	Mode memory.DreamMode `json:"mode,omitempty"`
	// Full compares all memories with each other, not only the new memories with all others.
	Full bool `json:"full,omitempty"`
	// Judge is the name of an evaluator that may overrule soft differences between near
	// texts, such as reflectory/llm-eval, which asks the model of settings.llm; "" is the
	// configured one, if there is one.
	Judge string `json:"judge,omitempty"`
	// Options are the pass's switches and thresholds; for a missing value, the setting below
	// dream applies.
	Options dream.Options `json:"options,omitzero"`
}

func (in *DreamPass) request(c *Call) (memory.DreamRequest, error) {
	q := memory.DreamRequest{Namespace: in.Namespace, Agent: in.Agent, Mode: in.Mode, Full: in.Full, Options: in.Options}
	return c.Host.Dreams.Request(q, in.Judge)
}

func (in *DreamPass) check() error {
	q := memory.DreamRequest{Namespace: cmp.Or(in.Namespace, config.DefaultNamespace), Agent: in.Agent, Mode: in.Mode, Options: in.Options}
	return q.Check()
}

func dreamRun(ctx context.Context, c *Call, in *DreamPass) (*memory.DreamReport, error) {
	q, err := in.request(c)
	if err != nil {
		return nil, err
	}
	return c.Host.Memories.Dreams.Run(ctx, q, c.stepsDone)
}

// stepsDone reports how many steps of a run are done.
func (c *Call) stepsDone(done, total int) {
	c.progress(Progress{What: "steps", Done: int64(done), Total: int64(total)})
}

// DreamPlan asks for a plan.
type DreamPlan struct {
	DreamPass
	// Plan is an earlier plan, which is stored unchanged; its own namespace and options apply.
	Plan *dream.Plan `json:"plan,omitempty"`
}

func ofDreamPlan(_ context.Context, c *Call, in *DreamPlan) (place, error) {
	if in.Plan != nil {
		in.Namespace = in.Plan.Namespace
	}
	if in.Namespace == "" {
		in.Namespace = c.Host.Config.Settings.Namespace.Value
	}
	return place{namespaces: []string{in.Namespace}}, nil
}

func dreamPlan(ctx context.Context, c *Call, in *DreamPlan) (*memory.DreamRun, error) {
	if in.Plan != nil {
		return c.Host.Memories.Dreams.Store(ctx, in.Plan, memory.Always)
	}
	q, err := in.request(c)
	if err != nil {
		return nil, err
	}
	return c.Host.Memories.Dreams.Plan(ctx, q)
}

// DreamList selects the plans and runs of a namespace.
type DreamList struct {
	Namespace string `json:"namespace,omitempty"`
	// Since leaves out what was planned before; the zero time selects all.
	Since time.Time `json:"since,omitzero"`
	Paging
}

func dreamList(ctx context.Context, c *Call, in *DreamList) (*Page[*memory.DreamRun], error) {
	filter := *in
	filter.Paging = Paging{}
	after, limit, err := in.open(ctx, c, filter)
	if err != nil {
		return nil, err
	}
	list, more, err := c.Host.Memories.Dreams.List(ctx, in.Namespace, in.Since, after, limit)
	if err != nil {
		return nil, err
	}
	next := ""
	if more {
		next = list[len(list)-1].ID
	}
	return pageOf(ctx, c, list, next, filter)
}

// DreamShow names a plan or run.
type DreamShow struct {
	ID string `json:"id"`
	// From is the first of the 200 steps whose texts are shown; 0 is the first step.
	From int `json:"from,omitempty"`
}

// DreamShown is a plan or run with its steps, and the texts that people need to read them.
type DreamShown struct {
	*memory.DreamRun
	// Done are the steps that were tried.
	Done []memory.DreamStep `json:"done"`
	// Texts are the memories of the steps.
	Texts []memory.DreamText `json:"texts"`
}

func dreamShow(ctx context.Context, c *Call, in *DreamShow) (*DreamShown, error) {
	run, done, err := c.Host.Memories.Dreams.Get(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	texts, err := c.Host.Memories.Dreams.Texts(ctx, run, in.From)
	return &DreamShown{run, orEmpty(done), texts}, err
}

// DreamApply names a plan.
type DreamApply struct {
	ID string `json:"id"`
}

func dreamApply(ctx context.Context, c *Call, in *DreamApply) (*memory.DreamReport, error) {
	return c.Host.Memories.Dreams.Apply(ctx, in.ID, c.stepsDone)
}

// DreamUndo names a run, and a step of it.
type DreamUndo struct {
	ID string `json:"id"`
	// Step is the number of a step; 0 undoes all steps, the last first.
	Step int `json:"step,omitempty"`
}

func dreamUndo(ctx context.Context, c *Call, in *DreamUndo) (*memory.DreamUndone, error) {
	return c.Host.Memories.Dreams.Undo(ctx, in.ID, in.Step)
}

// DreamConflicts names a namespace.
type DreamConflicts struct {
	Namespace string `json:"namespace,omitempty"`
	// Agent restricts it to the memories of one agent.
	Agent string `json:"agent,omitempty"`
	Paging
}

// DreamConflict is a pair of memories that contradict each other, with their titles.
type DreamConflict struct {
	dream.Conflict
	NewerTitle string `json:"newer_title"`
	OlderTitle string `json:"older_title"`
}

func dreamConflicts(ctx context.Context, c *Call, in *DreamConflicts) (*Page[DreamConflict], error) {
	filter := *in
	filter.Paging = Paging{}
	after, limit, err := in.open(ctx, c, filter)
	if err != nil {
		return nil, err
	}
	found, err := c.Host.Memories.Dreams.Contradictions(ctx, in.Namespace, in.Agent)
	if err != nil {
		return nil, err
	}
	var list []DreamConflict
	next := ""
	for _, conflict := range found {
		at := conflict.Newer + "/" + conflict.Older
		if after != "" {
			if at == after {
				after = ""
			}
			continue
		}
		if len(list) == limit {
			next = list[limit-1].Newer + "/" + list[limit-1].Older
			break
		}
		both, err := c.Host.Memories.Sources(ctx, []string{conflict.Newer, conflict.Older})
		if err != nil {
			return nil, err
		}
		if len(both) == 2 { // otherwise one of them is gone by now
			list = append(list, DreamConflict{conflict, both[0].Title, both[1].Title})
		}
	}
	return pageOf(ctx, c, list, next, filter)
}
