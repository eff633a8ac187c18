package workflow_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/core/workflow/action"
)

const (
	certificate = "-----BEGIN CERTIFICATE-----\nYWJj\n-----END CERTIFICATE-----\n"
	privateKey  = "-----BEGIN PRIVATE KEY-----\nczNjcmV0\n-----END PRIVATE KEY-----\n"
)

// The file of authorities that a connection names is read with the workflow: its certificates
// alone, since a run stores it.
func TestLLM_AuthoritiesAreReadWithTheWorkflow(t *testing.T) {
	for name, c := range map[string]struct {
		settings, step string
		files          map[string]string
		says           string // "" if it loads
	}{
		"in settings":     {"ca: ca.pem", "", map[string]string{"ca.pem": certificate}, ""},
		"in a step":       {"", "llm: {ca: certs/ca.pem}", map[string]string{"certs/ca.pem": certificate}, ""},
		"from the root":   {"ca: DIR/ca.pem", "", map[string]string{"ca.pem": certificate}, ""},
		"with a key":      {"ca: ./ca.pem", "", map[string]string{"ca.pem": "a comment\n" + privateKey + certificate}, ""},
		"none":            {"ca: ca.pem", "", nil, `there is no file "ca.pem" in the workflow's folder`},
		"above":           {"ca: ../ca.pem", "", nil, `"../ca.pem" is not in the workflow's folder`},
		"elsewhere":       {"ca: /etc/hostname", "", nil, `"/etc/hostname" is not in the workflow's folder`},
		"a key alone":     {"ca: ca.pem", "", map[string]string{"ca.pem": privateKey}, `"ca.pem" has no certificate in PEM`},
		"empty":           {"ca: ca.pem", "", map[string]string{"ca.pem": ""}, `"ca.pem" has no certificate in PEM`},
		"a template":      {`ca: "{{ state.x }}"`, "", nil, "settings.llm.ca can't hold a template"},
		"a list":          {"ca: [ca.pem]", "", nil, "ca must be text"},
		"extra":           {"extra_body: {top_k: 5, a: {b: [1, x]}}, extra_headers: {X-Title: app}, ca: ca.pem", "", map[string]string{"ca.pem": certificate}, ""},
		"extra as text":   {"extra_body: a", "", nil, "extra_body must be"},
		"deep template":   {`extra_body: {a: [{b: "{{ state.key }}"}]}`, "", nil, "settings.llm.extra_body.a.b can't hold a template"},
		"header template": {`extra_headers: {X-A: "{{ state.key }}"}`, "", nil, "settings.llm.extra_headers.X-A can't hold a template"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, c.files)
			text := "settings: {llm: {model: m, " + strings.ReplaceAll(c.settings, "DIR", dir) + "}}\nnodes: [{name: a, action: llm.call, with: {prompt: p, " + c.step + "}}]\n"
			path := filepath.Join(dir, "w.yaml")
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			source, err := workflow.Read(path)
			if err != nil {
				t.Fatal(err)
			}
			for name, stored := range source.Files {
				if strings.Contains(stored, "PRIVATE") || strings.Contains(stored, "comment") {
					t.Errorf("%s is stored as %s", name, stored)
				}
			}
			p, err := workflow.Load(source, workflow.Options{Expressions: expressions{}})
			if c.says != "" {
				if err == nil || !strings.Contains(err.Error(), c.says) {
					t.Errorf("got %v, want %s", err, c.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var config struct{ LLM map[string]json.RawMessage }
			if err := json.Unmarshal([]byte(render(t, p.Nodes[0].Action.(*action.CallSpec).Step.Config, action.Variables{})), &config); err != nil {
				t.Fatal(err)
			}
			if ca, _ := json.Marshal(certificate); string(config.LLM["ca"]) != string(ca) {
				t.Errorf("the plugin gets %s", config.LLM["ca"])
			}
			if name == "extra" && (string(config.LLM["extra_body"]) != `{"top_k":5,"a":{"b":[1,"x"]}}` || string(config.LLM["extra_headers"]) != `{"X-Title":"app"}`) {
				t.Errorf("the plugin gets %s", config.LLM)
			}
		})
	}
}

// The keys of a connection are checked when the workflow is read.
func TestLLM_ConnectionIsChecked(t *testing.T) {
	for name, c := range map[string]struct{ settings, says string }{
		"responses":      {"provider: openai, api: responses, models: [a, b], reasoning_effort: low, dialect: {refuses: [temperature, stream]}", ""},
		"messages":       {"provider: anthropic, base_url: 'https://api.anthropic.com', dialect: {refuses: []}", ""},
		"a context":      {"provider: ollama, max_context: 65536", ""},
		"another api":    {"api: assistants", "api must be one of chat, responses"},
		"another vendor": {"provider: antropic", "provider must be one of openai, ollama, anthropic"},
		"an effort":      {"reasoning_effort: hard", "reasoning_effort must be one of none"},
		"a tiny context": {"max_context: 100", "max_context must be from 512 to 10000000"},
		"half a token":   {"max_context: 1000.5", "max_context must be a whole number"},
		"models as text": {"models: a", "models must be"},
		"an empty model": {`models: [a, ""]`, "models must hold texts"},
		"a number":       {"models: [5]", "models must hold texts"},
		"a model made":   {`models: ["{{ state.m }}"]`, "settings.llm.models can't hold a template"},
		"a list":         {"dialect: [temperature]", "dialect must be"},
		"its fields":     {"dialect: {refuses: [model]}", "refuses must hold some of response_format"},
		"its keys":       {"dialect: {sends: [seed]}", `"sends"`},
	} {
		p, err := load("settings: {llm: {" + c.settings + "}}\nnodes: [{name: a, action: llm.call, with: {prompt: p}}]\n")
		switch {
		case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s: %v, want %s", name, err, c.says)
		case c.says == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.says == "":
			if config := render(t, p.Nodes[0].Action.(*action.CallSpec).Step.Config, action.Variables{}); strings.Contains(c.settings, "models") && !strings.Contains(config, `"models":["a","b"]`) {
				t.Errorf("%s: the plugin gets %s", name, config)
			}
		}
	}
}
