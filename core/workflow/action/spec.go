package action

import (
	"encoding/json"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/loop"
)

// What a node does is data: the loader fills one of the specs below, and [Actions] runs
// it. So a workflow can be checked, shown and stored without a plugin, and a run that is
// resumed on another day makes the same calls from the same file.

// Step is one call that a workflow makes: a plugin with a config, or a
// composite of evaluators.
type Step struct {
	// Name names a child of a composite.
	Name string
	// Plugin is the installed plugin that does it, such as "schema-eval".
	Plugin string
	// Config is the plugin's config: a JSON object, perhaps with templates.
	Config Value
	// Timeout is the deadline of each call; 0 means the plugin's own.
	Timeout time.Duration
	// Refers are the names that its config reads from the state, sorted. [RefersToAll]
	// alone means a plugin that gets the state and names none of it.
	Refers []string
	// Parse makes an evaluator judge the JSON value in a text instead of the text.
	Parse bool
	// Cache reuses the reply of an earlier identical call.
	Cache bool
	// Tools are what its model may call; nil is nothing.
	Tools *Toolset
	// Composite, if not nil, makes the step a composite, and Plugin empty.
	Composite *Composite
}

// RefersToAll is the reference of a step that may read anything in the state.
const RefersToAll = "*"

// Composite combines named evaluators.
type Composite struct {
	Kind     loop.CompositeKind
	Children []Step
	// Weights has a weight for each child, in a weighted composite.
	Weights []float64
	// Threshold is the lowest score at which a weighted composite is valid.
	Threshold float64
	// FailFast runs the children in list order and stops at the first that
	// isn't valid. Otherwise they run in parallel.
	FailFast bool
}

// Spec is what a workflow node does: one of the specs below.
type Spec interface{ isSpec() }

// LoopSpec is a reflection.loop.
type LoopSpec struct {
	Generator Step
	Evaluator Step
	Corrector *Step
	Limits    loop.Limits
	// Continues is whether the run may pass although the loop is exhausted.
	Continues bool
	// Parse is [Step.Parse] for every evaluator that judges the loop.
	Parse bool
}

// Judge is the loop's evaluator, with the settings that the loop adds.
func (s *LoopSpec) Judge() Step { return s.JudgeBy(s.Evaluator) }

// JudgeBy is another evaluator, to judge the loop's attempts instead of its own.
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
	// Data is what is repaired, with the same default as in [EvaluateSpec].
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
	// Request renders to the JSON of a [core.ObserveRequest], [core.ReflectRequest],
	// [core.RecallRequest] or [core.FeedbackRequest].
	Request Value
}

// SnapshotSpec is an inject.snapshot.
type SnapshotSpec struct {
	// Request renders to the JSON of the request for a snapshot: see [Injector].
	Request Value
}

func (*LoopSpec) isSpec()     {}
func (*EvaluateSpec) isSpec() {}
func (*CorrectSpec) isSpec()  {}
func (*CallSpec) isSpec()     {}
func (*MemorySpec) isSpec()   {}
func (*SnapshotSpec) isSpec() {}

// Request is one action to run.
type Request struct {
	RunID string
	// Visit counts the nodes that the run has started, from 1. A goto visits a
	// node again under a new number.
	Visit  int
	Node   string
	Action Spec
	// State is the state before the node: a JSON object.
	State json.RawMessage
	// Done are the attempts of this visit that an interrupted run recorded.
	Done []core.Attempt
	// Used is what this visit's loop had consumed when the run ended.
	Used core.RunUsage
	// Attempts records each attempt; nil records nothing.
	Attempts core.AttemptRecorder
	// Session is the session of the run's recalls; "" records no turn.
	Session string
	// Turn is the run's newest turn without feedback; zero if there is none.
	Turn core.TurnRef
	// Memories are the ids of the memories whose content the run was given so far,
	// sorted.
	Memories []string
	// Note is called with what a call read from the state (see [Step]) and the memories
	// that its plugin reported as used. It is safe for concurrent use; nil drops this.
	Note func(refers, used []string)
	// Given is called with memories that a model recalled during the action. It is safe for concurrent
	// use; nil drops this.
	Given func(ids []string)
	// Prompt is called with what a call sent to a language model, if its plugin reported it. It
	// is safe for concurrent use; nil drops this. A loop's prompts go to Attempts, except of
	// calls that ended it with an error.
	Prompt func(core.Prompt)
	// Withhold is why the texts of prompts aren't kept; "" keeps them.
	Withhold string

	given *given // the memories, with the ones of Given
}
