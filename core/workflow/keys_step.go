package workflow

import (
	"fmt"
	"math"

	"github.com/reflectory/reflectory/core/loop"
)

// types are the values of a step's type:.
var (
	stepTypes  = []string{"llm", "lua"}
	judgeTypes = []string{"schema", "llm", "lua", "all", "any", "weighted"}
	// callActions are the actions that a step may be.
	callActions = []string{actionLLM, actionLua, actionPlugin}
)

// stepBlocks are the parts of generators, evaluators and correctors: the keys that choose a
// step's form, and the keys of each form.
func stepBlocks() []Block {
	state, judged := stateOnly(), inJudgement()
	timeout := func(standard string) Key {
		return Key{Name: "timeout", Type: TypeDuration, Default: standard, Doc: "How long one call may take."}
	}
	return append([]Block{
		{formAction, "A step that is an action.", []Key{
			{Name: "action", Type: TypeWord, Values: callActions, Doc: "Which one; the other keys are the action's."},
		}},
		{formType, "A step of a built-in type.", []Key{
			{Name: "type", Type: TypeWord, Values: judgeTypes, Doc: "Which one. `schema`, `all`, `any` and `weighted` are for evaluators only."},
		}},
		{formJudge, "What every evaluator may have.", []Key{
			{Name: "parse", Type: TypeWord, Values: []string{"json"}, Doc: "Judges the JSON value in a text, with or without a code fence around it. The value is the output from then on."},
		}},
		{formCall, "Asks a language model for an output: as a node, a generator or a corrector. It needs a prompt or messages.", append(append([]Key{
			{Name: "prompt", Type: TypeText, Sees: state, Doc: "What the model is asked."},
			{Name: "prompt_file", Type: TypeText, Doc: "The same from a file in the workflow's folder, whose text may hold templates."},
			{Name: "messages", Type: TypeList, Block: blockMessage, Doc: "A conversation instead of a prompt."},
			{Name: "system", Type: TypeText, Sees: state, Doc: "The system message."},
			{Name: "response_schema", Type: TypeAny, Doc: "A JSON Schema that the endpoint makes the answer follow. The output is then the parsed value."},
			{Name: "parse", Type: TypeWord, Values: []string{"json"}, Doc: "Uses the JSON value in the answer as the output."},
			{Name: "cache", Type: TypeFlag, Default: "false", Doc: "Returns the stored answer, at no cost, if the same request was made before."},
		}, samplingKeys(state)...), timeout(defaultLLMTimeout.String()))},
		{formLLM, "A language model as a judge. Without a prompt, a built-in one is used.", append(append([]Key{
			{Name: "prompt", Type: TypeText, Sees: judged, Doc: "What to look for."},
			{Name: "prompt_file", Type: TypeText, Doc: "The same from a file in the workflow's folder, whose text may hold templates."},
			{Name: "context", Type: TypeAny, Sees: judged[1:], Doc: "What the judge needs to know; templates of the other keys read it as `context`."},
			{Name: "examples", Type: TypeList, Sees: judged, Doc: "Judged examples, which are shown to the model."},
			{Name: "system", Type: TypeText, Sees: judged, Doc: "The system message."},
			{Name: "scale", Type: TypeInteger, Least: 1, Most: 100, Default: "1", Doc: "The highest score that the judge gives, by which its scores are divided: 1, 10 or 100. A score outside is no verdict."},
		}, samplingKeys(judged)...), timeout(defaultLLMTimeout.String()))},
		{formLua, "A Lua 5.4 script in a sandbox. It can't contain templates: it reads the variables `state` and `iteration`; in an evaluator or corrector also `output`; in a corrector also `errors` and `feedback`.", []Key{
			{Name: "code", Type: TypeText, Doc: "The script."},
			{Name: "run", Type: TypeText, Doc: "The same; a step with `run` needs no `type`."},
			timeout(defaultTimeout.String()),
		}},
		{formPlugin, "A plugin of any kind.", []Key{
			{Name: "plugin", Type: TypeName, Form: pluginForm, Required: true, Doc: "Its full name, `publisher/name`."},
			{Name: "config", Type: TypeMapping, Sees: state, Doc: "Its settings. An evaluator's templates may also read `output`. Templates in `code`, `run` and `schema` stay as they are."},
			timeout("the plugin's own"),
		}},
		{formSchema, "JSON Schema, with a pointer to each error.", []Key{
			{Name: "schema", Type: TypeAny, Doc: "The schema: a mapping or a boolean."},
			{Name: "schema_file", Type: TypeText, Doc: "The same from a file in the workflow's folder."},
			{Name: "documents", Type: TypeMapping, Doc: "Other schemas that it refers to: a file for each absolute URI."},
			{Name: "draft", Type: TypeWord, Values: drafts, Default: "the schema's `$schema`, else `draft7`", Doc: "Which version of JSON Schema it is."},
			{Name: "formats", Type: TypeWord, Values: []string{"assert", "annotate"}, Default: "by draft", Doc: "Whether `format` is checked. By default it is in drafts 4, 6 and 7."},
			{Name: "scoring", Type: TypeWord, Values: []string{"graded", "strict"}, Default: "`graded`", Doc: "Whether an output that is nearly right scores nearly 1 (`graded`) or 0 (`strict`)."},
			{Name: "coerce", Type: TypeFlag, Default: "false", Doc: "Turns texts into the numbers and booleans that the schema asks for."},
			timeout(defaultTimeout.String()),
		}},
		{blockMessage, "A message of a conversation.", []Key{
			{Name: "role", Type: TypeWord, Values: []string{"system", "user", "assistant"}, Required: true, Doc: "Who says it."},
			{Name: "content", Type: TypeText, Required: true, Sees: state, Doc: "What is said."},
		}},
	}, compositeBlocks()...)
}

// compositeBlocks are the forms of evaluators that ask others, and their children.
func compositeBlocks() []Block {
	return []Block{
		{formAll, "Several evaluators. `all` is valid if all of them are, and has the lowest score. `any` is valid if one of them is, and has the highest score.", []Key{
			{Name: "evaluators", Type: TypeList, Block: blockChild, Required: true, Doc: fmt.Sprintf("The children, nested at most %d deep.", maxCompositeDepth)},
			failFast(),
		}},
		{formWeighted, "Several evaluators: the score is their weighted mean.", []Key{
			{Name: "evaluators", Type: TypeList, Block: blockWeighted, Required: true, Doc: fmt.Sprintf("The children, nested at most %d deep.", maxCompositeDepth)},
			{Name: "threshold", Type: TypeNumber, Most: 1, Default: fmt.Sprint(loop.DefaultThreshold), Doc: "The lowest score with which it is valid, above 0."},
			failFast(),
		}},
		{blockChild, "A child of `all` or `any`: an evaluator with a name.", []Key{childName()}},
		{blockWeighted, "A child of `weighted`.", []Key{
			childName(),
			{Name: "weight", Type: TypeNumber, Most: math.MaxFloat64, Default: "1", Doc: "How much its score counts. At least one weight must be above 0."},
		}},
	}
}

func childName() Key {
	return Key{Name: "name", Type: TypeName, Form: childForm, Required: true, Doc: "A unique name among its siblings. It is the `source` of the child's findings."}
}

func failFast() Key {
	return Key{Name: "fail_fast", Type: TypeFlag, Default: "false", Doc: "Asks the children in their order, up to the first that isn't valid, rather than all at once."}
}

// samplingKeys are the keys for the model and for how it chooses its words.
func samplingKeys(sees []string) []Key {
	return []Key{
		{Name: "model", Type: TypeText, Sees: sees, Default: "the model of `llm`", Doc: "The model's name."},
		{Name: "temperature", Type: TypeNumber, Most: 2, Sees: sees, Doc: "How freely it picks its words."},
		{Name: "top_p", Type: TypeNumber, Most: 1, Sees: sees, Doc: "The share of the most likely words that it picks from (nucleus sampling)."},
		{Name: "seed", Type: TypeInteger, Least: -maxExact, Most: maxExact, Sees: sees, Doc: "Makes answers repeatable, if the endpoint supports it."},
		{Name: "max_tokens", Type: TypeInteger, Least: 1, Most: math.MaxInt32, Sees: sees, Doc: "How long an answer may be."},
		{Name: "stop", Type: TypeAny, Sees: sees, Doc: "A text, or a list of texts, that ends the answer."},
		{Name: "llm", Type: TypeMapping, Block: blockLLM, Doc: "How the model is reached; keys that it leaves out are taken from `settings.llm`."},
	}
}
