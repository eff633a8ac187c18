package operation

import (
	"cmp"
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/sdk"
)

// gated are the operations of the gate. Operations that may purge a memory need the
// scope for erasing.
func gated() []Operation {
	return []Operation{
		define(Operation{
			Name: "gate_run", Method: "POST", Path: "/v1/gate/{id}/run", Scope: core.ScopeMemoryErase, Destructive: true, Long: true, Job: job.Workflow,
			Doc: "Have the gate decide on a memory that waits for it, and carry out the decision.",
		}, ofMemory(func(in *GateRun) *string { return &in.ID }), gateRun),
		define(Operation{
			Name: "gate_explain", Method: "GET", Path: "/v1/gate/{id}/explain", Scope: core.ScopeMemoryRead, ReadOnly: true, Idempotent: true,
			Doc: "Show the numbers and the rule behind the gate's decision on a memory.",
		}, ofExplained, gateExplain),
		define(Operation{
			Name: "gate_request", Method: "POST", Path: "/v1/gate/{id}/request", Scope: core.ScopeMemoryErase, Destructive: true,
			Doc: "Ask the gate to erase a memory, with the reason.",
		}, ofMemory(func(in *GateRequest) *string { return &in.ID }), gateRequest),
	}
}

// GateRun names a memory that waits for the gate, and has the caller's factors, which
// replace the recorded ones.
type GateRun struct {
	ID string `json:"id"`
	policypoint.OmegaFactors
	// Notes are lines that are recorded with the decision.
	Notes []string `json:"notes,omitempty"`
	// DryRun decides without writing anything; the decision then has no id.
	DryRun bool `json:"dry_run,omitempty"`
}

// gateRun may ask a model for a summary, so it is a long operation.
func gateRun(ctx context.Context, c *Call, in *GateRun) (*verdict.GateAnswer, error) {
	d, err := c.Host.Memories.Gate.Revalidate(ctx, in.ID, memory.RevalidateRequest{DryRun: in.DryRun, Omega: in.OmegaFactors, Notes: in.Notes})
	return c.decided(ctx, d, err)
}

// decided is a decision, reduced to what the caller may see.
func (c *Call) decided(ctx context.Context, d *verdict.GateDecision, err error) (*verdict.GateAnswer, error) {
	if d != nil {
		d.GivenTo = c.givenTo(ctx, d.GivenTo)
	}
	return d.Answer(), err
}

// givenTo is what was derived from purged memories, reduced to what the caller reaches.
func (c *Call) givenTo(ctx context.Context, given *core.GivenTo) *core.GivenTo {
	if given == nil || c.reaches("**") {
		return given
	}
	own := &core.GivenTo{MemoryID: given.MemoryID, Runs: []string{}, Reflections: []string{}, RetainedIn: given.RetainedIn}
	for _, id := range given.Runs {
		if namespace, err := c.Host.Runs.RunNamespace(ctx, id); err == nil && c.reaches(cmp.Or(namespace, config.DefaultNamespace)) {
			own.Runs = append(own.Runs, id)
		}
	}
	own.Reflections = append(own.Reflections, c.seen(ctx, given.Reflections)...)
	return own
}

// GateExplain names a memory, which may have been purged.
type GateExplain struct {
	ID string `json:"id"`
	policypoint.OmegaFactors
	Notes []string `json:"notes,omitempty"`
	// Now explains what the gate would decide now. A factor or a note has the same effect;
	// if the gate never decided on the memory, this is the default.
	Now bool `json:"now,omitempty"`
}

func ofExplained(ctx context.Context, c *Call, in *GateExplain) (place, error) {
	of := MemoryExplain{ID: in.ID}
	at, err := ofMemoryOrPurged(ctx, c, &of)
	in.ID = of.ID
	return at, err
}

// gateExplain explains the last decision on a memory, or what the gate would decide.
// Nothing is written.
func gateExplain(ctx context.Context, c *Call, in *GateExplain) (*gate.Explanation, error) {
	made, err := c.Host.Memories.Gate.Decisions(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	now := in.Now || in.OmegaFactors != policypoint.OmegaFactors{} || len(in.Notes) > 0
	if len(made) > 0 && !now {
		return gate.Explain(made[len(made)-1]), nil
	}
	d, err := c.Host.Memories.Gate.Weigh(ctx, in.ID, memory.RevalidateRequest{Omega: in.OmegaFactors, Notes: in.Notes})
	if err != nil {
		return nil, err
	}
	return gate.Explain(d), nil
}

// GateRequest asks for a memory to be erased, the only request to the gate so far.
type GateRequest struct {
	ID    string `json:"id"`
	Erase bool   `json:"erase"`
	// Reason is why, in up to 1,024 bytes. It is stored with the decision.
	Reason string `json:"reason"`
	// Copies is whether the memories of the namespace with the same content are erased too.
	Copies bool `json:"copies,omitempty"`
}

func (in *GateRequest) check() error {
	var missing error
	if !in.Erase {
		missing = sdk.Errorf(sdk.Invalid, "erase_missing", "erase isn't true").
			WithHint("nothing else can be requested from the gate yet").WithDetail("field", "erase")
	}
	return core.JoinErrors(missing, (&memory.EraseRequest{Reason: in.Reason}).Check())
}

func gateRequest(ctx context.Context, c *Call, in *GateRequest) (*verdict.GateAnswer, error) {
	d, err := c.Host.Memories.Gate.Erase(ctx, in.ID, memory.EraseRequest{Reason: in.Reason, Copies: in.Copies})
	return c.decided(ctx, d, err)
}
