package gateway_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/host/gateway"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/plugins/schema-eval/schemaeval"
	"github.com/reflectory/reflectory/sdk"
)

// read reads a gateway.yaml next to a reflectory.yaml.
func read(t *testing.T, settings, text string) (*gateway.Settings, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"reflectory.yaml": settings, gateway.FileName: text, "contact.schema.json": `{"type": "object", "required": ["name"]}`,
		"flow.yaml": flow, "wrong.yaml": "nodes: 5",
	} {
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := config.Load(config.Sources{Folder: dir, Flags: map[string]string{"data-dir": dir + "/data"}})
	if err != nil {
		t.Fatal(err)
	}
	return gateway.Read(c)
}

const flow = "nodes: [{name: a, action: lua.run, with: {code: return state.input}}]\n"

// schemaTakes reports whether the schema takes a file.
func schemaTakes(t *testing.T, text string) bool {
	t.Helper()
	e, err := schemaeval.Plugin().Evaluator(t.Context(), json.RawMessage(`{"schema": `+string(gateway.Schema())+`}`))
	if err != nil {
		t.Fatal(err)
	}
	n := document.Read(text, document.Limits{Bytes: 64 << 10, Depth: 20, MayBeEmpty: true}, &document.Problems{})
	r, err := e.Evaluate(t.Context(), &sdk.EvaluateRequest{Output: json.RawMessage(n.JSON(nil))})
	if err != nil {
		t.Fatal(err)
	}
	return r.Verdict.Valid
}

const ofLLM = `settings: {llm: {model: gpt-5-mini, base_url: "https://llm.test/v1", api_key_env: LLM_KEY, endpoints: ["llm.test:443", "other.test:443"]}}`

func TestRead_WhatIsServed(t *testing.T) {
	for what, c := range map[string]struct{ settings, text, want string }{
		"nothing":          {"", "", ""},
		"no file":          {ofLLM, "", "gpt-5-mini as '' at https://llm.test/v1 openai LLM_KEY check true true, recall 0 false"},
		"further models":   {strings.Replace(ofLLM, "model: gpt-5-mini", "model: gpt-5-mini, models: [b, a, gpt-5-mini]", 1), "", "a as '' at https://llm.test/v1 openai LLM_KEY check true true, recall 0 false\nb as '' at https://llm.test/v1 openai LLM_KEY check true true, recall 0 false\ngpt-5-mini as '' at https://llm.test/v1 openai LLM_KEY check true true, recall 0 false"},
		"a workflow":       {"log_level: off", "models: {a: {workflow: flow.yaml, namespace: team, limits: {parallel: 1, requests_per_minute: 2}, budget: {tokens: 3}}}", "a as '' at    check false false, recall 0 false tokens=3/day 2 1 flow.yaml"},
		"an empty file":    {ofLLM, "{}", ""},
		"the defaults":     {ofLLM, "models: {coder: {}}", "coder as 'coder' at https://llm.test/v1 openai LLM_KEY check true true, recall 0 false"},
		"another name":     {ofLLM, "models: {coder: {upstream: {model: big}}}", "coder as 'big' at https://llm.test/v1 openai LLM_KEY check true true, recall 0 false"},
		"another endpoint": {ofLLM, `models: {a: {upstream: {base_url: "https://other.test/v1"}}}`, "a as 'a' at https://other.test/v1 openai  check true true, recall 0 false"},
		"another provider": {ofLLM, "models: {a: {upstream: {provider: anthropic}}}", "a as 'a' at https://api.anthropic.com/v1 anthropic  check true true, recall 0 false"},
		"the same":         {ofLLM, "models: {a: {upstream: {provider: openai}}}", "a as 'a' at https://llm.test/v1 openai LLM_KEY check true true, recall 0 false"},
		"its key":          {ofLLM, `models: {a: {upstream: {base_url: "https://other.test/v1", api_key_env: OTHER}}}`, "a as 'a' at https://other.test/v1 openai OTHER check true true, recall 0 false"},
		"the client's":     {ofLLM, "models: {a: {upstream: {credentials: client}}}", "a as 'a' at https://llm.test/v1 openai  client check true true, recall 0 false"},
		"unchecked":        {ofLLM, "models: {a: {check: {tools: false, response_format: false}}}", "a as 'a' at https://llm.test/v1 openai LLM_KEY check false false, recall 0 false"},
		"recall":           {ofLLM, "models: {a: {recall: {max_tokens: 800}}}", "a as 'a' at https://llm.test/v1 openai LLM_KEY check true true, recall 800 true"},
		"recall alone":     {ofLLM, "models: {a: {recall: {max_tokens: 800}, learn: false}}", "a as 'a' at https://llm.test/v1 openai LLM_KEY check true true, recall 800 false"},
		"an evaluator":     {ofLLM, "models: {a: {check: {evaluator: {type: schema, schema_file: contact.schema.json}}}}", "a as 'a' at https://llm.test/v1 openai LLM_KEY check true true evaluator, recall 0 false"},
		"a day's budget":   {ofLLM, "models: {a: {budget: {tokens: 5}}}", "a as 'a' at https://llm.test/v1 openai LLM_KEY check true true, recall 0 false tokens=5/day"},
		"two":              {ofLLM, "models: {b: {}, a: {limits: {parallel: 2, requests_per_minute: 6}}}\npass: ['llama*']", "a as 'a' at https://llm.test/v1 openai LLM_KEY check true true, recall 0 false 6 2\nb as 'b' at https://llm.test/v1 openai LLM_KEY check true true, recall 0 false"},
	} {
		s, err := read(t, c.settings, c.text)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		var lines []string
		for _, m := range s.Models {
			line := fmt.Sprintf("%s as '%s' at %s %s %s", m.Name, m.Upstream, m.At.BaseURL, m.At.Provider, m.At.KeyEnv)
			if m.At.Client {
				line += " client"
			}
			line += fmt.Sprintf(" check %v %v", m.Check.Tools, m.Check.ResponseFormat)
			if m.Check.Evaluator != nil {
				line += " evaluator"
			}
			line += fmt.Sprintf(", recall %d %v", m.Recall.MaxTokens, m.Learn)
			if m.Budget != nil {
				line += " " + m.Budget.String()
			}
			if m.Parallel > 0 {
				line += fmt.Sprintf(" %d %d", m.RequestsPerMinute, m.Parallel)
			}
			if m.Workflow != nil && m.Workflow.Text == flow {
				line += " " + filepath.Base(m.Workflow.File)
			}
			lines = append(lines, line)
		}
		if got := strings.Join(lines, "\n"); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", what, got, c.want)
		}
		if c.text != "" && !schemaTakes(t, c.text) {
			t.Errorf("the schema refuses %s", c.text)
		}
	}
}

// onlyRead are the problems that the schema doesn't know.
var onlyRead = map[string]bool{
	"a space": true, "0 bytes": true, "base_url": true, "lets no model be asked": true, "can't both be sent": true, "namespace": true, "recall is off": true,
	"evaluator:": true, "no.json": true, "x.json": true, "budget needs tokens": true, "needs the price": true, "is no pattern": true, "no.yaml": true,
	"nodes must be a list": true, "isn't in the folder": true, "is per day": true, "a": true,
}

// TestRead_WhatIsWrong: each file has the problem at its line, and none has a secret in it.
func TestRead_WhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"[]":                                          "must be a mapping",
		"models: [a]":                                 "models must be a mapping, not a list",
		"model: {a: {}}":                              `no key "model"`,
		"models: {a: 5}":                              "the model a must be a mapping",
		"models: {'a b': {}}":                         "a space",
		"models: {'': {}}":                            "0 bytes",
		"models: {a: {upstreams: {}}}":                `no key "upstreams"`,
		"models: {a: {upstream: gpt}}":                "upstream of the model a must be a mapping",
		"models: {a: {upstream: {name: x}}}":          `no key "name"`,
		"models: {a: {upstream: {model: 5}}}":         "model must be text",
		"models: {a: {upstream: {provider: gemini}}}": "provider is not one of openai, ollama, anthropic",
		"models: {a: {upstream: {base_url: 'ftp://llm.test'}}}":                     "base_url",
		"models: {a: {upstream: {base_url: 'http://llm.test/v1'}}}":                 "base_url",
		"models: {a: {upstream: {base_url: 'https://unknown.test/v1'}}}":            "lets no model be asked",
		"models: {a: {upstream: {api_key_env: sk-1234567890abcdef}}}":               "api_key_env isn't the name of a variable",
		"models: {a: {upstream: {credentials: server}}}":                            "credentials is not one of client",
		"models: {a: {upstream: {credentials: client, api_key_env: K}}}":            "can't both be sent",
		"models: {a: {upstream: {price: {in: -1}}}}":                                "in is not a number above 0",
		"models: {a: {namespace: '../x'}}":                                          "namespace",
		"models: {a: {recall: 800}}":                                                "recall must be a mapping",
		"models: {a: {recall: {}}}":                                                 "recall needs max_tokens",
		"models: {a: {recall: {max_tokens: 0.5}}}":                                  "max_tokens is not a whole number",
		"models: {a: {learn: true}}":                                                "recall is off",
		"models: {a: {learn: yes}}":                                                 "learn must be a boolean",
		"models: {a: {check: {tools: 1}}}":                                          "tools must be a boolean",
		"models: {a: {check: {max_iterations: 11}}}":                                "max_iterations is not a whole number from 1 to 10",
		"models: {a: {check: {on_failure: return_last}}}":                           "on_failure is not one of return_best, raise",
		"models: {a: {check: {evaluator: {type: shema}}}}":                          "evaluator:",
		"models: {a: {check: {evaluator: {type: schema, schema_file: no.json}}}}":   "no.json",
		"models: {a: {check: {evaluator: {type: schema, schema_file: ../x.json}}}}": "x.json",
		"models: {a: {record: everything}}":                                         "record is not one of content, digests",
		"models: {a: {budget: {}}}":                                                 "budget needs tokens",
		"models: {a: {budget: {cost_usd: 5}}}":                                      "needs the price",
		"models: {a: {budget: {tokens: 5, per: month}}}":                            "per is not one of day, request",
		"models: {a: {limits: {parallel: 0}}}":                                      "parallel is not a whole number",
		"models: {a: {limits: {requests_per_minute: many}}}":                        "requests_per_minute must be a number",
		"models: {a: {workflow: 5}}":                                                "workflow must be text",
		"models: {a: {workflow: no.yaml}}":                                          "no.yaml",
		"models: {a: {workflow: wrong.yaml}}":                                       "nodes must be a list",
		"models: {a: {workflow: ../flow.yaml}}":                                     "isn't in the folder",
		"models: {a: {workflow: flow.yaml, upstream: {}}}":                          `no key "upstream"`,
		"models: {a: {workflow: flow.yaml, budget: {cost_usd: 1}}}":                 "needs the price",
		"models: {a: {workflow: flow.yaml, budget: {tokens: 1, per: request}}}":     "is per day",
		"pass: llama3":           "pass must be a list",
		"pass: [5]":              "an item of pass must be text",
		"pass: ['[a']":           "is no pattern",
		"models: {a: {}, a: {}}": "a",
	} {
		_, err := read(t, ofLLM, text)
		if sdk.ReasonOf(err) != "gateway_invalid" || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), gateway.FileName+":1:") {
			t.Errorf("%s: %v; want %q", text, err, want)
		}
		if schemaTakes(t, text) != onlyRead[want] {
			t.Errorf("the schema takes %s: %v", text, !onlyRead[want])
		}
		if err != nil && strings.Contains(err.Error(), "sk-1234567890") {
			t.Errorf("%s: the error has the key: %v", text, err)
		}
	}
	_, err := read(t, ofLLM, "models:\n  a: {learn: true}\n  b: {record: x}\nnone: 1\n")
	for _, place := range []string{":2:", ":3:", ":4:"} {
		if err == nil || !strings.Contains(err.Error(), gateway.FileName+place) {
			t.Errorf("not all at once: %v", err)
		}
	}
}

// TestModels_SettingsAreReadAgain: what has changed is in force for the next request, a file that is wrong isn't, and that
// is said once.
func TestModels_SettingsAreReadAgain(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name+".new"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, name+".new"), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	write("reflectory.yaml", ofLLM)
	c, err := config.Load(config.Sources{Folder: dir, Flags: map[string]string{"data-dir": dir + "/data"}})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorldWith(t, mem.Open(), gateway.Options{}, c)
	s, err := gateway.Read(c)
	if err != nil {
		t.Fatal(err)
	}
	ms := w.gate.Models(s)
	for _, step := range []struct {
		file, text, want string
		warns            int
	}{
		{"other.yaml", "", "gpt-5-mini", 0},
		{gateway.FileName, "models: {b: {}, a: {}}", "a b", 0},
		{gateway.FileName, "models: {a: {wrong: 1}}", "a b", 1},
		{gateway.FileName, "models: {c: {workflow: flow.yaml}}", "a b", 2},
		{"flow.yaml", flow, "c", 2},
		{"flow.yaml", "nodes: 5", "c", 3},
		{"flow.yaml", flow + "# again", "c", 3},
		{gateway.FileName, "models: {}", "", 3},
	} {
		write(step.file, step.text)
		for range 2 {
			if got := strings.Join(ms.Settings().Names(core.Caller{}), " "); got != step.want {
				t.Errorf("after %s: %q, want %q", step.text, got, step.want)
			}
		}
		w.mu.Lock()
		if len(w.warn) != step.warns {
			t.Errorf("after %s: %v", step.text, w.warn)
		}
		w.mu.Unlock()
	}
	w.warn = nil
}
