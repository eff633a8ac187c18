package core

import (
	"context"
	"encoding/json"

	"github.com/reflectory/reflectory/sdk"
)

// An operator wants to see what a host works on: how often, how long, with what outcome,
// and which work is part of which other work. Events don't show that: they come after
// something was done, and don't nest. So the parts that do such work call an observer
// when the work begins, and when it ends. At the beginning the observer may put a value
// into the context, by which it later recognises work that is part of this work. The
// parts know nothing of traces or metrics, and without an observer this costs only a
// comparison.

// Observer follows work. It is called when work begins, and returns the context for the
// work and a function to call once when the work ends. It must be safe for concurrent use
// and return soon. Its arguments have content, and the observer decides how much of the
// content leaves the program. The zero value follows nothing.
type Observer func(ctx context.Context, w Work) (context.Context, func(WorkOutcome))

// Begin begins work that the observer, if there is one, follows.
func (o Observer) Begin(ctx context.Context, w Work) (context.Context, func(WorkOutcome)) {
	if o == nil {
		return ctx, ignoreOutcome
	}
	return o(ctx, w)
}

func ignoreOutcome(WorkOutcome) {}

// JoinObservers makes one observer of several, without the nil ones. The first observer
// begins first and ends last.
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

// WorkKind is a kind of work.
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
	// Name is a run's workflow, an iteration's node, the called plugin, or the action on
	// memories, such as "observe".
	Name string
	// RunID is the run of a run or an iteration; "" if there is none.
	RunID string
	// Iteration is its number, from 1.
	Iteration int
	// Role is the role in which a plugin is called, and Config its config: a JSON object.
	Role   sdk.Role
	Config json.RawMessage
	// Namespace is where memories are searched or changed, if the work names one.
	Namespace string
	// Query is the text with which memories are searched.
	Query string
}

// WorkOutcome is the outcome of work. The values that it refers to must not be changed.
type WorkOutcome struct {
	// Err is the reason why the work failed; nil if it didn't fail. A run that didn't pass
	// hasn't failed.
	Err error
	// Run is a run as it ended.
	Run *Run
	// Attempt is an iteration's attempt; nil if the iteration ended before there was one.
	// BestScore is the loop's best score so far.
	Attempt   *Attempt
	BestScore float64
	// Results are the results of a call, one for each request; none if the call as a whole
	// failed.
	Results []CallResult
}

// CallResult is the outcome of one request of a plugin's call.
type CallResult struct {
	Err      error
	Usage    sdk.Usage
	Metadata map[string]string
	// Output is what a generator or a corrector made, and Verdict is an evaluator's
	// verdict.
	Output  json.RawMessage
	Verdict *sdk.Verdict
}
