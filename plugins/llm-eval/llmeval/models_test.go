package llmeval_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/plugins/llm-eval/llmtest"
	"github.com/reflectory/reflectory/sdk"
)

// perModel is an endpoint that answers for each model as a test says.
func perModel(t *testing.T, replies map[string]llmtest.Reply) *llmtest.Server {
	t.Helper()
	server := llmtest.StartFunc(func(r *llmtest.Request) llmtest.Reply { return replies[r.Model] })
	t.Cleanup(server.Close)
	return server
}

// A model that isn't served is followed by the next, once, and the attempt shows it. What
// another model would refuse too isn't asked of it.
func TestModels_AreTriedInOrder(t *testing.T) {
	soon := func(status int) llmtest.Reply { return llmtest.Status(status).RetryAfter("200") } // longer than a call lasts
	quota := llmtest.Body(429, "application/json", `{"error":{"code":"insufficient_quota","message":"no"}}`)
	for name, test := range map[string]struct {
		a      llmtest.Reply
		failed string // in the metadata, if b answers
		reason string // of the error, if b isn't asked
	}{
		"busy":             {a: soon(503), failed: "a: llm_unavailable"},
		"overloaded":       {a: soon(529), failed: "a: llm_unavailable"},
		"a rate limit":     {a: soon(429), failed: "a: llm_unavailable"},
		"no quota":         {a: quota, failed: "a: llm_quota"},
		"no credit":        {a: llmtest.Status(402), failed: "a: llm_quota"},
		"a giant reply":    {a: llmtest.Text(strings.Repeat("x", 9<<20)), failed: "a: llm_reply_too_large"},
		"a key":            {a: llmtest.Status(401), reason: "llm_key_rejected"},
		"no model":         {a: llmtest.Status(404), reason: "llm_model_not_found"},
		"a refused prompt": {a: llmtest.Status(413), reason: "llm_request_refused"},
		"a refusal":        {a: llmtest.Reply{Text: "No.", Finish: "content_filter"}, reason: "llm_refused"},
		"a cut":            {a: llmtest.Text("x").FinishedBy("length"), reason: "llm_reply_cut"},
		"nothing":          {a: llmtest.Text(""), reason: "llm_reply_empty"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, path := range llmtest.Paths() {
				server := perModel(t, map[string]llmtest.Reply{"a": test.a, "b": llmtest.Text("from b"), "c": llmtest.Text("from c")})
				config := configIn(path, server.URL, object{"prompt": "p", "llm": object{"models": []string{"a", "b", "c"}}})
				res, err := newGenerator(t, config).Generate(t.Context(), &sdk.GenerateRequest{Call: sdk.Call{IdempotencyKey: "k"}})
				if test.reason != "" {
					if sdk.ReasonOf(err) != test.reason || len(server.Requests()) != 1 {
						t.Errorf("%s: %+v, %v after %d requests", path, res, err, len(server.Requests()))
					}
					continue
				}
				if err != nil || string(res.Output) != `"from b"` || res.Metadata["models_failed"] != test.failed || res.Metadata["model"] != "b" {
					t.Fatalf("%s: %+v, %v", path, res, err)
				}
				keys := []string{}
				for _, r := range server.Requests() {
					keys = append(keys, r.Header.Get("Idempotency-Key"))
				}
				if !slices.Equal(keys, []string{"k", "k:b"}) {
					t.Errorf("%s: requests with the keys %q", path, keys)
				}
			}
		})
	}
}

func TestModels_NoneIsServed(t *testing.T) {
	quota := llmtest.Status(http.StatusPaymentRequired)
	busy := llmtest.Status(503).RetryAfter("200")
	for name, test := range map[string]struct {
		a, b   llmtest.Reply
		reason string
	}{
		"both busy":             {busy, busy, "llm_unavailable"},
		"the first comes back":  {busy, quota, "llm_unavailable"},
		"the second comes back": {quota, busy, "llm_unavailable"},
		"neither":               {quota, quota, "llm_quota"},
	} {
		server := perModel(t, map[string]llmtest.Reply{"a": test.a, "b": test.b})
		e := ask(t, configIn(llmtest.PathChat, server.URL, object{"prompt": "p", "llm": object{"models": []string{"a", "b"}}}))
		if failed, _ := e.Details["models_failed"].([]string); e.Reason != test.reason || len(failed) != 2 || len(server.Requests()) != 2 {
			t.Errorf("%s: %s, %v after %d requests", name, e.Reason, e.Details, len(server.Requests()))
		}
	}
}

func TestModels_WhichOnesAreAsked(t *testing.T) {
	for name, test := range map[string]struct {
		config object
		want   string
	}{
		"one":                     {object{}, "test-model"},
		"several override it":     {object{"llm": object{"models": []string{"a", "b"}}}, "a"},
		"an empty list":           {object{"llm": object{"models": []string{}}}, "test-model"},
		"the call's own":          {object{"model": "own", "llm": object{"models": []string{"a", "b"}}}, "own"},
		"the call's own over one": {object{"model": "own"}, "own"},
	} {
		server := llmtest.New(t, llmtest.Text("ok"))
		test.config["prompt"] = "p"
		generate(t, configIn(llmtest.PathChat, server.URL, test.config))
		if got := server.Requests()[0].Model; got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

func TestConfig_OfProtocolsIsChecked(t *testing.T) {
	for name, test := range map[string]struct {
		path string
		llm  object
		says string
	}{
		"an api":                 {llmtest.PathChat, object{"api": "assistants"}, `api "assistants" is not one of chat, responses`},
		"another provider's api": {llmtest.PathMessages, object{"api": "responses"}, "api is only for provider openai"},
		"an effort":              {llmtest.PathChat, object{"reasoning_effort": "hard"}, `reasoning_effort "hard" is not one of`},
		"a context elsewhere":    {llmtest.PathChat, object{"max_context": 8000}, "max_context is only for Ollama's own protocol"},
		"a tiny context":         {llmtest.PathOllama, object{"max_context": 1}, "max_context is not from 512"},
		"a huge context":         {llmtest.PathOllama, object{"max_context": 1 << 40}, "max_context is not from 512"},
		"an empty model":         {llmtest.PathChat, object{"models": []string{"a", ""}}, "models has an empty name"},
		"many models":            {llmtest.PathChat, object{"models": make([]string, 9)}, "models has 9 models (limit 8)"},
		"a number of models":     {llmtest.PathChat, object{"models": 5}, "llm.models"},
		"an unknown refusal":     {llmtest.PathChat, object{"dialect": object{"refuses": []string{"model"}}}, `refuses has "model"`},
		"another key":            {llmtest.PathChat, object{"dialect": object{"sends": []string{}}}, "sends"},
		"the limit of messages":  {llmtest.PathMessages, object{"dialect": object{"refuses": []string{"max_tokens"}}}, `refuses has "max_tokens"`},
		"the input":              {llmtest.PathResponses, object{"extra_body": object{"input": "x"}}, "extra_body.input"},
	} {
		_, err := plugin(t).Generator(t.Context(), configIn(test.path, "http://h", object{"prompt": "p", "llm": test.llm}))
		if e := sdkError(t, err); !strings.Contains(e.Message, test.says) {
			t.Errorf("%s: %s", name, e.Message)
		}
	}
}

// A refusal that the config names isn't paid for, and one that it doesn't is learned, in every
// protocol.
func TestDialect_OfEveryProtocol(t *testing.T) {
	for name, test := range map[string]struct {
		path, field, says string // says is the endpoint's refusal of the field
		refuses           string
	}{
		"chat, effort":          {llmtest.PathChat, "reasoning_effort", `{"error":{"message":"Unsupported parameter: 'reasoning_effort' is not supported with this model.","param":"reasoning_effort"}}`, "reasoning_effort"},
		"responses, effort":     {llmtest.PathResponses, "reasoning", `{"error":{"message":"Unsupported parameter: 'reasoning.effort' is not supported with this model.","param":"reasoning.effort"}}`, "reasoning_effort"},
		"responses, format":     {llmtest.PathResponses, "text", `{"error":{"message":"Invalid parameter: 'text.format' of type 'json_schema' is not supported with this model.","param":"text.format"}}`, "response_format"},
		"responses, sampling":   {llmtest.PathResponses, "temperature", `{"error":{"message":"Unsupported parameter: 'temperature' is not supported with this model.","param":"temperature"}}`, "temperature"},
		"messages, temperature": {llmtest.PathMessages, "temperature", `{"type":"error","error":{"type":"invalid_request_error","message":"temperature and top_p cannot both be specified for this model"}}`, "temperature"},
		"messages, format":      {llmtest.PathMessages, "format", `{"type":"error","error":{"type":"invalid_request_error","message":"output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false"}}`, "response_format"},
		"messages, effort":      {llmtest.PathMessages, "effort", `{"type":"error","error":{"type":"invalid_request_error","message":"This model does not support the effort parameter."}}`, "reasoning_effort"},
		"messages, stop":        {llmtest.PathMessages, "stop_sequences", `{"type":"error","error":{"type":"invalid_request_error","message":"stop_sequences: Extra inputs are not permitted"}}`, "stop"},
		"ollama, effort":        {llmtest.PathOllama, "think", `{"error":"\"test-model\" does not support thinking"}`, "reasoning_effort"},
		"ollama, format":        {llmtest.PathOllama, "format", `{"error":"invalid JSON schema in format"}`, "response_format"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, known := range []bool{false, true} {
				server := llmtest.StartFunc(func(r *llmtest.Request) llmtest.Reply {
					if strings.Contains(string(r.Body), `"`+test.field+`":`) {
						return llmtest.Body(400, "application/json", test.says)
					}
					return llmtest.Text("{}")
				})
				t.Cleanup(server.Close)
				llm, wanted := object{"reasoning_effort": "low"}, 3
				if strings.Contains(test.says, "schema'") || strings.Contains(test.says, "JSON schema") {
					wanted = 4 // JSON mode comes in between
				}
				if known {
					llm["dialect"], wanted = object{"refuses": []string{test.refuses}}, 2
				}
				config := object{"llm": llm}
				for key, value := range everySetting {
					config[key] = value
				}
				p := plugin(t)
				for range 2 {
					if _, err := prepare(t, p.Generator, configIn(test.path, server.URL, config)).Generate(t.Context(), &sdk.GenerateRequest{}); err != nil {
						t.Fatalf("known %t: %v", known, err)
					}
				}
				if n := len(server.Requests()); n != wanted {
					t.Errorf("known %t: %d requests for two replies, want %d", known, n, wanted)
				}
			}
		})
	}
}
