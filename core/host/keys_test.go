package host_test

import (
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/sdk"
)

// TestScope_CallersSendNoVariableOfTheServer to an endpoint, unless the operator named the two
// together. The answer is the same whether the variable is set.
func TestScope_CallersSendNoVariableOfTheServer(t *testing.T) {
	env := map[string]string{
		"REFLECTORY_LLM_ENDPOINTS": "127.0.0.1:8000,llm.example.org:443=EXAMPLE_KEY,[::1]:80=LOCAL_KEY,llm.example.org:444",
		"REFLECTORY_LLM_MODEL":     "m", "REFLECTORY_LLM_URL": "https://api.openai.com/v1", "REFLECTORY_LLM_KEY_ENV": "OPENAI_API_KEY",
		"REFLECTORY_SUMMARIES_MODEL": "m", "REFLECTORY_SUMMARIES_URL": "http://127.0.0.1:11434/v1", "REFLECTORY_SUMMARIES_KEY_ENV": "SUMMARIES_KEY",
		"PGPASSWORD": "secret", "EXAMPLE_KEY": "k", "LOCAL_KEY": "k", "OPENAI_API_KEY": "k", "SUMMARIES_KEY": "k", "AWS_SECRET_ACCESS_KEY": "k",
	}
	getenv := func(name string) string { return env[name] }
	settings, err := config.Load(config.Sources{Folder: t.TempDir(), Getenv: getenv, Flags: map[string]string{"data-dir": t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	h := open(t, host.Config{Settings: settings, Getenv: getenv, Store: mem.Open(), Server: &host.Server{}})
	as := func(subject string, url, variable string, settings bool) error {
		ctx := core.WithCaller(t.Context(), core.Caller{Subject: subject, Scopes: core.Scopes(), Namespaces: []string{"**"}})
		need := host.Need{Namespace: "n", Uses: []workflow.PluginUse{{
			Plugin: workflow.LLMPlugin, EnvNames: []string{variable}, URLs: []string{url}, Keys: []workflow.KeyUse{{URL: url, EnvName: variable}},
		}}}
		if settings {
			need = host.Need{Namespace: "n", LLM: jsontext.MustEncode(map[string]string{"base_url": url, "api_key_env": variable})}
		}
		_, err := h.Plugins.Scope(ctx, need)
		return err
	}
	for _, c := range []struct {
		url, variable string
		may           bool
	}{
		{"http://127.0.0.1:11434/v1", "PGPASSWORD", false},
		{"http://localhost:11434/v1", "AWS_SECRET_ACCESS_KEY", false},
		{"http://127.0.0.1:8000", "PGPASSWORD", false},
		{"http://127.0.0.1:8000", "UNSET", false},
		{"https://api.openai.com/v1", "PGPASSWORD", false},
		{"https://api.openai.com/v1", "EXAMPLE_KEY", false},
		{"http://127.0.0.1:8000", "OPENAI_API_KEY", false},
		{"https://llm.example.org/v1", "LOCAL_KEY", false},
		{"https://llm.example.org:444/v1", "EXAMPLE_KEY", false},
		{"http://127.0.0.1:11434/v1", "OPENAI_API_KEY", false},
		{"http://127.0.0.1:11434/v1", "REFLECTORY_TOKEN", false},
		{"https://llm.example.org/v1", "example_key", false},
		{"", "PGPASSWORD", false},
		{"not a url", "PGPASSWORD", false},
		{"https://llm.example.org/v1", "EXAMPLE_KEY", true},
		{"https://LLM.example.org:443/other", "EXAMPLE_KEY", true},
		{"http://[::1]/v1", "LOCAL_KEY", true},
		{"https://api.openai.com/v1", "OPENAI_API_KEY", true},
		{"http://127.0.0.1:11434/v1", "SUMMARIES_KEY", true},
	} {
		for _, settings := range []bool{false, true} {
			for _, who := range []string{"bot", "oidc:amy", core.LocalSubject} {
				err := as(who, c.url, c.variable, settings)
				if c.may && err != nil || !c.may && (sdk.CodeOf(err) != sdk.Denied || sdk.ReasonOf(err) != "secret_denied") {
					t.Errorf("%s sends %s to %s: %v", who, c.variable, c.url, err)
				}
				if !c.may && !strings.Contains(sdk.AsError(err).Hint, "settings: {llm: {endpoints: [{host: ") {
					t.Errorf("the hint doesn't say what to write: %s", sdk.AsError(err).Hint)
				}
			}
		}
	}
	for _, who := range []string{core.OperatorSubject, ""} {
		if err := as(who, "http://127.0.0.1:8000", "PGPASSWORD", false); err != nil {
			t.Errorf("%q: %v", who, err)
		}
	}
}
