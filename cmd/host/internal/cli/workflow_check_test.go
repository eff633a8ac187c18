package cli

import (
	"strings"
	"testing"
)

// A check finds what a run would refuse before it begins, and shows what would be asked of whom.
func TestWorkflowCheck_IsWhatARunWouldRefuse(t *testing.T) {
	const judged = "nodes:\n  - name: a\n    action: reflection.loop\n    with:\n      generator: {run: 'return 1'}\n      evaluator: "
	for name, test := range map[string]struct {
		text string
		exit int
		says []string
	}{
		"right":             {judged + "{type: schema, schema: {type: integer}}", exitPassed, []string{"valid", "asks reflectory/lua-eval to generate", "asks reflectory/schema-eval to evaluate"}},
		"a script's syntax": {judged + "{type: lua, code: 'return {'}", exitNotValid, []string{"node a: evaluator", "asks reflectory/lua-eval to evaluate, generate"}},
		"a wrong config":    {judged + "{plugin: reflectory/schema-eval, config: {schema: {type: nothing}}}", exitNotValid, []string{"node a: evaluator"}},
		"no such plugin":    {judged + "{plugin: example/none, config: {}}", exitNotValid, []string{`there is no plugin "example/none"`, "hint: "}},
		"another version":   {judged + "{plugin: reflectory/schema-eval, version: ^9, config: {schema: {}}}", exitNotValid, []string{"^9"}},
		"both of two":       {judged + "{type: lua, code: 'return {'}\n  - name: b\n    action: lua.run\n    with: {code: 'return ('}", exitNotValid, []string{"node a: evaluator", "node b: "}},
		"a variable": {
			"settings: {llm: {provider: openai, base_url: 'http://127.0.0.1:11434/v1', model: m, api_key_env: NO_SUCH_KEY}}\nnodes:\n  - name: a\n    action: llm.call\n    with: {prompt: hi}",
			exitNotValid, []string{"NO_SUCH_KEY", "asks reflectory/llm-eval to generate, at http://127.0.0.1:11434/v1, with the value of NO_SUCH_KEY"},
		},
		"memories": {
			"nodes:\n  - name: a\n    action: memory.observe\n    with: {content: hi}\n  - name: b\n    action: memory.recall\n    with: {query: hi}",
			exitPassed, []string{"valid", "asks memory to memory.observe (a), memory.recall (b)"},
		},
		"a mistake in the file": {"nodes: 1", exitNotValid, []string{"w.yaml:1:"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.file("w.yaml", test.text)
			code, stdout, stderr := w.run(t.Context(), "workflow", "check", w.dir+"/w.yaml")
			if code != test.exit {
				t.Errorf("exit %d, want %d:\n%s%s", code, test.exit, stdout, stderr)
			}
			for _, want := range test.says {
				if !strings.Contains(strings.Join(strings.Fields(stdout), " "), want) {
					t.Errorf("it doesn't say %q:\n%s%s", want, stdout, stderr)
				}
			}
			if _, runs, _ := w.run(t.Context(), "runs", "list", "--json"); strings.Contains(runs, `"id"`) {
				t.Errorf("a check made a run: %s", runs)
			}
		})
	}
}
