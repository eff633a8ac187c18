package operation

import (
	"context"
	"fmt"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/sdk"
)

// attempts are the operations on the attempts of a run's loops.
func attempts() []Operation {
	return []Operation{
		define(Operation{
			Name: "run_attempts", Method: "GET", Path: "/v1/runs/{id}/attempts", Scope: core.ScopeRun, ReadOnly: true, Idempotent: true,
			Doc: "List the attempts of a run's loops, in the order in which they were made.",
		}, ofRun(func(in *RunAttempts) *string { return &in.ID }), runAttempts),
		define(Operation{
			Name: "run_attempts_diff", Method: "GET", Path: "/v1/runs/{id}/attempts/diff", Scope: core.ScopeRun, ReadOnly: true, Idempotent: true,
			Doc: "Compare two attempts of a loop: their outputs line by line, their errors, and their prompts.",
		}, ofRun(func(in *RunAttemptsDiff) *string { return &in.ID }), runAttemptsDiff),
	}
}

// RunAttempts names a run.
type RunAttempts struct {
	ID string `json:"id"`
	Paging
}

// RunAttempt is an attempt of a loop of a run.
type RunAttempt struct {
	Visit int    `json:"visit"`
	Node  string `json:"node"`
	core.Attempt
}

// place is the attempt's position in the list.
func (a *RunAttempt) place() string { return fmt.Sprintf("%d/%d", a.Visit, a.Iteration) }

func runAttempts(ctx context.Context, c *Call, in *RunAttempts) (*Page[RunAttempt], error) {
	filter := *in
	filter.Paging = Paging{}
	after, limit, err := in.open(ctx, c, filter)
	if err != nil {
		return nil, err
	}
	loops, err := c.Host.Runs.Attempts(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	var list []RunAttempt
	next, begun := "", after == ""
	for _, loop := range loops {
		for _, a := range loop.Attempts {
			one := RunAttempt{loop.Visit, loop.Node, a}
			switch {
			case !begun:
				begun = one.place() == after
			case len(list) < limit:
				list = append(list, one)
			case next == "":
				next = list[limit-1].place()
			}
		}
	}
	return pageOf(ctx, c, list, next, filter)
}

// RunAttemptsDiff names two attempts of a loop.
type RunAttemptsDiff struct {
	ID string `json:"id"`
	// From and To are iterations. For To, 0 is the last attempt; for From, 0 is the
	// attempt before To.
	From int `json:"from,omitempty"`
	To   int `json:"to,omitempty"`
	// Visit is the visit to which the attempts belong; 0 is the last visit with
	// attempts.
	Visit int `json:"visit,omitempty"`
}

// AttemptsDiff is what changed from one attempt to another.
type AttemptsDiff struct {
	RunID string `json:"run_id"`
	Visit int    `json:"visit"`
	Node  string `json:"node"`
	*run.AttemptsDiff
}

func runAttemptsDiff(ctx context.Context, c *Call, in *RunAttemptsDiff) (*AttemptsDiff, error) {
	loops, err := c.Host.Runs.Attempts(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	var loop *run.VisitAttempts
	for i := range loops {
		if in.Visit == 0 || loops[i].Visit == in.Visit {
			loop = &loops[i]
		}
	}
	if loop == nil {
		return nil, sdk.Errorf(sdk.NotFound, "visit_not_found", "run %s has no visit %d with attempts", in.ID, in.Visit).
			WithHint("look at the run").WithAction("runs show", "run", in.ID).WithDetail("field", "visit")
	}
	find := func(field string, iteration, or int) (*core.Attempt, error) {
		if iteration == 0 {
			iteration = or
		}
		for i := range loop.Attempts {
			if loop.Attempts[i].Iteration == iteration {
				return &loop.Attempts[i], nil
			}
		}
		return nil, sdk.Errorf(sdk.NotFound, "attempt_not_found", "visit %d of run %s has no attempt %d: it has %d", loop.Visit, in.ID, iteration, len(loop.Attempts)).
			WithHint("look at the run").WithAction("runs show", "run", in.ID).WithDetail("field", field)
	}
	to, err := find("to", in.To, len(loop.Attempts))
	if err != nil {
		return nil, err
	}
	from, err := find("from", in.From, max(to.Iteration-1, 1))
	if err != nil {
		return nil, err
	}
	return &AttemptsDiff{in.ID, loop.Visit, loop.Node, run.DiffAttempts(from, to)}, nil
}
