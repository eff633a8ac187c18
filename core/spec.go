package core

import (
	"context"
	"encoding/json"
	"time"
)

// Step is one call that a workflow makes: a plugin with a config, or a
// composite of evaluators.
type Step struct {
	// Name names a child of a composite.
	Name string
	// Plugin is the installed plugin that serves it, such as "schema-eval".
	Plugin string
	// Config is the plugin's config: a JSON object, perhaps with templates.
	Config Value
	// Timeout is the deadline of each call; 0 means the plugin's own.
	Timeout time.Duration
	// Refers are the names that its config reads of the state, sorted. [RefersToAll]
	// alone is a plugin that is given the state and names nothing of it.
	Refers []string
	// Parse, of an evaluator, has the JSON value in a text judged in its place.
	Parse bool
	// Cache has a reply given again to a call that would ask the same.
	Cache bool
	// Composite, where not nil, makes the step a composite, and Plugin empty.
	Composite *Composite
}

// RefersToAll is what a step refers to that may read anything of the state.
const RefersToAll = "*"

// CompositeKind says how a composite combines its children.
type CompositeKind string

// The kinds of composites.
const (
	CompositeAll      CompositeKind = "all"      // valid if all are; the lowest score
	CompositeAny      CompositeKind = "any"      // valid if any is; the highest score
	CompositeWeighted CompositeKind = "weighted" // Σw·s/Σw; valid from Threshold
)

// DefaultThreshold is the score from which a weighted composite is valid.
const DefaultThreshold = 0.7

// Composite combines named evaluators.
type Composite struct {
	Kind     CompositeKind
	Children []Step
	// Weights has a weight for each child, in a weighted composite.
	Weights []float64
	// Threshold is the score from which a weighted composite is valid.
	Threshold float64
	// FailFast runs the children in list order and stops at the first that
	// isn't valid. Otherwise they run in parallel.
	FailFast bool
}

// Loop defaults and bounds.
const (
	DefaultMaxIterations    = 3
	MaxMaxIterations        = 1000
	DefaultHistoryLimit     = 20
	DefaultEvaluatorRetries = 2
	DefaultGeneratorRetries = 2
)

// ReservedPrefix begins the keys of the state that loops alone write.
const ReservedPrefix = "reflection_"

// CorrectMode says what becomes of a corrector's output.
type CorrectMode string

// The correct modes.
const (
	CorrectReplace    CorrectMode = "replace"    // it is the next attempt
	CorrectRegenerate CorrectMode = "regenerate" // it is merged into the state and the generator runs again
)

// OnFailure says what a loop returns that ended without a passed attempt.
type OnFailure string

// The failure strategies.
const (
	ReturnBest OnFailure = "return_best"
	ReturnLast OnFailure = "return_last"
	Raise      OnFailure = "raise"
)

// OnEvaluatorError says what an evaluator's failure means once its retries are
// used up.
type OnEvaluatorError string

// The meanings of an evaluator's failure.
const (
	EvaluatorErrorStop OnEvaluatorError = "error"        // the run ends with status error, resumable
	EvaluatorErrorFail OnEvaluatorError = "fail_attempt" // the attempt counts as invalid
)

// OnGeneratorError says what it means that the generator gave no output.
type OnGeneratorError string

// The meanings of a generator's failure. Without one, a generator that can't work
// ends the run and one that made nothing usable made an attempt.
const (
	GeneratorErrorStop    OnGeneratorError = "stop"    // the run ends with status error, resumable
	GeneratorErrorAttempt OnGeneratorError = "attempt" // it counts as an attempt with output null
)

// LoopLimits is how a loop ends, and what happens then. The zero value of each
// field is its default.
type LoopLimits struct {
	// MaxIterations is how many attempts are admitted: 1 to 1,000, default 3.
	MaxIterations int
	// Timeout is the active time over all resumes; 0 is none.
	Timeout time.Duration
	// BudgetTokens and BudgetUSD end the loop once the usage reaches them; 0 is
	// none.
	BudgetTokens int64
	BudgetUSD    float64
	// NoProgress ends the loop after that many consecutive attempts with the
	// same output or the same errors: at least 2; 0 is off.
	NoProgress int
	// StopWhen and Accept are compiled at PointStop and PointAccept, or nil.
	StopWhen Expression
	Accept   Expression
	// CorrectMode defaults to replace, OnFailure to return_best,
	// OnEvaluatorError to error.
	CorrectMode      CorrectMode
	OnFailure        OnFailure
	OnEvaluatorError OnEvaluatorError
	// OnGeneratorError, where set, holds for every failure of the generator.
	OnGeneratorError OnGeneratorError
	// GeneratorRetries is how often a transient failure is retried: default 2;
	// negative is never.
	GeneratorRetries int
	// EvaluatorRetries is how often a transient failure is retried: default 2;
	// negative is never.
	EvaluatorRetries int
	// HistoryLimit is how many attempts plugins are sent: default 20. They are
	// fewer where more than 2 MiB would be sent, the newest ones.
	HistoryLimit int
}

// Action is what a workflow node does: one of the specs below.
type Action interface{ isAction() }

// LoopSpec is a reflection.loop.
type LoopSpec struct {
	Generator Step
	Evaluator Step
	Corrector *Step
	Limits    LoopLimits
	// Parse is [Step.Parse] of whatever evaluator judges the loop.
	Parse bool
}

// Judge is the loop's evaluator, with what the loop says of it.
func (s *LoopSpec) Judge() Step { return s.JudgeBy(s.Evaluator) }

// JudgeBy is another evaluator for the loop's attempts, in the place of its own.
func (s *LoopSpec) JudgeBy(evaluator Step) Step {
	evaluator.Parse = evaluator.Parse || s.Parse
	return evaluator
}

// EvaluateSpec is a reflection.evaluate.
type EvaluateSpec struct {
	Evaluator Step
	// Data is what is judged; nil means state.reflection_output, then
	// state.output.
	Data Value
}

// CorrectSpec is a reflection.correct.
type CorrectSpec struct {
	Corrector Step
	// Data is what is repaired, with the default of [EvaluateSpec].
	Data Value
	// Errors is a list of findings or strings; nil means none.
	Errors Value
}

// CallSpec is an llm.call, lua.run or plugin.call: a generator's call outside a
// loop.
type CallSpec struct {
	Step Step
	// WithUsage puts the usage into the result.
	WithUsage bool
}

// MemoryVerb is what a workflow node does with memories.
type MemoryVerb string

// The verbs of memory.* actions.
const (
	VerbObserve  MemoryVerb = "observe"
	VerbReflect  MemoryVerb = "reflect"
	VerbRecall   MemoryVerb = "recall"
	VerbFeedback MemoryVerb = "feedback"
)

// MemorySpec is a memory.observe, memory.reflect, memory.recall or memory.feedback.
type MemorySpec struct {
	Verb MemoryVerb
	// Request renders to the JSON of an [ObserveRequest], [ReflectRequest],
	// [RecallRequest] or [FeedbackRequest].
	Request Value
}

func (*LoopSpec) isAction()     {}
func (*EvaluateSpec) isAction() {}
func (*CorrectSpec) isAction()  {}
func (*CallSpec) isAction()     {}
func (*MemorySpec) isAction()   {}

// Actions runs the actions of workflow nodes.
type Actions interface {
	// Act runs one action. The result is a LoopResult, EvaluateResult,
	// CorrectResult, CallResult, Memory, ReflectResult, RecallResult, FeedbackResult or
	// UsesNamed, by the action's type. A loop that ended without passing is a result, not an error.
	Act(ctx context.Context, req *ActionRequest) (any, error)
}

// ActionRequest is one action to run.
type ActionRequest struct {
	RunID string
	// Visit counts the nodes that the run has started, from 1. A goto visits a
	// node again under a new number.
	Visit  int
	Node   string
	Action Action
	// State is the state as the node finds it: a JSON object.
	State json.RawMessage
	// Done are the attempts of this visit that an interrupted run recorded.
	Done []Attempt
	// Used is what this visit's loop had consumed when the run ended.
	Used RunUsage
	// Attempts records each attempt; nil records nothing.
	Attempts AttemptRecorder
	// Session is the session that a recall is a turn of; "" records no turn.
	Session string
	// Turn is the run's newest turn without a feedback; zero where there is none.
	Turn TurnRef
	// Memories are the ids of those whose content the run was given so far, sorted.
	Memories []string
	// Note takes what a call referred to in the state (see [Step]) and the memories
	// that its plugin said it used. It is safe for concurrent use; nil takes nothing.
	Note func(refers, used []string)
}
