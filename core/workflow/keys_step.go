package workflow

import (
	"fmt"
	"math"
	"strconv"

	"github.com/reflectory/reflectory/core/loop"
	"github.com/reflectory/reflectory/core/workflow/action"
)

// types are the values of a step's type:.
var (
	stepTypes  = []string{"llm", "lua", "command"}
	judgeTypes = []string{"schema", "checks", "mcp", "llm", "lua", "command", "all", "any", "weighted"}
	// callActions are the actions that a step may be.
	callActions = []string{actionLLM, actionLua, actionCommand, actionPlugin, actionMCP}
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
			{Name: "type", Type: TypeWord, Values: judgeTypes, Doc: "Which one. `schema`, `checks`, `mcp`, `all`, `any` and `weighted` are for evaluators only."},
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
			{Name: "tools", Type: TypeList, Block: blockTool, Doc: "What the model may call before it answers. Each reply and each result is stored, so that a resumed run repeats none of them; see `idempotent`."},
			{Name: "max_steps", Type: TypeInteger, Least: 1, Most: 64, Default: strconv.Itoa(action.DefaultToolSteps), Doc: "How often the model is asked at most until it answers without calling tools."},
			{Name: "tool_choice", Type: TypeText, Default: "the endpoint's", Doc: "`auto`, `none`, `required` or a tool's name. It holds for the first question; after that the model chooses."},
			{Name: "parallel_tool_calls", Type: TypeFlag, Default: "the endpoint's", Doc: "Whether the model may ask for several calls at a time. They are made one after the other."},
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
		{formCommand, "A program of the machine, in a sandbox and in a folder of its own: as an evaluator, a generator, a corrector or a node. It can't contain templates, but for `stdin`.", append(commandKeys(),
			timeout(defaultCommandTimeout.String()),
		)},
		{formPlugin, "A plugin of any kind.", []Key{
			{Name: "plugin", Type: TypeName, Form: pluginForm, Required: true, Doc: "Its full name, `publisher/name`; or `publisher/name@1.2.0` for a version that was added with `--side-by-side`."},
			{Name: "version", Type: TypeName, Form: rangeForm, Doc: "Which versions of it will do, such as `^1.2`, `~1.2.3` or `\">=1.2 <1.9\"`. The run isn't begun with another one.", Default: "any"},
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
		{formChecks, "Checks that need no model, each with a score and with what is wrong and where. It is valid if all pass, and its score is the mean of theirs.", []Key{
			{Name: "all", Type: TypeList, Required: true, Sees: judged[1:], Doc: "The checks, such as `max_chars: 800` or `not_matches: \"(?i)as an ai\"`."},
			timeout(defaultTimeout.String()),
		}},
		{formMCP, "Calls a tool of an MCP server that was added with `plugin add --mcp`: as a node, a generator or a corrector. What the tool outputs is the output: its structured content, else its text, which is read as JSON if it is an object or a list.", append(mcpKeys(state), timeout("the server's own, 60s"))},
		{formMCPJudge, "A tool of an MCP server as a judge. A result that is an error is a failure of the evaluator, unless the verdict names `result.isError`; an error of the protocol, unless it names `result.error`.", append(mcpKeys(judged[1:]),
			Key{Name: "verdict", Type: TypeText, Default: "the tool's output, which must be a verdict", Doc: "A CEL expression over `result` (`content`, `text`, `structuredContent`, `isError`, `error`) that gives true, false, or an object of `valid`, `score`, `errors` and `feedback`; or `{\"fault\": \"…\"}` for a failure."},
			timeout("the server's own, 60s"))},
	}, append(partBlocks(), compositeBlocks()...)...)
}

// partBlocks are what forms are made of.
func partBlocks() []Block {
	state := stateOnly()
	return []Block{
		{blockTool, "What a model may call: a plugin that generates, a tool of an MCP server, a workflow, a recall, or a script. Its state is the arguments that the model writes, and its output is what the model reads.", []Key{
			{Name: "name", Type: TypeName, Form: toolNameForm, Default: "the name of the plugin, the MCP tool or the file; `recall`", Doc: "Its name for the model."},
			{Name: "description", Type: TypeText, Default: "the MCP server's, the workflow's", Doc: "What it does, for the model."},
			{Name: "parameters", Type: TypeMapping, Default: "the MCP server's; of a recall, a `query`; else any object", Doc: "A JSON Schema of its arguments. A call that doesn't fit isn't made, and the model reads why."},
			{Name: "plugin", Type: TypeName, Form: pluginForm, Doc: "A plugin."},
			{Name: "mcp", Type: TypeName, Form: serverForm, Doc: "An MCP server that was added with `plugin add --mcp`."},
			{Name: "tool", Type: TypeText, Doc: "The server's tool."},
			{Name: "arguments", Type: TypeMapping, Sees: state, Default: "what the model writes", Doc: "The arguments for the server, whose templates read the model's as `state`."},
			{Name: "workflow", Type: TypeText, Doc: fmt.Sprintf("A workflow in a file next to this one, at most %d deep. It runs as a run of its own, whose state has the arguments; `state.input` isn't set.", maxToolDepth)},
			{Name: "action", Type: TypeWord, Values: []string{actionRecall}, Doc: "Recalls memories. It is no turn of the run's session, so nothing is learned from it."},
			{Name: "with", Type: TypeMapping, Block: actionRecall, Default: "`query: \"{{ state.query }}\"`", Doc: "What is recalled, and where. Templates read the arguments as `state`."},
			{Name: "idempotent", Type: TypeFlag, Default: "false; what the MCP server says", Doc: "Whether a call that was under way when the host was killed is made again, with its idempotency key. Otherwise it isn't, and the model reads that its result is lost. Scripts, recalls and workflows always continue."},
			{Name: "version", Type: TypeName, Form: rangeForm, Doc: "Which versions of it will do.", Default: "any"},
			{Name: "config", Type: TypeMapping, Sees: state, Doc: "The plugin's settings, whose templates read the arguments as `state`."},
			{Name: "run", Type: TypeText, Doc: "A Lua script instead of a plugin."},
			{Name: "timeout", Type: TypeDuration, Default: "the plugin's own", Doc: "How long one call may take."},
		}},
		{blockMessage, "A message of a conversation.", []Key{
			{Name: "role", Type: TypeWord, Values: []string{"system", "user", "assistant", "tool"}, Required: true, Doc: "Who says it."},
			{Name: "content", Type: TypeAny, Block: blockPart, Sees: state, Doc: "What is said: a text, or a list of parts. Only a message with `tool_calls` needs none."},
			{Name: "tool_calls", Type: TypeList, Block: blockToolCall, Doc: "The calls that an assistant asked for."},
			{Name: "tool_call_id", Type: TypeText, Sees: state, Doc: "The call of which a tool's message is the result; a tool's message needs it."},
			{Name: "name", Type: TypeText, Sees: state, Doc: "The name of a tool's message's tool."},
		}},
		{blockPart, "A part of a message. Images and files are for messages of the user. Each endpoint takes what its provider documents: all take images; files that are texts are sent as text to all.", []Key{
			{Name: "type", Type: TypeWord, Values: []string{"text", "image", "file"}, Required: true, Doc: "What it is."},
			{Name: "text", Type: TypeText, Sees: state, Doc: "A text."},
			{Name: "file", Type: TypeText, Doc: fmt.Sprintf("A file in the workflow's folder. It is kept with the run. All files of a workflow's messages have up to %d MiB together.", MaxMessageFiles>>20)},
			{Name: "url", Type: TypeText, Doc: "An address, https://, that the endpoint reads; not Ollama."},
			{Name: "base64", Type: TypeText, Sees: state, Doc: "The content itself; it needs a `media_type`."},
			{Name: "media_type", Type: TypeText, Default: "by the file's name", Doc: "Its type, such as `image/png`."},
			{Name: "name", Type: TypeText, Default: "the file's own", Doc: "The file's name for the model."},
		}},
		{blockToolCall, "A call of a tool that an assistant asked for.", []Key{
			{Name: "id", Type: TypeText, Required: true, Sees: state, Doc: "Its id, which the result's `tool_call_id` names."},
			{Name: "name", Type: TypeText, Required: true, Sees: state, Doc: "The tool's name."},
			{Name: "arguments", Type: TypeMapping, Default: "none", Sees: state, Doc: "Its arguments."},
		}},
	}
}

// commandKeys are the keys of a program of the machine.
func commandKeys() []Key {
	return []Key{
		{Name: "run", Type: TypeList, Doc: "The program and its arguments."},
		{Name: "sh", Type: TypeText, Doc: "A command of the shell instead."},
		{Name: "workspace", Type: TypeMapping, Doc: "The folder that it runs in, a copy for each call: `from`, `may_change`, `protect`."},
		{Name: "put", Type: TypeAny, Doc: "Where the output goes: `{file: PATH}`, `files`, `diff` or `stdin`."},
		{Name: "stdin", Type: TypeText, Sees: stateOnly(), Doc: "What it reads."},
		{Name: "report", Type: TypeAny, Default: "`auto`", Doc: "What it reports: `auto`, `exit`, `junit`, `tap`, `sarif`, `go-test`, `checkstyle`, `lines` or `{cel: EXPRESSION}`."},
		{Name: "report_file", Type: TypeText, Default: "what it prints", Doc: "The file that it writes its report to, in its folder."},
		{Name: "limits", Type: TypeMapping, Doc: "`memory`, `disk` and `processes` of it and of all that it starts."},
		{Name: "caches", Type: TypeMapping, Doc: "Folders that a command fills on the original, before anything is put: the command for each name."},
		{Name: "env", Type: TypeList, Doc: "Variables of the host's environment that it gets."},
		{Name: "baseline", Type: TypeAny, Doc: "The tests that must run: how many, their names, or `original`: the ones that run without the attempt."},
		{Name: "exit", Type: TypeMapping, Default: "the program's own", Doc: "What an exit status means: `pass`, `fail`, `else`."},
		{Name: "fail_on", Type: TypeWord, Values: []string{"error", "warning", "info"}, Default: "`error`", Doc: "The least severity of a finding that makes an output invalid."},
		{Name: "allow_empty", Type: TypeFlag, Default: "false", Doc: "Passes if nothing ran."},
		{Name: "in_process", Type: TypeFlag, Default: "the program's own", Doc: "Whether the judged code runs in the process that writes the report."},
	}
}

func mcpKeys(sees []string) []Key {
	return []Key{
		{Name: "server", Type: TypeName, Form: serverForm, Required: true, Doc: "The server's name, as it was added: `name`, or `publisher/name`."},
		{Name: "tool", Type: TypeText, Required: true, Doc: "The name of the tool."},
		{Name: "arguments", Type: TypeMapping, Sees: sees, Doc: "Its arguments."},
	}
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
