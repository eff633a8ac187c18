package llmeval_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/sdk"
)

func TestConfigReportsAllProblems(t *testing.T) {
	llm := `"llm":{"provider":"ollama","base_url":"http://h","model":"m"}`
	for name, test := range map[string]struct {
		judge  bool
		config string
		want   []string
	}{
		"nothing": {false, `{}`, []string{
			"llm.model is missing", `llm.provider "" is not one of openai, ollama, anthropic`, "llm.base_url is missing", "prompt or messages is missing",
		}},
		"not an object":         {true, `[1]`, []string{"the config is a list, not an object", "llm.model is missing", `llm.provider "" is not one of openai, ollama, anthropic`, "llm.base_url is missing"}},
		"near names":            {true, `{` + llm + `,"promt":"x","temprature":0}`, []string{"unknown key promt: did you mean prompt?", "unknown key temprature: did you mean temperature?"}},
		"near names within llm": {true, `{"llm":{"provider":"openai","base_url":"http://h","model":"m","api_key":"x","modl":1,"price":{"inn":1}}}`, []string{"unknown key llm.price.inn: did you mean in?", "unknown key llm.api_key: did you mean api_key_env?", "unknown key llm.modl: did you mean model?"}},
		"far names":             {true, `{` + llm + `,"zzzzzz":1}`, []string{"unknown key zzzzzz: known are context, examples, llm, max_tokens, model, prompt, scale, seed, stop, system, temperature, top_p"}},
		"a generator's keys":    {true, `{` + llm + `,"parse":"json"}`, []string{"unknown key parse: known are context, examples, llm, max_tokens, model, prompt, scale, seed, stop, system, temperature, top_p"}},
		"wrong types":           {false, `{` + llm + `,"prompt":5,"system":[],"temperature":"hot","max_tokens":1.5,"parse":true}`, []string{"temperature is text, not a number", "max_tokens is a number, not a whole number", "system is a list, not text", "prompt is a number, not text", "parse is a boolean, not text"}},
		"out of range":          {false, `{` + llm + `,"prompt":"p","temperature":2.1,"max_tokens":0,"parse":"xml"}`, []string{"temperature is not between 0 and 2", "max_tokens is less than 1", `parse "xml" is not known: only "json" is`}},
		"prompt and messages":   {false, `{` + llm + `,"prompt":"p","messages":[{"role":"robot"},5]}`, []string{"prompt and messages exclude each other", `messages[0].role "robot" is not one of system, user, assistant, tool`, "messages[0].content is missing", "messages[1] is a number, not an object"}},
		"examples":              {true, `{` + llm + `,"examples":[{"score":2,"fedback":"x"},{"output":1,"pass":"yes"}]}`, []string{"examples[0].output is missing", "examples[0].pass is missing", "examples[0].score is not between 0 and 1", "unknown key examples[0].fedback: did you mean feedback?", "examples[1].pass is text, not a boolean"}},
		"the provider":          {true, `{"llm":{"provider":"olama","base_url":"http://h","model":"m"}}`, []string{`llm.provider "olama" is not one of openai, ollama, anthropic`}},
		"the address":           {true, `{"llm":{"provider":"openai","base_url":"127.0.0.1:1","model":"m"}}`, []string{"llm.base_url is not an http or https URL"}},
		"another scheme":        {true, `{"llm":{"provider":"openai","base_url":"file:///etc","model":"m"}}`, []string{"llm.base_url is not an http or https URL"}},
		"a key in the address":  {true, `{"llm":{"provider":"openai","base_url":"http://me:s3cret@h","model":"m"}}`, []string{"llm.base_url has a user, query or fragment: a key belongs in the variable that api_key_env names"}},
		"a key for its name":    {true, `{"llm":{"provider":"openai","base_url":"http://h","model":"m","api_key_env":"sk-s3cret"}}`, []string{"llm.api_key_env is not a variable's name (it isn't shown, in case it is a key)"}},
		"timeouts":              {true, `{"llm":{"provider":"openai","base_url":"http://h","model":"m","timeout":"2h"}}`, []string{`llm.timeout "2h" is not a duration from "1ms" to "1h"`}},
		"a bare timeout":        {true, `{"llm":{"provider":"openai","base_url":"http://h","model":"m","timeout":60}}`, []string{`llm.timeout is a number, not a duration such as "60s"`}},
		"prices":                {true, `{"llm":{"provider":"openai","base_url":"http://h","model":"m","price":{"in":-1,"out":"x"}}}`, []string{"llm.price.in is negative: it is US dollars per million tokens", "llm.price.out is text, not a number"}},
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			if test.judge {
				_, err = plugin(t).Evaluator(t.Context(), json.RawMessage(test.config))
			} else {
				_, err = plugin(t).Corrector(t.Context(), json.RawMessage(test.config))
			}
			e := sdkError(t, err)
			if e.Code != sdk.Invalid || e.Reason != "config_invalid" {
				t.Errorf("error %s %s", e.Code, e.Reason)
			}
			if diff := cmp.Diff(test.want, e.Details["problems"]); diff != "" {
				t.Error(diff)
			}
			if strings.Contains(everything(e), "s3cret") {
				t.Errorf("a secret is shown: %s", e.Message)
			}
		})
	}
}

func TestMissingEndpointShowsWhatToWrite(t *testing.T) {
	for _, config := range []string{`{"prompt":"p"}`, `{"prompt":"p","llm":{"provider":"ollama","base_url":"http://h"}}`, `{"prompt":"p","llm":{"provider":"ollama","model":"m"}}`} {
		_, err := plugin(t).Generator(t.Context(), json.RawMessage(config))
		if e := sdkError(t, err); !strings.Contains(e.Hint, `settings: {llm: {provider: ollama, base_url: "http://127.0.0.1:11434", model: "llama3.2"}}`) {
			t.Errorf("%s: hint %q", config, e.Hint)
		}
	}
}

func TestKeyIsCheckedWhenPrepared(t *testing.T) {
	for name, test := range map[string]struct{ variable, says string }{
		"not set":         {"NOT_SET", "NOT_SET is not set"},
		"with spaces":     {"SPACED", "SPACED holds no key"},
		"a key as a name": {"gsk_s3cret", "not shown"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := plugin(t).Evaluator(t.Context(), mustJSON(object{"llm": object{"provider": "openai", "base_url": "http://h/v1", "model": "m", "api_key_env": test.variable}}))
			e := sdkError(t, err)
			if e.Code != sdk.Invalid || e.Reason != "llm_key_missing" || !strings.Contains(e.Message, test.says) || e.Hint == "" || strings.Contains(everything(e), "s3cret") {
				t.Errorf("error %s: %s (%s)", e.Reason, e.Message, e.Hint)
			}
		})
	}
	newJudge(t, mustJSON(object{"llm": object{"provider": "openai", "base_url": "http://h/v1", "model": "m", "api_key_env": "PADDED"}}))
}

func TestNullCountsAsAbsent(t *testing.T) {
	newJudge(t, json.RawMessage(`{"prompt":null,"context":null,"examples":null,"temperature":null,"model":null,"llm":{"provider":"ollama","base_url":"http://h","model":"m","api_key_env":null,"price":null}}`))
}

func TestManifest(t *testing.T) {
	p := plugin(t)
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	m := p.Describe()
	if diff := cmp.Diff([]sdk.Kind{sdk.KindCorrector, sdk.KindEvaluator, sdk.KindGenerator}, m.Kinds); diff != "" {
		t.Error(diff)
	}
	var schema struct{ Properties map[string]any }
	if err := json.Unmarshal(m.ConfigSchema, &schema); err != nil {
		t.Fatal(err)
	}
	// The schema lists the keys that the two decoders know, which they name.
	known := map[string]bool{}
	for _, prepare := range []func(json.RawMessage) error{
		func(c json.RawMessage) error { _, err := p.Evaluator(t.Context(), c); return err },
		func(c json.RawMessage) error { _, err := p.Generator(t.Context(), c); return err },
	} {
		problems := sdkError(t, prepare(json.RawMessage(`{"zzzzzz":1}`))).Details["problems"].([]string)
		_, list, _ := strings.Cut(problems[len(problems)-1], "known are ")
		for key := range strings.SplitSeq(list, ", ") {
			known[key] = true
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(known)), slices.Sorted(maps.Keys(schema.Properties))); diff != "" {
		t.Error(diff)
	}
}
