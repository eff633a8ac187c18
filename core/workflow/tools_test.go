package workflow_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/core/workflow/action"
)

const toolsText = `settings: {llm: {model: m}}
nodes:
  - name: a
    action: llm.call
    with:
      prompt: p
      tools:
        - {mcp: files, tool: read_file}
        - {mcp: acme/issues, tool: add, name: report, arguments: {text: "{{ state.text }}", repo: r}, idempotent: true}
        - {workflow: summary.yaml, parameters: {type: object}}
        - {action: memory.recall}
        - {action: memory.recall, name: rules, description: d, with: {query: "rules of {{ state.of }}", namespace: team/rules}}
`

const summaryText = `description: Sums a text up.
nodes:
  - {name: s, action: llm.call, with: {prompt_file: s.txt, llm: {model: small, api_key_env: SMALL_KEY, base_url: "https://small.example/v1"}}}
`

// TestTools_OfEachForm are read with what their calls are made of, and what the model is offered.
func TestTools_OfEachForm(t *testing.T) {
	dir := folder(t, map[string]string{"w.yaml": toolsText, "summary.yaml": summaryText, "s.txt": "Sum up {{ state.text }}"})
	source, err := workflow.Read(filepath.Join(dir, "w.yaml"))
	if diff := cmp.Diff([]string{"s.txt", "summary.yaml"}, slices.Sorted(maps.Keys(source.Files))); diff != "" || err != nil {
		t.Fatal(diff, err)
	}
	p, err := workflow.Load(source, workflow.Options{Expressions: expressions{}})
	if err != nil {
		t.Fatal(err)
	}
	step := p.Nodes[0].Action.(*action.CallSpec).Step
	recall := `{"type": "object", "properties": {"query": {"type": "string", "description": "what to look for, in words"}}, "required": ["query"]}`
	offered := render(t, step.Config, action.Variables{})
	want := `{"tools":[{"name":"read_file"},{"name":"report"},{"name":"summary","description":"Sums a text up.","parameters":{"type":"object"}},` +
		`{"description":"Finds what was remembered about a question, given in words.","parameters":` + recall + `,"name":"recall"},` +
		`{"parameters":` + recall + `,"name":"rules","description":"d"}],"prompt":"p","llm":{"model":"m"}}`
	if diff := cmp.Diff(strings.NewReplacer(`"description":"Sums a text up.",`, "", `"name":"summary"`, `"description":"Sums a text up.","name":"summary"`).Replace(want), offered); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	vars := action.Variables{State: []byte(`{"text":"t","n":9007199254740993,"of":"x"}`)}
	var calls []string
	for _, tool := range step.Tools.Tools {
		switch {
		case tool.Recall != nil:
			calls = append(calls, tool.Name+" recalls "+render(t, tool.Recall.Request, action.Variables{State: []byte(`{"query":"q","of":"x"}`)}))
		case tool.Workflow != nil:
			calls = append(calls, tool.Name+" runs "+filepath.Base(tool.Workflow.File))
		default:
			calls = append(calls, tool.Step.Plugin+" "+render(t, tool.Step.Config, vars)+" "+string(tool.Define))
		}
	}
	if diff := cmp.Diff([]string{
		`mcp/files {"tool":"read_file","arguments":{"n":9007199254740993,"of":"x","text":"t"}} {"tool":"read_file","define":true}`,
		`acme/issues {"tool":"add","arguments":{"text":"t","repo":"r"}} {"tool":"add","define":true}`,
		`summary runs summary.yaml`, `recall recalls {"query":"q"}`, `rules recalls {"namespace":"team/rules","query":"rules of x"}`,
	}, calls); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var again []bool
	for _, tool := range step.Tools.Tools {
		again = append(again, tool.Idempotent)
	}
	if !slices.Equal(again, []bool{false, true, true, true, true}) {
		t.Errorf("idempotent: %v", again)
	}
	var uses []string
	for _, use := range p.Plugins() {
		uses = append(uses, use.Plugin+" "+strings.Join(use.EnvNames, ",")+strings.Join(use.URLs, ","))
	}
	if diff := cmp.Diff([]string{"acme/issues ", "mcp/files ", "reflectory/llm-eval SMALL_KEYhttps://small.example/v1"}, uses); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTools_ThatCannotBe(t *testing.T) {
	calling := func(tool string) string {
		return "nodes:\n  - name: a\n    action: llm.call\n    with: {prompt: p, llm: {model: m}, tools: [" + tool + "]}\n"
	}
	files := map[string]string{
		"broken.yaml": "nodes: []\n", "self.yaml": calling("{workflow: w.yaml}"), "w.yaml": "a: 1\n",
		"one.yaml": calling("{workflow: two.yaml}"), "two.yaml": calling("{workflow: three.yaml}"), "three.yaml": calling("{workflow: four.yaml}"), "four.yaml": calling("{run: x, name: x}"),
	}
	for tool, want := range map[string]string{
		`{mcp: files}`:                              `needs the key "tool"`,
		`{mcp: Files, tool: x}`:                     `"Files" can't be the mcp of a tool`,
		`{mcp: files, tool: "read file"}`:           `needs the key "name"`,
		`{mcp: files, tool: x, config: {}}`:         `a tool with mcp can't have config`,
		`{mcp: files, workflow: one.yaml}`:          `takes only one of mcp and workflow`,
		`{plugin: a/b, tool: x}`:                    `a tool with plugin can't have tool`,
		`{run: x, name: a, idempotent: true}`:       `a tool with run can't have idempotent`,
		`{workflow: one.yaml, timeout: 1s}`:         `a tool with workflow can't have timeout`,
		`{workflow: ../one.yaml}`:                   `"../one.yaml" is not in the workflow's folder itself`,
		`{workflow: sub/one.yaml}`:                  `"sub/one.yaml" is not in the workflow's folder itself`,
		`{workflow: none.yaml}`:                     `there is no file "none.yaml"`,
		`{workflow: w.yaml}`:                        `the workflow w.yaml would call itself: w.yaml → w.yaml`,
		`{workflow: self.yaml}`:                     `the workflow w.yaml would call itself: w.yaml → self.yaml → w.yaml`,
		`{workflow: one.yaml}`:                      `workflows call each other more than 3 deep: w.yaml → one.yaml → two.yaml → three.yaml → four.yaml`,
		`{workflow: broken.yaml}`:                   `broken.yaml:1:8: a workflow needs at least one node`,
		`{action: memory.recal}`:                    `did you mean "memory.recall"?`,
		`{action: memory.recall, with: {limit: 1}}`: `needs the key "query"`,
	} {
		_, err := workflow.Load(core.Source{File: "w.yaml", Text: calling(tool), Files: files}, workflow.Options{Expressions: expressions{}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", tool, err, want)
		}
	}
	if _, err := workflow.Load(core.Source{File: "w.yaml", Text: calling("{workflow: two.yaml}"), Files: files}, workflow.Options{Expressions: expressions{}}); err != nil {
		t.Errorf("three deep: %v", err)
	}
}
