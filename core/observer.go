package core

import (
	"context"
	"encoding/json"

	"github.com/reflectory/reflectory/sdk"
)

// An operator wants to see what a host works on: how often, how long, with what outcome,
// and which work belongs to which. Events don't say that: they come after something was
// done, and don't nest. So the parts that do such work tell an observer when it begins,
// and when it ends. At the beginning the observer may put something into the context, by
// which it recognises the work below. The parts know nothing of traces or metrics, and
// without an observer all of it costs a comparison.

// Observer follows work. It is called as work begins, and returns the context in which
// that is done and what to call at its end, once. It must be safe for concurrent use and
// return soon. What it is given has content, and the observer decides which of that leaves
// the program. The zero value follows nothing.
type Observer func(ctx context.Context, w Work) (context.Context, func(WorkOutcome))

// Begin begins work that the observer, if there is one, follows.
func (o Observer) Begin(ctx context.Context, w Work) (context.Context, func(WorkOutcome)) {
	if o == nil {
		return ctx, ignoreOutcome
	}
	return o(ctx, w)
}

func ignoreOutcome(WorkOutcome) {}

// JoinObservers makes one observer of several; nil ones are left out. The first begins
// first and ends last.
func JoinObservers(observers ...Observer) Observer {
	var joined Observer
	for _, o := range observers {
		switch {
		case joined == nil:
			joined = o
		case o != nil:
			joined = bothObservers(joined, o)
		}
	}
	return joined
}

func bothObservers(outer, inner Observer) Observer {
	return func(ctx context.Context, w Work) (context.Context, func(WorkOutcome)) {
		ctx, endOuter := outer(ctx, w)
		ctx, endInner := inner(ctx, w)
		return ctx, func(out WorkOutcome) {
			endInner(out)
			endOuter(out)
		}
	}
}

// WorkKind says what kind of work something is.
type WorkKind string

// The kinds of work.
const (
	WorkRun       WorkKind = "run"           // a run, from its beginning or resume to its end
	WorkIteration WorkKind = "iteration"     // an iteration of a loop
	WorkCall      WorkKind = "call"          // a call of a plugin
	WorkSearch    WorkKind = "search_memory" // a recall
	WorkUpdate    WorkKind = "update_memory" // a change of memories
	WorkDelete    WorkKind = "delete_memory" // an erasure of a memory
)

// Work is what is done.
type Work struct {
	Kind WorkKind
	// Name is a run's workflow, an iteration's node, the plugin that is called, or what is
	// done with memories, such as "observe".
	Name string
	// RunID is the run of a run or an iteration; "" if there is none.
	RunID string
	// Iteration is its number, from 1.
	Iteration int
	// Role is what a plugin is called for, and Config what with: a JSON object.
	Role   sdk.Role
	Config json.RawMessage
	// Namespace is where memories are searched or changed, if the work names one.
	Namespace string
	// Query is what memories are searched for.
	Query string
}

// WorkOutcome is the outcome of work. What it refers to must not be changed.
type WorkOutcome struct {
	// Err is why the work failed; nil if it didn't. A run that didn't pass hasn't failed.
	Err error
	// Run is a run as it ended.
	Run *Run
	// Attempt is an iteration's; nil if it ended before there was one. BestScore is the
	// best of the loop so far.
	Attempt   *Attempt
	BestScore float64
	// Results are a call's, one for each request; none if the call as a whole failed.
	Results []CallResult
}

// CallResult is the outcome of one request of a plugin's call.
type CallResult struct {
	Err      error
	Usage    sdk.Usage
	Metadata map[string]string
	// Output is what a generator or a corrector made, and Verdict an evaluator's.
	Output  json.RawMessage
	Verdict *sdk.Verdict
}
