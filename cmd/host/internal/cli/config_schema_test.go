package cli

import (
	"encoding/json"
	"testing"

	"github.com/reflectory/reflectory/plugins/checks-eval/checkseval"
	"github.com/reflectory/reflectory/plugins/command-eval/commandeval"
	"github.com/reflectory/reflectory/plugins/llm-eval/llmeval"
	"github.com/reflectory/reflectory/plugins/lua-eval/luaeval"
	"github.com/reflectory/reflectory/plugins/schema-eval/schemaeval"
	"github.com/reflectory/reflectory/sdk"
)

// The schemas of the shipped plugins' configs accept what their READMEs document, and
// nothing else. The plugins themselves accept the same.
func TestShippedConfigSchemas(t *testing.T) {
	const llm = `"llm": {"provider": "openai", "base_url": "http://127.0.0.1:1/v1", "model": "m", "timeout": "60s", "price": {"in": 1, "out": 2.5}}, "model": "n"`
	tests := []struct {
		plugin  sdk.Plugin
		kind    sdk.Kind
		accepts []string
		refuses []string
	}{
		{schemaeval.Plugin(), sdk.KindEvaluator, []string{
			`{"schema": {"type": "object"}, "draft": "2020-12", "formats": "assert", "scoring": "strict", "coerce": true, "base": "workflow:///s.json", "documents": {"workflow:///o.json": true}}`,
			`{"schema": true}`,
		}, []string{`{}`, `{"schema": 1}`, `{"schema": true, "drafts": "draft7"}`, `{"schema": true, "draft": "draft5"}`}},
		{commandeval.Plugin(), sdk.KindEvaluator, []string{
			`{"run": ["go", "test", "-json"], "workspace": {"from": ".", "may_change": ["**/*.go"], "protect": []}, "put": {"file": "a.go"}, "report": "go-test", "timeout": "5m", "limits": {"memory": "2GiB", "processes": 9, "disk": 5}}`,
			`{"sh": "x", "put": "stdin", "report": {"cel": "exit == 0"}, "report_file": "r", "caches": {"a": "b"}, "env": ["A"], "baseline": 2, "exit": {"pass": [0], "fail": [1], "else": "fault"}, "fail_on": "info", "allow_empty": true, "in_process": false}`,
			`{"run": ["x"], "baseline": ["a"], "stdin": ""}`,
		}, []string{`{}`, `{"run": []}`, `{"run": ["a"], "sh": "b"}`, `{"run": "a"}`, `{"sh": "a", "put": "elsewhere"}`, `{"sh": "a", "report": "xml"}`, `{"sh": "a", "baseline": 0}`, `{"sh": "a", "exit": {"else": "pass"}}`}},
		{checkseval.Plugin(), sdk.KindEvaluator, []string{
			`{"all": [{"max_chars": 800, "at": "/a"}, {"min_chars": 1}, {"max_words": 9}, {"min_words": 0}, {"matches": "a"}, {"not_matches": "(?i)as an ai"}, {"contains_all": ["a"]}, {"contains_any": ["a", "b"]}, {"contains_none": ["c"]}]}`,
			`{"all": [{"equals": null}, {"close_to": {"value": 3.14, "within": 0.01}}, {"similar": {"to": "a", "by": "rouge_l", "at_least": 0.8}}, {"similar": {"to": ""}}, {"is": "regex"}, {"cel": "output == expected"}]}`,
		}, []string{`{}`, `{"all": []}`, `{"all": [3]}`, `{"all": {"max_chars": 1}}`, `{"all": [{"max_chars": 1}], "any": []}`}},
		{llmeval.Plugin(llmeval.Options{Getenv: func(string) string { return "sk-test-key" }}), sdk.KindEvaluator, []string{
			`{` + llm + `, "prompt": "p", "system": "s", "context": [1], "examples": [{"output": 1, "pass": true, "score": 0.5, "feedback": "f"}], "temperature": 0, "max_tokens": 9}`,
			`{"llm": {"provider": "ollama", "base_url": "http://127.0.0.1:11434", "model": "m", "api_key_env": "KEY"}}`,
		}, []string{`{` + llm + `, "temperature": 3}`, `{` + llm + `, "promt": "p"}`}},
		{llmeval.Plugin(llmeval.Options{}), sdk.KindGenerator, []string{
			`{` + llm + `, "prompt": "p", "system": "s", "parse": "json", "temperature": 2, "max_tokens": 1}`,
			`{` + llm + `, "messages": [{"role": "system", "content": "c"}, {"role": "user", "content": ""}, {"role": "assistant", "content": "c"}]}`,
		}, []string{`{` + llm + `, "prompt": "p", "parse": "xml"}`, `{` + llm + `, "messages": [{"role": "robot", "content": "c"}]}`}},
		{luaeval.Plugin(), sdk.KindEvaluator, []string{
			`{"code": "return true", "chunk": "run", "memory_bytes": 1048576, "instructions": 1000}`, `{"code": "return true"}`,
		}, []string{`{}`, `{"code": ""}`, `{"code": "return 1", "memory": 1}`, `{"code": "return 1", "instructions": 1}`}},
	}
	for _, tt := range tests {
		t.Run(tt.plugin.Manifest.Name+" "+string(tt.kind), func(t *testing.T) {
			for _, config := range tt.accepts {
				if v := judgeConfig(t, tt.plugin.Manifest.ConfigSchema, config); !v.Valid {
					t.Errorf("the schema refuses %s: %+v", config, v.Errors)
				}
				if err := prepareHere(t, &tt.plugin, tt.kind, config); err != nil && sdk.ReasonOf(err) != "lua_missing" {
					t.Errorf("the plugin refuses %s: %v", config, err)
				}
			}
			for _, config := range tt.refuses {
				if judgeConfig(t, tt.plugin.Manifest.ConfigSchema, config).Valid {
					t.Errorf("the schema takes %s", config)
				}
				if prepareHere(t, &tt.plugin, tt.kind, config) == nil {
					t.Errorf("the plugin takes %s", config)
				}
			}
		})
	}
}

func judgeConfig(t *testing.T, schema json.RawMessage, config string) sdk.Verdict {
	t.Helper()
	p := schemaeval.Plugin()
	e, err := p.Evaluator(t.Context(), json.RawMessage(`{"schema": `+string(schema)+`}`))
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.Evaluate(t.Context(), &sdk.EvaluateRequest{Output: json.RawMessage(config)})
	if err != nil {
		t.Fatal(err)
	}
	return r.Verdict
}

func prepareHere(t *testing.T, p *sdk.Plugin, kind sdk.Kind, config string) (err error) {
	t.Helper()
	if kind == sdk.KindGenerator {
		_, err = p.Generator(t.Context(), json.RawMessage(config))
		return err
	}
	_, err = p.Evaluator(t.Context(), json.RawMessage(config))
	return err
}
