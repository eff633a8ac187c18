package workflow

import (
	"fmt"
	"math"
	"regexp"
	"sync"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/loop"
	"github.com/reflectory/reflectory/core/policypoint"
)

// What a workflow file may contain is in tables. The loader reads the keys of each mapping,
// their words and their bounds from the tables, and the JSON Schema and the reference page
// are generated from them. Only the loader checks how two keys depend on each other.

// KeyType is the type of a key's value.
type KeyType string

// The types of values.
const (
	TypeText       KeyType = "text"
	TypeWord       KeyType = "word"       // one of Values
	TypeName       KeyType = "name"       // text that matches Form
	TypeFlag       KeyType = "boolean"    // true or false
	TypeNumber     KeyType = "number"     // from Least to Most
	TypeInteger    KeyType = "integer"    // from Least to Most
	TypeDuration   KeyType = "duration"   // above zero, such as 500ms, 30s or 2m
	TypeExpression KeyType = "expression" // CEL at Point, or a boolean
	TypeMapping    KeyType = "mapping"
	TypeList       KeyType = "list"
	TypeAny        KeyType = "any"
)

// Key is a key of a mapping in a workflow file.
type Key struct {
	Name string
	Type KeyType
	// Doc describes the key in a line.
	Doc string
	// Default describes the default in words; "" if there is none.
	Default string
	// Required is whether the key must be present.
	Required bool
	// Values are the words of TypeWord, or of each item of TypeList.
	Values []string
	// Least and Most bound a number; [math.MaxInt32] or [math.MaxFloat64] is no bound.
	Least, Most float64
	// Form is what a name must match.
	Form func() *regexp.Regexp
	// Point is where an expression is compiled.
	Point policypoint.Point
	// Sees are the variables that templates in the value may read; none means that the value
	// can't have templates. A text with a template may produce a value of any type.
	Sees []string
	// Block is the block of a mapping, or of each mapping of a list; "" allows any mapping. Of TypeAny,
	// it is the block of the mappings of a list, in place of which a text may be.
	Block string
}

// Block is a mapping in a workflow file: its keys, in the order in which they are explained.
type Block struct {
	// Name is stable: "workflow", "node", "reflection.loop", "evaluator.schema".
	Name string
	Doc  string
	Keys []Key
}

// The blocks that steps are made of: the common keys of a step, and the keys of its form.
const (
	blockWorkflow = "workflow"
	blockSettings = "settings"
	blockLLM      = "llm"
	blockPrice    = "price"
	blockDialect  = "dialect"
	blockNode     = "node"
	blockGoto     = "goto"
	blockBudget   = "budget"
	blockMessage  = "message"
	blockPart     = "part"
	blockToolCall = "tool_call"
	blockTool     = "tool"
	blockChild    = "child"
	blockWeighted = "child.weighted"

	formAction   = "step.action"
	formType     = "step.type"
	formJudge    = "evaluator"
	formCall     = actionLLM
	formLLM      = "evaluator.llm"
	formLua      = actionLua
	formCommand  = actionCommand
	formPlugin   = actionPlugin
	formSchema   = "evaluator.schema"
	formChecks   = "evaluator.checks"
	formMCP      = actionMCP
	formMCPJudge = "evaluator.mcp"
	formAll      = "evaluator.all"
	formWeighted = "evaluator.weighted"
)

// blocks is the table of all blocks, by name, made when a file is first read.
var blocks = sync.OnceValue(func() map[string]*Block {
	list := Blocks()
	all := make(map[string]*Block, len(list))
	for i := range list {
		all[list[i].Name] = &list[i]
	}
	return all
})

// recordPrompts is the value of settings.record that keeps the texts of prompts.
const recordPrompts = "prompts"

// Blocks lists the blocks of a workflow file, in the order in which they are explained.
func Blocks() []Block {
	return append(append(outerBlocks(), actionBlocks()...), stepBlocks()...)
}

// outerBlocks are the blocks around the actions.
func outerBlocks() []Block {
	return []Block{
		{blockWorkflow, "The file itself.", []Key{
			{Name: "name", Type: TypeText, Doc: "The workflow's name in lists of runs.", Default: "the file's name"},
			{Name: "description", Type: TypeText, Doc: "What the workflow is for, in a sentence. A discovery (`discover`) searches it."},
			{Name: "examples", Type: TypeList, Doc: "Texts that say in other words what the workflow is for, up to 20. A discovery (`discover`) searches them."},
			{Name: "settings", Type: TypeMapping, Block: blockSettings, Doc: "Settings that apply to all nodes."},
			{Name: "state", Type: TypeMapping, Doc: "The state that a run begins with. `--state`, `--state-file` and `--input` override it. No key may begin with `reflection_`.", Default: "empty"},
			{Name: "nodes", Type: TypeList, Block: blockNode, Required: true, Doc: fmt.Sprintf("The nodes, which run one after the other: 1 to %d.", maxNodes)},
		}},
		{blockSettings, "Settings that apply to all nodes.", []Key{
			{
				Name: "step_limit", Type: TypeInteger, Least: 1, Most: maxStepLimit, Default: fmt.Sprint(DefaultStepLimit),
				Doc: "How many nodes a run visits at most, so that a `goto` can't repeat nodes for ever.",
			},
			{
				Name: "record", Type: TypeWord, Values: []string{recordPrompts, core.PromptDigests}, Default: recordPrompts,
				Doc: "What a run records of the prompts that its steps send to language models: their texts, up to 64 KiB for each call, or only their sizes and digests.",
			},
			{Name: "llm", Type: TypeMapping, Block: blockLLM, Doc: "How the language model is reached, unless a step says otherwise."},
		}},
		{blockLLM, "How a language model is reached. It may not contain templates, so nothing in the state decides where a key is sent. An endpoint other than OpenAI's, Anthropic's or a local Ollama's must have been allowed by an operator.", []Key{
			{Name: "provider", Type: TypeWord, Values: []string{"openai", "ollama", "anthropic"}, Doc: "Which API the endpoint speaks: most endpoints speak `openai`, and Ollama's own is spoken unless `base_url` ends in `/v1`."},
			{Name: "api", Type: TypeWord, Values: []string{"chat", "responses"}, Doc: "Which of OpenAI's APIs it is: chat completions or responses.", Default: "chat"},
			{Name: "base_url", Type: TypeText, Doc: "The endpoint.", Default: "the provider's own"},
			{Name: "model", Type: TypeText, Doc: "The model's name."},
			{Name: "models", Type: TypeList, Doc: "Models in place of `model`, at most 8: they are asked in this order until one is served. A model that is unavailable, out of quota or too slow is followed by the next."},
			{Name: "reasoning_effort", Type: TypeWord, Values: []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}, Doc: "How much the model thinks, in the levels that it knows.", Default: "the model's own"},
			{Name: "max_context", Type: TypeInteger, Least: 512, Most: 10_000_000, Doc: "The longest context, in tokens, that Ollama's own API is asked for. It is asked for as much as the prompt and the reply need.", Default: "32768"},
			{Name: "dialect", Type: TypeMapping, Block: blockDialect, Doc: "What the model is known to refuse."},
			{Name: "api_key_env", Type: TypeName, Form: envForm, Doc: "The environment variable that holds the key, never the key itself."},
			{Name: "timeout", Type: TypeDuration, Doc: "How long one request to the endpoint may take."},
			{Name: "ca", Type: TypeText, Doc: "A PEM file in the workflow's folder with authorities that may sign for the endpoint, in addition to the host's. Only its certificates are read."},
			{Name: "extra_body", Type: TypeMapping, Doc: "Fields that are added to the body of each request, such as `chat_template_kwargs`. They override those of the step, but not `model`, `messages` and `stream`."},
			{Name: "extra_headers", Type: TypeMapping, Doc: "Headers that are added to each request, as text; not `Authorization`: a key belongs in the variable that `api_key_env` names."},
			{Name: "price", Type: TypeMapping, Block: blockPrice, Doc: "What tokens cost, for `budget.cost_usd`."},
		}},
		{blockDialect, "What a model is known to refuse, so that no request is made to find it out.", []Key{
			{Name: "refuses", Type: TypeList, Values: []string{"response_format", "json_schema", "system", "temperature", "top_p", "seed", "stop", "reasoning_effort", "max_tokens", "max_completion_tokens", "stream", "whole_replies"}, Doc: "The fields that aren't sent. Without `json_schema`, JSON is asked for without its schema; without `system`, the user says what a system message would; without `max_tokens`, `max_completion_tokens` is sent; without `stream`, replies are whole, and without `whole_replies` always streamed."},
		}},
		{blockPrice, "What a model costs.", []Key{
			{Name: "in", Type: TypeNumber, Most: math.MaxFloat64, Required: true, Doc: "Dollars for a million tokens of prompts."},
			{Name: "out", Type: TypeNumber, Most: math.MaxFloat64, Required: true, Doc: "Dollars for a million tokens of answers."},
		}},
		{blockNode, "One step of the workflow. Its result is `state.<name>` for the nodes after it.", []Key{
			{Name: "name", Type: TypeName, Form: nodeForm, Required: true, Doc: "A unique name: a-z, 0-9 and _, beginning with a letter; not `end`."},
			{Name: "action", Type: TypeWord, Values: actionNames(), Required: true, Doc: "What it does: see below."},
			{Name: "with", Type: TypeMapping, Required: true, Doc: "What the action needs: see the action's table."},
			{Name: "when", Type: TypeExpression, Point: policypoint.When, Doc: "The node is skipped if this isn't true."},
			{Name: "goto", Type: TypeList, Block: blockGoto, Doc: fmt.Sprintf("Which node comes next: the first of at most %d choices whose `when` is true. Without one, the next node follows.", maxGotos)},
		}},
		{blockGoto, "A choice of the node that comes next.", []Key{
			{Name: "to", Type: TypeText, Required: true, Doc: "A node's name, or `end`."},
			{Name: "when", Type: TypeExpression, Point: policypoint.When, Doc: "Whether this choice is taken.", Default: "always"},
		}},
	}
}

// actionBlocks are the with: blocks of actions that call no single plugin.
func actionBlocks() []Block {
	state := stateOnly()
	return append([]Block{
		{actionLoop, "Generates an output, evaluates it, and corrects it until it passes or a limit stops it.", loopKeys()},
		{blockBudget, "What a loop may consume, over all resumes. The loop ends after the attempt that reaches a limit.", []Key{
			{Name: "tokens", Type: TypeInteger, Least: 1, Most: maxExact, Doc: "Tokens of prompts and answers."},
			{Name: "cost_usd", Type: TypeNumber, Most: math.MaxFloat64, Doc: "Dollars, more than 0. This needs a `price`."},
		}},
		{actionEvaluate, "Judges a value once.", []Key{
			{Name: "evaluator", Type: TypeMapping, Block: "evaluator", Required: true, Doc: "What judges."},
			{Name: "data", Type: TypeAny, Sees: state, Doc: "What is judged.", Default: "`state.output`"},
		}},
		{actionCorrect, "Corrects a value once.", []Key{
			{Name: "corrector", Type: TypeMapping, Block: "corrector", Required: true, Doc: "What corrects."},
			{Name: "data", Type: TypeAny, Sees: state, Doc: "What is corrected.", Default: "`state.output`"},
			{Name: "errors", Type: TypeAny, Sees: state, Doc: "What is wrong with it: a list of findings.", Default: "none"},
		}},
	}, memoryBlocks()...)
}

// memoryBlocks are the with: blocks of memory.* and of a prompt's context.
func memoryBlocks() []Block {
	state := stateOnly()
	return []Block{
		{actionObserve, "Stores a memory.", append([]Key{
			{Name: "id", Type: TypeText, Sees: state, Doc: "Its id.", Default: "a new one"},
			{Name: "kind", Type: TypeText, Sees: state, Doc: "`observation`, `semantic`, `procedural` or `notification`.", Default: "`observation`"},
			{Name: "title", Type: TypeText, Sees: state, Doc: "A title of one line.", Default: "the content's first 80 characters"},
			{Name: "supersedes", Type: TypeList, Sees: state, Doc: "The ids of memories that it corrects or replaces."},
		}, memoryKeys()...)},
		{actionReflect, "Stores a memory that is derived from others.", append([]Key{
			{Name: "source_ids", Type: TypeList, Required: true, Sees: state, Doc: "The memories that it is derived from."},
			{Name: "kind", Type: TypeText, Sees: state, Doc: "Its kind.", Default: "`reflection`"},
			{Name: "title", Type: TypeText, Sees: state, Doc: "A title of one line."},
			{Name: "depth", Type: TypeInteger, Sees: state, Least: 1, Most: math.MaxInt32, Doc: "The depth that it must have: any other is refused."},
		}, memoryKeys()...)},
		{actionRecall, "Finds the memories that fit a text best. With a session, the recall is one of the session's turns.", []Key{
			{Name: "query", Type: TypeText, Required: true, Sees: state, Doc: "What is looked for, in words."},
			{Name: "namespace", Type: TypeText, Sees: state, Doc: "Where to look.", Default: "the run's"},
			{Name: "subtree", Type: TypeFlag, Sees: state, Doc: "Also in the namespaces below.", Default: "false"},
			{Name: "limit", Type: TypeInteger, Sees: state, Most: math.MaxInt32, Doc: "How many memories at most.", Default: "5"},
			{Name: "min_score", Type: TypeNumber, Sees: state, Most: 1, Doc: "Leaves out memories with a lower score."},
			{Name: "min_p", Type: TypeNumber, Sees: state, Most: 1, Doc: "The lowest p of a memory that counts as relevant. Without one, the result is nothing_relevant and has the nearest two.", Default: "the namespace's"},
			{Name: "kinds", Type: TypeList, Sees: state, Doc: "Only these kinds."},
			{Name: "states", Type: TypeList, Sees: state, Doc: "Only these states."},
			{Name: "tags", Type: TypeList, Sees: state, Doc: "Only memories that have all of these tags."},
			{Name: "agent_id", Type: TypeText, Sees: state, Doc: "Only memories that this agent wrote."},
			{Name: "include_superseded", Type: TypeFlag, Sees: state, Doc: "Also memories that another one supersedes.", Default: "false"},
			{Name: "from", Type: TypeText, Sees: state, Doc: "Leaves out what happened before this time, in the format of RFC 3339."},
			{Name: "to", Type: TypeText, Sees: state, Doc: "Leaves out what happened at this time or later."},
			{Name: "as_of", Type: TypeText, Sees: state, Doc: "Searches what was known at this time: stored by then, and not superseded."},
			{Name: "session", Type: TypeText, Sees: state, Doc: "The session of which this is a turn.", Default: "the run's; without one, no turn"},
			{Name: "turn", Type: TypeInteger, Sees: state, Most: math.MaxInt32, Doc: "The turn's number.", Default: "the session's next one"},
		}},
		{actionFeedback, "Says how a turn went. Without an outcome, it only names the memories that were used, and the end of the run gives the outcome.", []Key{
			{Name: "outcome", Type: TypeWord, Values: outcomes(), Sees: state, Doc: "How it went."},
			{Name: "session", Type: TypeText, Sees: state, Doc: "The session.", Default: "the session of the run's newest turn"},
			{Name: "turn", Type: TypeInteger, Sees: state, Most: math.MaxInt32, Doc: "The turn.", Default: "the run's newest"},
			{Name: "used", Type: TypeList, Sees: state, Doc: "The ids of the memories that were used, or their handles in the turn, such as m1."},
			{Name: "assumed", Type: TypeList, Sees: state, Doc: "Other memories that were probably used. They get the same credit, but don't count as the uses that a purge or promotion needs."},
			{Name: "reply", Type: TypeText, Sees: state, Doc: "What the turn produced. If nothing is named, it shows what was used."},
			{Name: "tool_outcomes", Type: TypeList, Sees: state, Doc: "How the turn's calls of tools went."},
			{Name: "failure_class", Type: TypeWord, Values: failureClasses(), Sees: state, Doc: "What failed.", Default: "tool_error if a tool failed, else other"},
			{Name: "corrective_action", Type: TypeText, Sees: state, Doc: "What was or should be done about it."},
			{Name: "next_turn_hint", Type: TypeText, Sees: state, Doc: "What the prompt of the session's next turn should say."},
			{Name: "summary", Type: TypeText, Sees: state, Doc: "What the prompts of later turns should say about this one."},
			{Name: "source", Type: TypeWord, Values: []string{"user", "tool", "text"}, Sees: state, Doc: "The source of the outcome, from the best to the worst.", Default: "`text`"},
			{Name: "agent_id", Type: TypeText, Sees: state, Doc: "Whose turn it was.", Default: "who runs the workflow"},
		}},
		{actionSnapshot, "Builds the prompt context of a turn, and stores it. `state.<name>.prompt` is the prompt.", []Key{
			{Name: "query", Type: TypeText, Sees: state, Doc: "What is recalled for the turn, in words.", Default: "nothing is recalled"},
			{Name: "namespace", Type: TypeText, Sees: state, Doc: "Where.", Default: "the run's"},
			{Name: "session", Type: TypeText, Sees: state, Doc: "The session of which this is a turn.", Default: "the run's"},
			{Name: "turn", Type: TypeInteger, Sees: state, Most: math.MaxInt32, Doc: "The turn's number.", Default: "with a query the session's next one, else the run's newest"},
			{Name: "policy", Type: TypeMapping, Sees: state, Doc: "What the prompt may hold; the policy point `injection` decides whatever isn't set here.", Default: "the policy point decides everything"},
			{Name: "blocks", Type: TypeList, Sees: state, Doc: "Blocks of your own: `{block_id, category, priority, payload}` and more, see `POST /v1/snapshots`."},
			{Name: "complexity", Type: TypeNumber, Most: 1, Sees: state, Doc: "How complex the task is.", Default: "0.5"},
			{Name: "risk", Type: TypeNumber, Most: 1, Sees: state, Doc: "How much harm a mistake would do.", Default: "0.5"},
		}},
	}
}

// memoryKeys are the keys that memory.observe and memory.reflect have in common.
func memoryKeys() []Key {
	state := stateOnly()
	return []Key{
		{Name: "content", Type: TypeText, Required: true, Sees: state, Doc: "The text."},
		{Name: "namespace", Type: TypeText, Sees: state, Doc: "Where it is.", Default: "the run's; for a reflection, its first source's"},
		{Name: "tags", Type: TypeList, Sees: state, Doc: "Its tags."},
		{Name: "priority", Type: TypeInteger, Least: 1, Most: 10, Sees: state, Doc: "A rank, which policies can read."},
		{Name: "importance", Type: TypeNumber, Most: 1, Sees: state, Doc: "How important it is. Observations' importance is added up until a reflection is due."},
		{Name: "confidence", Type: TypeNumber, Most: 1, Sees: state, Doc: "How certain it is."},
		{Name: "metadata", Type: TypeMapping, Sees: state, Doc: "Any object."},
		{Name: "occurred_at", Type: TypeText, Sees: state, Doc: "When the event that it describes happened, in the format of RFC 3339."},
		{Name: "agent_id", Type: TypeText, Sees: state, Doc: "Whose memory it is.", Default: "who runs the workflow"},
		{Name: "idempotency_key", Type: TypeText, Sees: state, Doc: "Makes a repetition return the first outcome.", Default: "a key made from the run and the visit"},
	}
}

func failureClasses() (names []string) {
	for _, class := range core.FailureClasses() {
		names = append(names, string(class))
	}
	return names
}

func outcomes() []string {
	return []string{string(core.OutcomeSuccess), string(core.OutcomeFailure), string(core.OutcomePartial)}
}

func loopKeys() []Key {
	return []Key{
		{Name: "generator", Type: TypeMapping, Block: "generator", Required: true, Doc: "What makes an output."},
		{Name: "evaluator", Type: TypeMapping, Block: "evaluator", Required: true, Doc: "What judges it."},
		{Name: "corrector", Type: TypeMapping, Block: "corrector", Doc: "What corrects it. Without one, the generator runs again."},
		{Name: "max_iterations", Type: TypeInteger, Least: 1, Most: loop.MaxMaxIterations, Default: fmt.Sprint(loop.DefaultMaxIterations), Doc: "How many attempts there are at most."},
		{Name: "parse", Type: TypeWord, Values: []string{"json"}, Doc: "Uses the JSON value in an attempt's text as the output."},
		{Name: "accept", Type: TypeExpression, Point: policypoint.Accept, Default: "the evaluator's `valid`", Doc: "Whether an attempt passes."},
		{Name: "stop_when", Type: TypeExpression, Point: policypoint.Stop, Doc: "Ends the loop if it is true after an attempt that didn't pass."},
		{Name: "no_progress", Type: TypeInteger, Least: 2, Most: loop.MaxMaxIterations, Default: "off", Doc: "Ends the loop after this many attempts in a row with the same output or the same errors."},
		{Name: "timeout", Type: TypeDuration, Default: "none", Doc: "How long the loop may be active, over all resumes."},
		{Name: "budget", Type: TypeMapping, Block: blockBudget, Doc: "What it may consume."},
		{
			Name: "on_failure", Type: TypeWord, Values: []string{string(loop.ReturnBest), string(loop.ReturnLast), string(loop.Raise)}, Default: "`return_best`",
			Doc: "What a loop without a passed attempt returns: its best one, its last one, or an error (exit code 5).",
		},
		{
			Name: "on_exhausted", Type: TypeWord, Values: []string{onExhaustedContinue}, Default: "the run is exhausted",
			Doc: "What a loop without a passed attempt means for the run: with `continue`, the run can still pass. See [the run's status](#the-runs-status).",
		},
		{
			Name: "correct_mode", Type: TypeWord, Values: []string{string(loop.CorrectReplace), string(loop.CorrectRegenerate)}, Default: "`replace`",
			Doc: "What becomes of a corrector's output: it is the next attempt, or it is merged into the state and the generator runs again.",
		},
		{
			Name: "on_evaluator_error", Type: TypeWord, Values: []string{string(loop.EvaluatorErrorStop), string(loop.EvaluatorErrorFail)}, Default: "`error`",
			Doc: "What an evaluator's failure means: the run ends and can be resumed, or the attempt isn't valid.",
		},
		{
			Name: "on_generator_error", Type: TypeWord, Values: []string{string(loop.GeneratorErrorStop), string(loop.GeneratorErrorAttempt)},
			Default: "depends on the cause", Doc: "What a generator's failure means: the run ends and can be resumed, or it is an attempt without an output. By default, a generator that can't work ends the run; if it made nothing usable, that is an attempt.",
		},
		{Name: "evaluator_retries", Type: TypeInteger, Most: maxRetries, Default: fmt.Sprint(loop.DefaultEvaluatorRetries), Doc: "How many times a call that failed for a temporary reason is tried again."},
		{Name: "generator_retries", Type: TypeInteger, Most: maxRetries, Default: fmt.Sprint(loop.DefaultGeneratorRetries), Doc: "The same for the generator."},
		{Name: "history_limit", Type: TypeInteger, Least: 1, Most: loop.MaxMaxIterations, Default: fmt.Sprint(loop.DefaultHistoryLimit), Doc: "How many of the newest earlier attempts are shown to plugins; fewer if these exceed 2 MiB."},
	}
}

// onExhaustedContinue is the value of on_exhausted with which a run can pass although the
// loop is exhausted.
const onExhaustedContinue = "continue"

// maxRetries bounds how often a failed call is tried again.
const maxRetries = 10

// maxExact is the largest whole number up to which a float64 holds each: a bound is
// compared as one.
const maxExact = 1 << 53
