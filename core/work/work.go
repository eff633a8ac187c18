package work

import (
	"context"
	"encoding/json"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Observer follows work. It is called when work begins, and returns the context for the
// work and a function to call once when the work ends. It must be safe for concurrent use
// and return soon. Its arguments have content, and the observer decides how much of the
// content leaves the program. The zero value follows nothing.
type Observer func(ctx context.Context, w Work) (context.Context, func(Outcome))

// Begin begins work that the observer, if there is one, follows.
func (o Observer) Begin(ctx context.Context, w Work) (context.Context, func(Outcome)) {
	if o == nil {
		return ctx, ignoreOutcome
	}
	return o(ctx, w)
}

func ignoreOutcome(Outcome) {}

// Join makes one observer of several, without the nil ones. The first observer
// begins first and ends last.
func Join(observers ...Observer) Observer {
	var joined Observer
	for _, o := range observers {
		switch {
		case joined == nil:
			joined = o
		case o != nil:
			joined = both(joined, o)
		}
	}
	return joined
}

func both(outer, inner Observer) Observer {
	return func(ctx context.Context, w Work) (context.Context, func(Outcome)) {
		ctx, endOuter := outer(ctx, w)
		ctx, endInner := inner(ctx, w)
		return ctx, func(out Outcome) {
			endInner(out)
			endOuter(out)
		}
	}
}

// Kind is a kind of work.
type Kind string

// The kinds of work.
const (
	Run       Kind = "run"           // a run, from its beginning or resume to its end
	Iteration Kind = "iteration"     // an iteration of a loop
	Call      Kind = "call"          // a call of a plugin
	Search    Kind = "search_memory" // a recall
	Update    Kind = "update_memory" // a change of memories
	Delete    Kind = "delete_memory" // an erasure of a memory
)

// Work is what is done.
type Work struct {
	Kind Kind
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

// Outcome is the outcome of work. The values that it refers to must not be changed.
type Outcome struct {
	// Err is the reason why the work failed; nil if it didn't fail. A run that didn't pass
	// hasn't failed.
	Err error
	// Run is a run as it ended.
	Run *core.Run
	// Attempt is an iteration's attempt; nil if the iteration ended before there was one.
	// BestScore is the loop's best score so far.
	Attempt   *core.Attempt
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
