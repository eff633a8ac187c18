package llmeval_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"testing"

	"go.uber.org/goleak"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/plugins/llm-eval/llmeval"
	"github.com/reflectory/reflectory/plugins/llm-eval/llmtest"
	"github.com/reflectory/reflectory/sdk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(coretest.WithPlain(m)) }

// testKey is the value of TEST_KEY in the environment of these tests.
const testKey = "sk-test+0123/456789=abcdef"

func getenv(name string) string {
	return map[string]string{"TEST_KEY": testKey, "SPACED": "a key", "PADDED": " " + testKey + "\n"}[name]
}

// object is a config, or a part of one.
type object = map[string]any

// configFor is a config with an endpoint's URL and additional keys.
func configFor(url string, more object) json.RawMessage {
	config := object{"llm": object{"provider": "openai", "base_url": url + "/v1", "model": "test-model", "api_key_env": "TEST_KEY"}}
	maps.Copy(config, more)
	return mustJSON(config)
}

// protocols are the keys of llm that choose each protocol, by the path of its calls.
var protocols = map[string]object{
	llmtest.PathChat:      {"provider": "openai", "base_url": "/v1"},
	llmtest.PathResponses: {"provider": "openai", "base_url": "/v1", "api": "responses"},
	llmtest.PathMessages:  {"provider": "anthropic", "base_url": ""},
	llmtest.PathOllama:    {"provider": "ollama", "base_url": ""},
}

// configIn is a config for the protocol of a path. What more has under llm is added to the
// endpoint's keys.
func configIn(path, url string, more object) json.RawMessage {
	llm := object{"model": "test-model", "api_key_env": "TEST_KEY"}
	maps.Copy(llm, protocols[path])
	llm["base_url"] = url + llm["base_url"].(string)
	config := maps.Clone(more)
	if config == nil {
		config = object{}
	}
	if own, ok := config["llm"].(object); ok {
		maps.Copy(llm, own)
	}
	config["llm"] = llm
	return mustJSON(config)
}

// inEach runs a test for each protocol, by its path.
func inEach(t *testing.T, test func(t *testing.T, path string)) {
	t.Helper()
	for _, path := range llmtest.Paths() {
		t.Run(path, func(t *testing.T) { test(t, path) })
	}
}

func mustJSON(value any) json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}

// plugin is the plugin under test, with its own connections.
func plugin(t *testing.T) sdk.Plugin {
	t.Helper()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	return llmeval.Plugin(llmeval.Options{Getenv: getenv, Transport: transport})
}

func newJudge(t *testing.T, config json.RawMessage) sdk.Evaluator {
	t.Helper()
	return prepare(t, plugin(t).Evaluator, config)
}

func newGenerator(t *testing.T, config json.RawMessage) sdk.Generator {
	t.Helper()
	return prepare(t, plugin(t).Generator, config)
}

func prepare[T any](t *testing.T, with func(context.Context, json.RawMessage) (T, error), config json.RawMessage) T {
	t.Helper()
	prepared, err := with(t.Context(), config)
	if err != nil {
		t.Fatalf("prepare: %v", err)
	}
	return prepared
}

func evaluate(t *testing.T, judge sdk.Evaluator, output string) *sdk.EvaluateResponse {
	t.Helper()
	res, err := judge.Evaluate(t.Context(), &sdk.EvaluateRequest{Output: json.RawMessage(output)})
	if err != nil {
		t.Fatalf("evaluate: %v", err)
	}
	return res
}

// sdkError is an error as callers see it.
func sdkError(t *testing.T, err error) *sdk.Error {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	return sdk.AsError(err)
}

func generate(t *testing.T, config json.RawMessage) *sdk.GenerateResponse {
	t.Helper()
	res, err := newGenerator(t, config).Generate(t.Context(), &sdk.GenerateRequest{})
	if err != nil {
		t.Fatalf("generate: %v", err)
	}
	return res
}
