package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/work"
	"github.com/reflectory/reflectory/sdk"
)

// Options is a loop to run. Generator and Evaluator must be set; the zero value
// of everything else is its default.
type Options struct {
	Generator sdk.Generator
	Evaluator sdk.Evaluator
	// Corrector repairs invalid attempts. nil means that the generator runs
	// again, with the errors in the state.
	Corrector sdk.Corrector

	Limits

	// Policy is asked about each attempt once it is judged, and has the last word on
	// whether it passes and on whether the loop gives up. Without a policy (nil), the
	// limits decide. Namespace and Workflow are what the policy sees of the run.
	Policy              Policy
	Namespace, Workflow string

	// State is the state that plugins see, in addition to the reflection_* keys: a JSON
	// object.
	State json.RawMessage
	// RunID, Visit and Node name the loop in requests, events and idempotency
	// keys.
	RunID string
	Visit int
	Node  string
	// Done are the attempts that an interrupted loop recorded, in order. The loop
	// continues after them.
	Done []core.Attempt
	// Used is what the interrupted loop had consumed at its end, if that is known. It
	// includes calls that led to no attempt, and the time since the last attempt.
	Used core.RunUsage
	// Recorder makes attempts durable before the step that follows them. nil
	// keeps them in memory only.
	Recorder core.AttemptRecorder
	// Events receives what happens, in order; nil receives nothing.
	Events func(core.Event)
	// Observer follows each iteration; nil follows nothing.
	Observer work.Observer
	// Pieces is asked as each call of the generator begins: with true, core.OutputChunk is sent to
	// Events too. Only then does a model stream its reply: if the pieces aren't shown, a whole reply
	// is safer. Nil means never. It must return at once.
	Pieces func() bool
	// Clock measures active time. Default core.SystemClock.
	Clock core.Clock
}

// Validate reports everything wrong with the options as one sdk.Invalid error,
// reason "loop_invalid", or nil.
func (o *Options) Validate() error {
	var problems []string
	complain := func(wrong bool, format string, args ...any) {
		if wrong {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	complain(o.Generator == nil, "no generator")
	complain(o.Evaluator == nil, "no evaluator")
	complain(o.MaxIterations < 0 || o.MaxIterations > MaxMaxIterations,
		"max_iterations %d is not 1 to %d", o.MaxIterations, MaxMaxIterations)
	complain(o.NoProgress < 0 || o.NoProgress == 1, "no_progress %d is not 2 or more", o.NoProgress)
	complain(o.Timeout < 0, "timeout %s is negative", o.Timeout)
	complain(o.BudgetTokens < 0 || o.BudgetUSD < 0, "the budget is negative")
	complain(o.HistoryLimit < 0, "history_limit %d is negative", o.HistoryLimit)
	switch o.OnFailure {
	case "", ReturnBest, ReturnLast, Raise:
	default:
		complain(true, "on_failure %q is not return_best, return_last or raise", o.OnFailure)
	}
	switch o.CorrectMode {
	case "", CorrectReplace, CorrectRegenerate:
	default:
		complain(true, "correct_mode %q is not replace or regenerate", o.CorrectMode)
	}
	switch o.OnEvaluatorError {
	case "", EvaluatorErrorStop, EvaluatorErrorFail:
	default:
		complain(true, "on_evaluator_error %q is not error or fail_attempt", o.OnEvaluatorError)
	}
	switch o.OnGeneratorError {
	case "", GeneratorErrorStop, GeneratorErrorAttempt:
	default:
		complain(true, "on_generator_error %q is not stop or attempt", o.OnGeneratorError)
	}
	if len(problems) == 0 {
		return nil
	}
	return sdk.Errorf(sdk.Invalid, "loop_invalid", "loop: %s", strings.Join(problems, "; ")).WithDetail("problems", problems)
}

// withDefaults returns the limits with each zero field set.
func withDefaults(l Limits) Limits {
	if l.MaxIterations == 0 {
		l.MaxIterations = DefaultMaxIterations
	}
	if l.HistoryLimit == 0 {
		l.HistoryLimit = DefaultHistoryLimit
	}
	if l.EvaluatorRetries == 0 {
		l.EvaluatorRetries = DefaultEvaluatorRetries
	}
	if l.GeneratorRetries == 0 {
		l.GeneratorRetries = DefaultGeneratorRetries
	}
	if l.OnFailure == "" {
		l.OnFailure = ReturnBest
	}
	return l
}

// Run runs a loop to its end. Unless the options are wrong there is always a result; an
// error next to it means that the loop ended with status raised, error or cancelled, and
// is described in the result too. An exhausted loop returns its best or last attempt and
// no error.
func Run(ctx context.Context, o *Options) (*core.LoopResult, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	d, err := newDriver(o)
	if err != nil {
		return nil, err
	}
	ctx, stop := d.active.bound(ctx)
	defer stop()

	reason, err := d.loop(ctx)
	result, err := d.result(reason, err)
	d.emit(core.LoopEnded{Node: o.Node, Result: result})
	return result, err
}
