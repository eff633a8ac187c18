package workflow_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/core/loop"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/core/workflow/action"
	"github.com/reflectory/reflectory/sdk"
)

// expressions takes the place of the real compiler, which is in another part: it
// refuses what holds "bad" and decides by looking for "yes".
type expressions struct{}

func (expressions) Compile(_ policypoint.Point, source string) (policypoint.Expression, error) {
	if at := strings.Index(source, "bad"); at >= 0 {
		line := 1 + strings.Count(source[:at], "\n")
		column := at - strings.LastIndex(source[:at], "\n")
		return nil, sdk.Errorf(sdk.Invalid, "expression_invalid", "bad").
			WithDetail("line", line).WithDetail("column", column)
	}
	return expression(source), nil
}

type expression string

func (e expression) Eval(_ context.Context, vars map[string]any) (bool, error) {
	if key, ok := strings.CutPrefix(string(e), "has "); ok {
		_, has := vars["state"].(map[string]any)[key]
		return has, nil
	}
	if key, ok := strings.CutPrefix(string(e), "lacks "); ok {
		_, has := vars["state"].(map[string]any)[key]
		return !has, nil
	}
	if strings.Contains(string(e), "fail") {
		return false, sdk.Errorf(sdk.Invalid, "expression_failed", "it fails")
	}
	return strings.Contains(string(e), "yes"), nil
}

func load(text string) (*workflow.Plan, error) {
	return workflow.Load(core.Source{File: "w.yaml", Text: text}, workflow.Options{Expressions: expressions{}})
}

func render(t *testing.T, v action.Value, scope action.Variables) string {
	t.Helper()
	data, err := v.Render(scope)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

const first = `
name: generate-contact            # optional
settings:
  llm: {provider: ollama, model: "llama3.2", base_url: "http://127.0.0.1:11434"}
state: {request: "Ada Lovelace, ada@example.org"}     # initial state; --state and --input override it
nodes:
  - name: generate_json
    action: reflection.loop
    with:
      generator:
        action: llm.call
        prompt: "Generate valid JSON for: {{ state.request }}"
      evaluator:
        type: schema
        schema:
          type: object
          required: [name, email]
          properties:
            name: { type: string, minLength: 1 }
            email: { type: string, format: email }
      corrector:
        action: llm.call
        prompt: |
          Fix this JSON. Errors: {{ state.reflection_errors | json }}
          Original: {{ state.reflection_output }}
      max_iterations: 3
      on_failure: return_best
`

const second = `
evaluator:
  type: lua
  code: |
    local output = state.reflection_output
    local valid = output.name ~= nil and #output.name > 0
    local errors = {}
    if not valid then table.insert(errors, "name is required") end
    return { valid = valid, score = valid and 1.0 or 0.0, errors = errors }
`

func TestFirstExampleLoads(t *testing.T) {
	p, err := load(first)
	if err != nil {
		t.Fatal(err)
	}
	if p.Name != "generate-contact" || string(p.State) != `{"request":"Ada Lovelace, ada@example.org"}` || len(p.Nodes) != 1 || p.StepLimit != 1000 {
		t.Fatalf("got %+v", p)
	}
	spec := p.Nodes[0].Action.(*action.LoopSpec)
	state := json.RawMessage(`{"request":"Ada","reflection_errors":[{"message":"no <name>"}],"reflection_output":{"b":1,"a":2}}`)
	llm := `"llm":{"base_url":"http://127.0.0.1:11434","model":"llama3.2","provider":"ollama"}`
	for name, test := range map[string][2]string{
		"generator": {render(t, spec.Generator.Config, action.Variables{State: state}), `{"prompt":"Generate valid JSON for: Ada",` + llm + `}`},
		"evaluator": {render(t, spec.Evaluator.Config, action.Variables{}), `{"base":"workflow:///w.yaml","schema":{"type":"object","required":["name","email"],` +
			`"properties":{"name":{"type":"string","minLength":1},"email":{"type":"string","format":"email"}}}}`},
		"corrector": {render(t, spec.Corrector.Config, action.Variables{State: state}),
			`{"prompt":"Fix this JSON. Errors: [{\"message\":\"no <name>\"}]\nOriginal: {\"a\":2,\"b\":1}\n",` + llm + `}`},
	} {
		if diff := cmp.Diff(test[1], test[0]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if spec.Evaluator.Timeout != 30*time.Second || spec.Generator.Timeout != 120*time.Second || !spec.Evaluator.Config.Constant() || spec.Generator.Config.Constant() {
		t.Errorf("got %+v", spec)
	}
	if spec.Limits.MaxIterations != 3 || spec.Limits.OnFailure != loop.ReturnBest {
		t.Errorf("got %+v", spec.Limits)
	}
	want := []workflow.PluginUse{
		{Plugin: "reflectory/llm-eval", Kinds: []sdk.Kind{"corrector", "generator"}, URLs: []string{"http://127.0.0.1:11434"}},
		{Plugin: "reflectory/schema-eval", Kinds: []sdk.Kind{"evaluator"}},
	}
	if diff := cmp.Diff(want, p.Plugins()); diff != "" {
		t.Error(diff)
	}
}

func TestSecondExampleLoads(t *testing.T) {
	for _, text := range []string{second, strings.ReplaceAll(strings.TrimPrefix(second, "\nevaluator:\n"), "\n  ", "\n")[2:]} {
		s, err := workflow.LoadEvaluator(core.Source{File: "e.yaml", Text: text}, workflow.Options{Expressions: expressions{}})
		if err != nil {
			t.Fatal(err)
		}
		if s.Step.Plugin != "reflectory/lua-eval" || !strings.Contains(render(t, s.Step.Config, action.Variables{}), `#output.name > 0`) || len(s.Plugins) != 1 {
			t.Errorf("got %+v", s)
		}
	}
}

// node wraps the with: block of an action into a workflow.
func node(action, with string) string {
	return "nodes:\n- name: n\n  action: " + action + "\n  with:\n    " + strings.ReplaceAll(strings.TrimSpace(with), "\n", "\n    ") + "\n"
}

func aLoop(keys string) string {
	return node("reflection.loop", "generator: {run: 'return 1'}\nevaluator: {type: lua, code: 'return true'}\n"+keys)
}

func TestEveryFormOfAStep(t *testing.T) {
	state := json.RawMessage(`{"x":{"k":1},"s":"text"}`)
	for name, test := range map[string]struct{ text, plugin, config string }{
		"action llm.call": {node("llm.call", `{prompt: "{{ state.x }}", llm: {model: m}}`), "reflectory/llm-eval", `{"prompt":"{\"k\":1}","llm":{"model":"m"}}`},
		"a model's words": {node("llm.call", "prompt: p\ntemperature: '{{ state.x.k }}'\ntop_p: 0.9\nseed: 7\nmax_tokens: '{{ state.x.k + 1 }}'\nstop: [END, '{{ state.s }}']\nresponse_schema: {type: object, pattern: '{{ x }}'}\nllm: {model: m}"), "reflectory/llm-eval",
			`{"response_schema":{"type":"object","pattern":"{{ x }}"},"prompt":"p","temperature":1,"top_p":0.9,"seed":7,"max_tokens":2,"stop":["END","text"],"llm":{"model":"m"}}`},
		"tools":                 {node("llm.call", "prompt: p\ntools: [{plugin: acme/now-in@1.2.0, config: {zone: '{{ state.zone }}'}}, {name: add, description: d, parameters: {type: object}, run: 'return state.a'}]\ntool_choice: add\nparallel_tool_calls: false\nmax_steps: 3\nllm: {model: m}"), "reflectory/llm-eval", `{"tools":[{"name":"now-in"},{"name":"add","description":"d","parameters":{"type":"object"}}],"tool_choice":"add","parallel_tool_calls":false,"prompt":"p","llm":{"model":"m"}}`},
		"messages":              {node("llm.call", "messages: [{role: user, content: 'hi {{ state.s }}'}]\nparse: json\ntemperature: 0.5\nmax_tokens: 7\nllm: {model: m}"), "reflectory/llm-eval", `{"parse":"json","messages":[{"role":"user","content":"hi text"}],"temperature":0.5,"max_tokens":7,"llm":{"model":"m"}}`},
		"action lua.run":        {node("lua.run", "code: 'return \"{{ x }}\"'"), "reflectory/lua-eval", `{"code":"return \"{{ x }}\""}`},
		"action plugin.call":    {node("plugin.call", "plugin: acme/my-plugin\nconfig: {v: '{{ state.x }}', t: 'a {{ state.s }}', n: 9007199254740993}"), "acme/my-plugin", `{"v":{"k":1},"t":"a text","n":9007199254740993}`},
		"plugin":                {node("reflection.evaluate", "evaluator: {plugin: acme/p, config: {out: '{{ output }}'}}"), "acme/p", `{"out":[1]}`},
		"a plugin's program":    {node("plugin.call", "plugin: acme/p\nconfig: {code: 'return {{1}}', run: '{{ x }}', schema: {a: '{{ x }}'}, other: {code: '{{ state.s }}'}}"), "acme/p", `{"code":"return {{1}}","run":"{{ x }}","schema":{"a":"{{ x }}"},"other":{"code":"text"}}`},
		"plugin.call in a step": {node("reflection.correct", "corrector: {action: plugin.call, plugin: acme/p}"), "acme/p", `{}`},
		"run":                   {node("reflection.evaluate", "evaluator: {run: 'return 1'}"), "reflectory/lua-eval", `{"code":"return 1"}`},
		"llm judge":             {node("reflection.evaluate", "evaluator: {type: llm, context: {c: '{{ state.s }}'}, prompt: '{{ context.c }} {{ output }}', llm: {model: m}}"), "reflectory/llm-eval", `{"context":{"c":"text"},"prompt":"text [1]","llm":{"model":"m"}}`},
		"command": {node("reflection.evaluate", "evaluator: {type: command, run: [go, test, '{{ state.x }}'], workspace: {from: ., may_change: ['*.go']}, put: {file: a.go}, timeout: 2m, fail_on: warning, report: {cel: 'exit == 0'}, stdin: '{{ state.s }}'}"), "reflectory/command-eval",
			`{"timeout":"2m0s","run":["go","test","{{ state.x }}"],"workspace":{"from":".","may_change":["*.go"]},"put":{"file":"a.go"},"report":{"cel":"exit == 0"},"fail_on":"warning","stdin":"text"}`},
		"action command.run": {node("command.run", "sh: 'echo {{ state.x }}'"), "reflectory/command-eval", `{"timeout":"5m0s","sh":"echo {{ state.x }}"}`},
		"checks": {node("reflection.evaluate", "evaluator: {type: checks, all: [{contains_all: ['{{ state.s }}']}, {equals: '{{ state.x }}'}, {at: /a, max_chars: 3}, {cel: '{{ output }}'}, {matches: '{{1}}'}]}"), "reflectory/checks-eval",
			`{"all":[{"contains_all":["text"]},{"equals":{"k":1}},{"at":"/a","max_chars":3},{"cel":"{{ output }}"},{"matches":"{{1}}"}]}`},
		"mcp judge": {node("reflection.evaluate", "evaluator: {type: mcp, server: time, tool: t, arguments: {text: '{{ output }}', n: 3}, verdict: 'result.text == \"{{ x }}\"'}"), "mcp/time",
			`{"tool":"t","verdict":"result.text == \"{{ x }}\"","arguments":{"text":[1],"n":3}}`},
		"mcp.call":           {node("mcp.call", "server: acme/time\ntool: t\narguments: {zone: '{{ state.s }}'}"), "acme/time", `{"tool":"t","arguments":{"zone":"text"}}`},
		"mcp.call in a step": {node("reflection.correct", "corrector: {action: mcp.call, server: time, tool: t}"), "mcp/time", `{"tool":"t"}`},
		"schema options": {node("reflection.evaluate", "evaluator: {type: schema, schema: true, draft: draft4, scoring: strict, formats: assert, coerce: true}"), "reflectory/schema-eval",
			`{"base":"workflow:///w.yaml","coerce":true,"draft":"draft4","formats":"assert","schema":true,"scoring":"strict"}`},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := load(test.text)
			if err != nil {
				t.Fatal(err)
			}
			var s action.Step
			switch a := p.Nodes[0].Action.(type) {
			case *action.CallSpec:
				s = a.Step
			case *action.EvaluateSpec:
				s = a.Evaluator
			case *action.CorrectSpec:
				s = a.Corrector
			}
			got := render(t, s.Config, action.Variables{State: state, Output: json.RawMessage("[1]")})
			if s.Plugin != test.plugin || got != test.config {
				t.Errorf("%s: got %s, want %s", s.Plugin, got, test.config)
			}
		})
	}
}

func TestSettingsMergeAndEnvNames(t *testing.T) {
	p, err := load("settings: {step_limit: 5, llm: {model: a, api_key_env: KEY_A, price: {in: 1, out: 2}}}\n" +
		"nodes:\n- {name: a, action: llm.call, with: {prompt: p, llm: {model: b, api_key_env: KEY_B}, timeout: 5s}}\n- {name: b, action: llm.call, with: {prompt: p}}\n")
	if err != nil {
		t.Fatal(err)
	}
	s := p.Nodes[0].Action.(*action.CallSpec)
	if got := render(t, s.Step.Config, action.Variables{}); got != `{"prompt":"p","llm":{"api_key_env":"KEY_B","model":"b","price":{"in":1,"out":2}}}` || s.Step.Timeout != 5*time.Second || !s.WithUsage {
		t.Errorf("got %s %v", got, s)
	}
	if diff := cmp.Diff([]string{"KEY_A", "KEY_B"}, p.EnvNames("reflectory/llm-eval")); diff != "" || p.StepLimit != 5 {
		t.Error(diff)
	}
}

func TestAModelThatNothingNamesIsRefused(t *testing.T) {
	for _, text := range []string{
		node("llm.call", "prompt: 'hi {{ state.s }}'"),
		node("reflection.evaluate", "evaluator: {type: llm}"),
		"settings: {llm: {}}\n" + node("reflection.loop", "generator: {action: llm.call, prompt: p}\nevaluator: {run: x}"),
	} {
		_, err := load(text)
		if err == nil || !strings.Contains(err.Error(), "needs a language model, and settings.llm is missing") || !strings.Contains(err.Error(), "settings: {llm: {provider: ollama") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestAConfigWhoseTemplatesGiveTextsHasASample(t *testing.T) {
	for with, want := range map[string]string{
		"prompt: 'a {{ state.s }}'\nmax_tokens: 7":           `{"prompt":"…","max_tokens":7,"llm":{"model":"m"}}`,
		"messages: [{role: user, content: '{{ state.s }}'}]": `{"messages":[{"role":"user","content":"…"}],"llm":{"model":"m"}}`,
	} {
		p, err := load("settings: {llm: {model: m}}\n" + node("llm.call", with))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(p.Nodes[0].Action.(*action.CallSpec).Step.Config.(action.Sampler).Sample()); got != want {
			t.Errorf("%s: %s", with, got)
		}
	}
	p, err := load(node("plugin.call", "plugin: acme/p\nconfig: {n: '{{ state.n }}'}"))
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Nodes[0].Action.(*action.CallSpec).Step.Config.(action.Sampler).Sample(); got != nil {
		t.Errorf("a template that may give anything has the sample %s", got)
	}
}

func TestParseIsOfALoopAnEvaluatorOrAComposite(t *testing.T) {
	p, err := load(aLoop("parse: json"))
	if err != nil {
		t.Fatal(err)
	}
	if s := p.Nodes[0].Action.(*action.LoopSpec); !s.Parse || s.Evaluator.Parse || !s.Judge().Parse {
		t.Errorf("got %+v", s)
	}
	p, err = load(node("reflection.evaluate", "evaluator: {type: all, parse: json, evaluators: [{name: a, run: x, parse: json}, {name: b, run: y}]}"))
	if err != nil {
		t.Fatal(err)
	}
	s := p.Nodes[0].Action.(*action.EvaluateSpec).Evaluator
	if c := s.Composite.Children; !s.Parse || !c[0].Parse || c[1].Parse {
		t.Errorf("got %+v", s)
	}
	if _, err := load(aLoop("parse: xml")); err == nil || !strings.Contains(err.Error(), `parse must be one of json, not "xml"`) {
		t.Errorf("parse: xml: %v", err)
	}
}

func TestLimitsAndComposites(t *testing.T) {
	p, err := load("settings: {llm: {price: {in: 1, out: 2}}}\n" + aLoop(`timeout: 30s
budget: {tokens: 100, cost_usd: 0.5}
no_progress: 2
stop_when: "yes"
accept: "no"
correct_mode: regenerate
on_failure: raise
on_generator_error: stop
generator_retries: 0
on_evaluator_error: fail_attempt
evaluator_retries: 0
history_limit: 5
max_iterations: 1000`))
	if err != nil {
		t.Fatal(err)
	}
	got := p.Nodes[0].Action.(*action.LoopSpec).Limits
	want := loop.Limits{
		MaxIterations: 1000, Timeout: 30 * time.Second, BudgetTokens: 100, BudgetUSD: 0.5, NoProgress: 2,
		StopWhen: expression("yes"), Accept: expression("no"), CorrectMode: "regenerate", OnFailure: "raise",
		OnEvaluatorError: "fail_attempt", EvaluatorRetries: -1, HistoryLimit: 5,
		OnGeneratorError: "stop", GeneratorRetries: -1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	p, err = load(node("reflection.evaluate", `evaluator:
  type: weighted
  threshold: 0.5
  fail_fast: true
  evaluators:
  - {name: a, weight: 2, run: x}
  - {name: b, type: any, evaluators: [{name: c, run: y}]}`))
	if err != nil {
		t.Fatal(err)
	}
	c := p.Nodes[0].Action.(*action.EvaluateSpec).Evaluator.Composite
	if c.Kind != "weighted" || c.Threshold != 0.5 || !c.FailFast || !cmp.Equal(c.Weights, []float64{2, 1}) || c.Children[0].Name != "a" || c.Children[1].Composite.Children[0].Plugin != "reflectory/lua-eval" {
		t.Errorf("got %+v", c)
	}
}

func TestProblems(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"an unknown key":            {"nodes: []\nstat: {}\n", `w.yaml:1:8: a workflow needs at least one node` + "\n" + `w.yaml:2:1: the workflow has no key "stat" (did you mean "state"?)`},
		"a judge with messages":     {"nodes: [{name: a, action: reflection.evaluate, with: {evaluator: {type: llm, messages: []}}}]\n", `no key "messages"`},
		"a $ref out of the folder":  {"nodes: [{name: a, action: reflection.evaluate, with: {evaluator: {type: schema, schema: {$ref: '../../x.json#/a'}}}}]\n", `"../../x.json#/a", which is outside the workflow's folder`},
		"no nodes":                  {"name: a\n", `w.yaml:1:1: the workflow needs the key "nodes"`},
		"an empty file":             {"", `w.yaml:1:1: the file is empty`},
		"not a mapping":             {"- 1\n", `w.yaml:1:1: the workflow must be a mapping, not a list`},
		"not YAML":                  {"a: [1\n", `w.yaml:1:4: `},
		"a key twice":               {"nodes: []\nnodes: []\n", `w.yaml:2:1: the key "nodes" is there twice`},
		"an alias":                  {"a: &x 1\nb: *x\n", `w.yaml:1:4: anchors, aliases`},
		"two documents":             {"a: 1\n---\nb: 1\n", `w.yaml:3:`},
		"a wrong type":              {aLoop("max_iterations: many"), `w.yaml:7:21: max_iterations must be a number, not text`},
		"out of bounds":             {aLoop("max_iterations: 1001"), `w.yaml:7:21: max_iterations must be from 1 to 1000, not 1001`},
		"no progress of 1":          {aLoop("no_progress: 1"), `no_progress must be from 2`},
		"a fraction":                {aLoop("max_iterations: 1.5"), `max_iterations must be a whole number`},
		"raises and continues":      {aLoop("on_failure: raise\non_exhausted: continue"), `w.yaml:8:19: on_exhausted: continue has no effect with on_failure: raise`},
		"an unknown strategy":       {aLoop("on_failure: return_bets"), `w.yaml:7:17: on_failure must be one of return_best, return_last, raise, not "return_bets" (did you mean "return_best"?)`},
		"a duration without a unit": {aLoop("timeout: 30"), `w.yaml:7:14: timeout must be a duration above zero (write a number and a unit`},
		"a near key":                {aLoop("max_iteration: 3"), `w.yaml:7:5: reflection.loop has no key "max_iteration" (did you mean "max_iterations"?)`},
		"a budget without a price":  {aLoop("budget: {cost_usd: 1}"), `a cost budget needs a price (set settings.llm.price`},
		"CEL in a block":            {aLoop("stop_when: |\n  yes &&\n   bad"), `w.yaml:9:8: CEL: bad`},
		"CEL on a line":             {aLoop("accept: 'yes bad'"), `w.yaml:7:18: CEL: bad`},
		"a template for a number":   {node("llm.call", "prompt: p\ntemperature: 'a {{ state.x }}'"), `temperature must be a number, or exactly one {{ … }}`},
		"too much of top_p":         {node("llm.call", "prompt: p\ntop_p: 2"), `top_p must be from 0 to 1, not 2`},
		"half a seed":               {node("llm.call", "prompt: p\nseed: 1.5"), `seed must be a whole number`},
		"a stop that is a number":   {node("llm.call", "prompt: p\nstop: 1"), `stop must be text or a list of texts, not a number`},
		"a reply's schema as text":  {node("llm.call", "prompt: p\nresponse_schema: x"), `response_schema must be a mapping or a boolean, not text`},
		"a cache that is text":      {node("llm.call", "prompt: p\ncache: 'yes'"), `w.yaml:6:12: cache must be a boolean, not text`},
		"no tools":                  {node("llm.call", "prompt: p\ntools: []"), `tools is empty`},
		"a tool of no kind":         {node("llm.call", "prompt: p\ntools: [{name: a}]"), `w.yaml:6:14: a tool doesn't say what it is`},
		"a tool of two kinds":       {node("llm.call", "prompt: p\ntools: [{plugin: a/b, run: x, name: a}]"), `run`},
		"a script without a name":   {node("llm.call", "prompt: p\ntools: [{run: x}]"), `needs the key "name"`},
		"a tool's name":             {node("llm.call", "prompt: p\ntools: [{run: x, name: a b}]"), `"a b" can't be the name of a tool`},
		"a name that is taken":      {node("llm.call", "prompt: p\ntools: [{plugin: a/now}, {run: x, name: now}]"), `the name "now" is taken`},
		"a name of a choice":        {node("llm.call", "prompt: p\ntools: [{run: x, name: none}]"), `the name "none" is taken`},
		"an unknown choice":         {node("llm.call", "prompt: p\ntool_choice: b\ntools: [{run: x, name: a}]"), `tool_choice must be auto, none, required or the name of a tool`},
		"steps without tools":       {node("llm.call", "prompt: p\nmax_steps: 3"), `max_steps needs tools`},
		"too many steps":            {node("llm.call", "prompt: p\nmax_steps: 65\ntools: [{run: x, name: a}]"), `max_steps`},
		"tools with a cache":        {node("llm.call", "prompt: p\ncache: true\ntools: [{run: x, name: a}]"), `isn't cached`},
		"tools of a judge":          {node("reflection.evaluate", "evaluator: {type: llm, tools: [{run: x, name: a}]}"), `no key "tools"`},
		"a cached judge":            {node("reflection.evaluate", "evaluator: {type: llm, cache: true}"), `no key "cache"`},
		"two prompts":               {node("llm.call", "prompt: p\nprompt_file: p.txt"), `takes only one of prompt and prompt_file`},
		"a template in a block":     {node("llm.call", "prompt: |\n  one\n  two {{ stat.x }}"), `w.yaml:7:14: template: nothing here is named "stat" (did you mean "state"?)`},
		"a template on a line":      {node("llm.call", "prompt: 'a {{ output }}'"), `w.yaml:5:19: template: nothing here is named "output"`},
		"a template's syntax":       {node("llm.call", "prompt: 'a {% include \"x\" %}'"), `there is no tag {% include %}`},
		"no action":                 {"nodes: [{name: a, with: {}}]\n", `w.yaml:1:10: a node needs the key "action"`},
		"an unknown action":         {"nodes: [{name: a, action: reflection.lop, with: {}}]\n", `(did you mean "reflection.loop"?)`},
		"a bad name":                {"nodes: [{name: A-b, action: lua.run, with: {code: x}}]\n", `w.yaml:1:16: "A-b" can't be the name of a node`},
		"a reserved name":           {"nodes: [{name: reflection_x, action: lua.run, with: {code: x}}]\n", `can't be named "reflection_x"`},
		"a gateway's name":          {"name: gateway/coder\nnodes: []\n", `w.yaml:1:7: a workflow can't be named "gateway/coder": the name is reserved`},
		"a name twice":              {"nodes: [{name: a, action: lua.run, with: {code: x}}, {name: a, action: lua.run, with: {code: x}}]\n", `w.yaml:1:61: there are two nodes named "a"`},
		"a reserved state key":      {"state: {reflection_x: 1}\nnodes: [{name: a, action: lua.run, with: {code: x}}]\n", `w.yaml:1:9: state.reflection_x is reserved`},
		"a goto to nowhere":         {"nodes: [{name: first, action: lua.run, with: {code: x}, goto: [{to: frist}]}]\n", `w.yaml:1:69: there is no node "frist" to go to (did you mean "first"?)`},
		"an unknown type":           {node("reflection.evaluate", "evaluator: {type: shema, schema: {}}"), `type must be one of schema, checks, mcp, llm, lua, command, all, any, weighted, not "shema" (did you mean "schema"?)`},
		"no form":                   {node("reflection.evaluate", "evaluator: {foo: 1}"), `the evaluator doesn't say what it is (write action:, type:, run: or plugin:)`},
		"a plugin's bare name":      {node("plugin.call", "plugin: lua-eval"), `"lua-eval" can't be the plugin of plugin.call (write its full name, "reflectory/lua-eval")`},
		"another's bare name":       {node("plugin.call", "plugin: judge"), "publisher/name"},
		"two forms":                 {node("reflection.evaluate", "evaluator: {run: x, plugin: p}"), `evaluator has no key "plugin"`},
		"no evaluator":              {node("reflection.loop", "generator: {run: x}"), `reflection.loop needs the key "evaluator"`},
		"no corrector":              {node("reflection.correct", "data: 1"), `reflection.correct needs the key "corrector"`},
		"two codes":                 {node("lua.run", "code: a\nrun: b"), `lua.run takes only one of code and run`},
		"no prompt":                 {node("llm.call", "system: a"), `llm.call needs the key "prompt", "prompt_file" or "messages"`},
		"no program":                {node("command.run", "put: stdin"), `needs the key "run" or "sh"`},
		"two programs":              {node("command.run", "run: [a]\nsh: b"), `takes only one of run and sh`},
		"no checks":                 {node("reflection.evaluate", "evaluator: {type: checks}"), `needs the key "all"`},
		"no tool":                   {node("mcp.call", "server: time"), `needs the key "tool"`},
		"no server":                 {node("reflection.evaluate", "evaluator: {type: mcp, tool: t}"), `needs the key "server"`},
		"a server by its command":   {node("mcp.call", "server: npx time\ntool: t"), `"npx time" can't be the server of`},
		"a verdict of a generator":  {node("mcp.call", "server: time\ntool: t\nverdict: 'true'"), `"verdict"`},
		"no schema":                 {node("reflection.evaluate", "evaluator: {type: schema}"), `needs the key "schema" or "schema_file"`},
		"a schema file outside":     {node("reflection.evaluate", "evaluator: {type: schema, schema_file: ../x.json}"), `"../x.json" is not in the workflow's folder`},
		"a missing schema file":     {node("reflection.evaluate", "evaluator: {type: schema, schema_file: x.json}"), `there is no file "x.json"`},
		"a missing $ref file":       {node("reflection.evaluate", "evaluator: {type: schema, schema: {$ref: y.json}}"), `the schema refers to "y.json"`},
		"a template in llm":         {"settings: {llm: {base_url: '{{ state.x }}'}}\nnodes: [{name: a, action: lua.run, with: {code: x}}]\n", `settings.llm.base_url can't hold a template`},
		"a key in place of a name":  {"settings: {llm: {api_key_env: sk-123}}\nnodes: [{name: a, action: lua.run, with: {code: x}}]\n", `name the variable that holds the key`},
		"a threshold of nothing":    {node("reflection.evaluate", "evaluator: {type: weighted, threshold: 0, evaluators: [{name: a, run: x}]}"), `threshold must be above 0`},
		"half a token":              {aLoop("budget: {tokens: 1.5}"), `tokens must be a whole number, not 1.5`},
		"weights of nothing":        {node("reflection.evaluate", "evaluator: {type: weighted, evaluators: [{name: a, weight: 0, run: x}]}"), `all weights are 0`},
		"two children of a name":    {node("reflection.evaluate", "evaluator: {type: all, evaluators: [{name: a, run: x}, {name: a, run: x}]}"), `there are two evaluators named "a"`},
		"a number that isn't JSON":  {"state: {a: .inf}\nnodes: [{name: a, action: lua.run, with: {code: x}}]\n", `w.yaml:1:12: .inf: JSON has no such number`},
		"deep nesting":              {"a: " + strings.Repeat("[", 200) + strings.Repeat("]", 200), "nested deeper than 100"},
		"deep nesting by dashes":    {strings.Repeat("- ", 5000) + "x", "nested deeper than 100"},
		"a control character":       {"name: x\n# \x1b[2J\n", `w.yaml:2:3: the control character U+001B isn't allowed in YAML`},
		"a zero byte":               {"name: x\x00\n", `w.yaml:1:8: the control character U+0000`},
		"not UTF-8":                 {"# ß\nname: \xff\n", `w.yaml:2:7: the file isn't UTF-8 text (save the file as UTF-8)`},
		"a byte order mark":         {"\ufeffstat: {}\n", `w.yaml:1:1: the workflow has no key "stat"`},
		"more than anybody reads":   {"state:\n" + strings.Repeat("  k: 1\n", 17_000), "and 9900 more"},
		"signs without end":         {strings.Repeat("%", 1<<20), `w.yaml:1:1: anchors, aliases, merge keys, tags and directives aren't supported`},
		"a large file":              {strings.Repeat("#", workflow.MaxFile+1), "the file has more than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(test.text)
			if sdk.ReasonOf(err) != "workflow_invalid" || sdk.CodeOf(err) != sdk.Invalid {
				t.Fatalf("got %v", err)
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %s\nwant %s", err, test.want)
			}
		})
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	_, err := load("nme: x\nnodes:\n- name: N\n  action: lua.run\n  with: {cod: 1}\n  when: bad\n")
	want := []document.Problem{
		{File: "w.yaml", Pos: document.Pos{Line: 1, Column: 1}, Message: `the workflow has no key "nme"`, Hint: `did you mean "name"?`},
		{File: "w.yaml", Pos: document.Pos{Line: 3, Column: 9}, Message: `"N" can't be the name of a node`, Hint: "a node's name is made of a-z, 0-9 and _, and begins with a letter"},
		{File: "w.yaml", Pos: document.Pos{Line: 5, Column: 10}, Message: `lua.run needs the key "code"`},
		{File: "w.yaml", Pos: document.Pos{Line: 5, Column: 10}, Message: `lua.run has no key "cod"`, Hint: `did you mean "code"?`},
		{File: "w.yaml", Pos: document.Pos{Line: 6, Column: 9}, Message: "CEL: bad"},
	}
	if diff := cmp.Diff(want, sdk.AsError(err).Details["problems"]); diff != "" {
		t.Error(diff)
	}
}

func TestProblems_ManyWrongGotosAreNamedShort(t *testing.T) {
	var text strings.Builder
	text.WriteString("nodes:\n")
	for i := range 200 {
		name := fmt.Sprintf("%s_%d", strings.Repeat("n", 50), i)
		fmt.Fprintf(&text, "- {name: %s, action: lua.run, with: {code: x}, goto: [{to: %s_x}]}\n", name, name)
	}
	_, err := load(text.String())
	problems, _ := sdk.AsError(err).Details["problems"].([]document.Problem)
	if len(problems) != 100 || !strings.HasPrefix(problems[99].Hint, "did you mean") || len(err.Error()) > 64<<10 {
		t.Errorf("%d problems in %d bytes: %.300v", len(problems), len(err.Error()), err)
	}
	_, err = load(strings.ReplaceAll(text.String(), "{to: "+strings.Repeat("n", 50), "{to: other"))
	if len(err.Error()) > 64<<10 || !strings.Contains(err.Error(), "there is no node") {
		t.Errorf("%d bytes: %.300v", len(err.Error()), err)
	}
}

func FuzzLoad(f *testing.F) {
	for _, seed := range []string{first, second, aLoop("stop_when: bad"), node("llm.call", "prompt: |\n  {{ state.x }}"), "a: [", "- - - x", "? a\n: b", "nodes:\n- name: 'x\n", "a: !!t 1", "\"a\\"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := load(text)
		if err == nil {
			if !json.Valid(p.State) || len(p.Nodes) == 0 {
				t.Fatalf("%q: %+v", text, p)
			}
			return
		}
		found, _ := sdk.AsError(err).Details["problems"].([]document.Problem)
		if len(found) == 0 {
			t.Fatalf("%q: %v", text, err)
		}
		for _, problem := range found {
			if problem.Line < 1 || problem.Column < 1 || problem.Message == "" {
				t.Fatalf("%q: %+v", text, problem)
			}
		}
	})
}
