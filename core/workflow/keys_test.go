package workflow_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/core/workflow"
)

// within are files with %s where the keys of a block are, each complete but for them.
func within() map[string]string {
	const loop = "nodes: [{name: a, action: reflection.loop, with: {generator: {run: x}, evaluator: {run: x}, %s}}]"
	generator := strings.Replace(loop, "generator: {run: x}", "generator: {%s}", 1)
	generator = strings.Replace(generator, ", %s}}]", "}}]", 1)
	evaluator := strings.NewReplacer("evaluator: {run: x}", "evaluator: {%s}", ", %s}}]", "}}]").Replace(loop)
	node := func(action string) string { return "nodes: [{name: a, action: " + action + ", with: {%s}}]" }
	return map[string]string{
		"workflow": "%s", "settings": "settings: {%s}", "llm": "settings: {llm: {%s}}", "price": "settings: {llm: {price: {%s}}}", "dialect": "settings: {llm: {dialect: {%s}}}",
		"node": "nodes: [{%s}]", "goto": "nodes: [{name: a, action: lua.run, with: {run: x}, goto: [{%s}]}]",
		"reflection.loop": node("reflection.loop"), "budget": strings.Replace(loop, "%s", "budget: {%s}", 1),
		"reflection.evaluate": node("reflection.evaluate"), "reflection.correct": node("reflection.correct"),
		"memory.observe": node("memory.observe"), "memory.reflect": node("memory.reflect"),
		"memory.recall": node("memory.recall"), "memory.feedback": node("memory.feedback"), "inject.snapshot": node("inject.snapshot"),
		"step.action": generator, "step.type": generator, "evaluator": strings.Replace(evaluator, "%s", "run: x, %s", 1),
		"llm.call": node("llm.call"), "evaluator.llm": strings.Replace(evaluator, "%s", "type: llm, %s", 1),
		"lua.run": node("lua.run"), "command.run": node("command.run"), "plugin.call": node("plugin.call"),
		"evaluator.schema": strings.Replace(evaluator, "%s", "type: schema, %s", 1),
		"mcp.call":         node("mcp.call"), "evaluator.mcp": strings.Replace(evaluator, "%s", "type: mcp, %s", 1),
		"evaluator.checks":   strings.Replace(evaluator, "%s", "type: checks, %s", 1),
		"evaluator.all":      strings.Replace(evaluator, "%s", "type: all, %s", 1),
		"evaluator.weighted": strings.Replace(evaluator, "%s", "type: weighted, %s", 1),
		"child":              strings.Replace(evaluator, "%s", "type: all, evaluators: [{run: x, %s}]", 1),
		"child.weighted":     strings.Replace(evaluator, "%s", "type: weighted, evaluators: [{run: x, %s}]", 1),
		"tool":               strings.Replace(generator, "%s", "action: llm.call, prompt: p, tools: [{%s}]", 1),
		"part":               strings.Replace(generator, "%s", "action: llm.call, messages: [{role: user, content: [{%s}]}]", 1),
		"tool_call":          strings.Replace(generator, "%s", "action: llm.call, messages: [{role: assistant, tool_calls: [{%s}]}]", 1),
		"message":            strings.Replace(generator, "%s", "action: llm.call, messages: [{%s}]", 1),
	}
}

// TestKeys_EachIsReadAsItsTableSays: a value of another type is refused by its name, and a
// key that no table has is unknown.
func TestKeys_EachIsReadAsItsTableSays(t *testing.T) {
	places := within()
	for _, b := range workflow.Blocks() {
		place := places[b.Name]
		if place == "" {
			t.Errorf("no file here has the block %q", b.Name)
			continue
		}
		if found := problems(t, fmt.Sprintf(place, "surely_unknown: 1")); !strings.Contains(found, `"surely_unknown"`) && b.Name != "step.action" && b.Name != "step.type" {
			t.Errorf("%s: an unknown key is taken: %s", b.Name, found)
		}
		for _, k := range b.Keys {
			wrong, checked := map[workflow.KeyType]string{
				workflow.TypeText: "[1]", workflow.TypeWord: "[1]", workflow.TypeName: "[1]", workflow.TypeFlag: "[1]",
				workflow.TypeNumber: "[1]", workflow.TypeInteger: "[1]", workflow.TypeDuration: "[1]", workflow.TypeExpression: "[1]",
				workflow.TypeMapping: "[1]", workflow.TypeList: "1",
			}[k.Type]
			templated := len(k.Sees) > 0 && strings.HasPrefix(b.Name, "memory.") && k.Type != workflow.TypeWord // the type shows when it is rendered
			found := problems(t, fmt.Sprintf(place, k.Name+": "+wrong))
			if checked && !templated && !strings.Contains(found, k.Name+" ") && !strings.Contains(found, `"`+k.Name+`"`) && !strings.Contains(found, k.Block) {
				t.Errorf("%s.%s: %s is taken: %s", b.Name, k.Name, wrong, found)
			}
			if strings.Contains(found, "no key \""+k.Name+"\"") {
				t.Errorf("%s.%s isn't known: %s", b.Name, k.Name, found)
			}
		}
	}
}

// problems are all that is wrong with a file, in one text.
func problems(t *testing.T, text string) string {
	t.Helper()
	_, err := load(text)
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestKeys_OfMemoryActionsAreTheRequests: the domain's requests and the tables have the same
// names.
func TestKeys_OfMemoryActionsAreTheRequests(t *testing.T) {
	requests := map[string]reflect.Type{
		"memory.observe": reflect.TypeFor[core.ObserveRequest](), "memory.reflect": reflect.TypeFor[core.ReflectRequest](),
		"memory.recall": reflect.TypeFor[core.RecallRequest](), "memory.feedback": reflect.TypeFor[core.FeedbackRequest](),
	}
	for _, b := range workflow.Blocks() {
		request := requests[b.Name]
		if request == nil {
			continue
		}
		delete(requests, b.Name)
		var want, got []string
		for _, f := range reflect.VisibleFields(request) {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
				want = append(want, name)
			}
		}
		for _, k := range b.Keys {
			got = append(got, k.Name)
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s has the keys %v, and its request %v", b.Name, got, want)
		}
	}
	if len(requests) > 0 {
		t.Errorf("no table is for %v", requests)
	}
}

// TestSchema_TakesWhatLoads: the examples, and each file that the loader takes.
func TestSchema_TakesWhatLoads(t *testing.T) {
	schema := compiledSchema(t)
	files, err := filepath.Glob("../../examples/*/workflow.yaml")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	texts := map[string]string{"first": first}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(text)
	}
	for name, text := range texts {
		if err := schema.Validate(asJSON(t, text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSchema_RefusesWhatDoesNotLoad in its shape.
func TestSchema_RefusesWhatDoesNotLoad(t *testing.T) {
	schema := compiledSchema(t)
	for _, text := range []string{
		"{}", "nodes: 1", "nodes: [{name: a, action: lua.run}]", "nodes: [{name: A, action: lua.run, with: {run: x}}]",
		"nodes: [{name: a, action: lua.runs, with: {run: x}}]", "nodes: [{name: a, action: lua.run, with: {runs: x}}]",
		"nodes: [{name: a, action: lua.run, with: {run: x, timeout: 3}}]",
		"nodes: [{name: a, action: reflection.loop, with: {generator: {run: x}}}]",
		"nodes: [{name: a, action: reflection.loop, with: {generator: {type: schema, schema: true}, evaluator: {run: x}}}]",
		"nodes: [{name: a, action: reflection.loop, with: {generator: {run: x}, evaluator: {run: x}, max_iterations: 0}}]",
		"nodes: [{name: a, action: reflection.loop, with: {generator: {run: x}, evaluator: {run: x}, on_failure: stop}}]",
		"nodes: [{name: a, action: reflection.evaluate, with: {evaluator: {type: weighted, evaluators: [{name: a, weigth: 1, run: x}]}}}]",
		"nodes: [{name: a, action: memory.recall, with: {limit: many}}]",
		"settings: {step_limit: 0}\nnodes: [{name: a, action: lua.run, with: {run: x}}]",
	} {
		if _, err := load(text); err == nil {
			t.Errorf("it loads: %s", text)
		}
		if schema.Validate(asJSON(t, text)) == nil {
			t.Errorf("the schema takes %s", text)
		}
	}
}

func compiledSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(string(workflow.Schema())))
	c := jsonschema.NewCompiler()
	if err == nil {
		err = c.AddResource("workflow.json", parsed)
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("workflow.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asJSON is a YAML text as the value of its JSON.
func asJSON(t *testing.T, text string) any {
	t.Helper()
	found := &document.Problems{}
	root := document.Read(text, document.Limits{Bytes: 1 << 20, Depth: 100}, found)
	if root == nil || found.Len() > 0 {
		t.Fatalf("%s: %v", text, found.List())
	}
	var v any
	if err := json.Unmarshal(root.JSON(nil), &v); err != nil {
		t.Fatal(err)
	}
	return v
}
