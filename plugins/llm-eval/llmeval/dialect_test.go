package llmeval_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/plugins/llm-eval/llmtest"
	"github.com/reflectory/reflectory/sdk"
)

// refusing is an endpoint that refuses requests with certain fields, as it says, and
// otherwise answers.
func refusing(t *testing.T, status int, body, reply string, refused ...string) *llmtest.Server {
	t.Helper()
	server := llmtest.StartFunc(func(r *llmtest.Request) llmtest.Reply {
		var sent map[string]json.RawMessage
		if err := json.Unmarshal(r.Body, &sent); err != nil {
			t.Error(err)
		}
		for _, field := range refused {
			if sent[field] != nil {
				return llmtest.Body(status, "application/json", body)
			}
		}
		return llmtest.Text(reply)
	})
	t.Cleanup(server.Close)
	return server
}

// message is a refusal as most gateways write it, without the field that they mean.
func message(text string) string {
	return string(mustJSON(object{"error": object{"message": text, "type": "None", "param": nil, "code": "400"}}))
}

// What an endpoint refused once isn't sent to the model again, whether it names the field
// or its message does, and however that is written.
func TestDialect_IsLearnedFromMessages(t *testing.T) {
	sampling := object{"prompt": "p", "temperature": 0.5, "top_p": 0.5, "seed": 7, "stop": []string{"END"}, "max_tokens": 100}
	for name, test := range map[string]struct {
		status  int
		body    string
		refused []string
	}{
		"temperature, LiteLLM": {400, message("litellm.BadRequestError: Unsupported value: 'temperature' does not support 0.5 with this model."), []string{"temperature"}},
		"temperature, bare":    {400, message("temperature is not supported with this model"), []string{"temperature"}},
		"temperature, one value": {
			400, message("invalid temperature: only 1 is allowed for this model"),
			[]string{"temperature"},
		},
		"temperature, deprecated": {400, message("`temperature` is deprecated for this model."), []string{"temperature"}},
		"temperature, as text":    {400, `{"message":"Argument not supported: \"temperature\"","object":"error"}`, []string{"temperature"}},
		"top_p":                   {400, message("Unsupported parameter: 'top_p' is not supported with this model."), []string{"top_p"}},
		"top_p, as text":          {422, `{"detail":"top_p: extra fields not permitted"}`, []string{"top_p"}},
		"seed, LiteLLM":           {400, message("litellm.UnsupportedParamsError: bedrock does not support parameters: ['seed'], for model=m"), []string{"seed"}},
		"seed, FastAPI":           {422, `{"detail":[{"type":"extra_forbidden","loc":["body","seed"],"msg":"Extra inputs are not permitted","input":7}]}`, []string{"seed"}},
		"seed, by its field":      {400, `{"error":{"message":"unknown","param":"seed"}}`, []string{"seed"}},
		"stop":                    {400, message("Unsupported parameter: 'stop' is not supported with this model."), []string{"stop"}},
		"stop sequences":          {400, message("stop sequences are not supported by this model"), []string{"stop"}},
		"max_tokens":              {400, message("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."), []string{"max_tokens"}},
		"both limits of tokens":   {400, message("Unsupported parameter: max_tokens or max_completion_tokens"), []string{"max_tokens", "max_completion_tokens"}},
		"two of them":             {400, message("`temperature` and `top_p` cannot both be specified for this model. Please use only one."), []string{"temperature"}},
		"status 200":              {200, message("'seed' is not supported"), []string{"seed"}},
		"not implemented":         {501, message("parameter seed is not implemented"), []string{"seed"}},
		"all at once":             {400, message("extra_forbidden: temperature, top_p, max_tokens, max_completion_tokens, 'stop', 'seed'"), []string{"temperature", "top_p", "seed", "stop", "max_tokens", "max_completion_tokens"}},
	} {
		t.Run(name, func(t *testing.T) {
			server := refusing(t, test.status, test.body, "ok", test.refused...)
			p := plugin(t)
			var res *sdk.GenerateResponse
			for range 2 {
				var err error
				if res, err = prepare(t, p.Generator, configFor(server.URL, sampling)).Generate(t.Context(), &sdk.GenerateRequest{}); err != nil {
					t.Fatal(err)
				}
			}
			all := server.Requests()
			var last map[string]any
			_ = json.Unmarshal(all[len(all)-1].Body, &last)
			for _, field := range []string{"temperature", "top_p", "seed", "stop"} {
				if gone := slices.Contains(test.refused, field); gone != (last[field] == nil) {
					t.Errorf("%s: dropped %t, sent %s", field, last[field] == nil, all[len(all)-1].Body)
				} else if gone != strings.Contains(res.Metadata["not_sent"], field) {
					t.Errorf("metadata %v", res.Metadata)
				}
			}
			if limited := last["max_tokens"] != nil || last["max_completion_tokens"] != nil; limited == (len(test.refused) > 1) {
				t.Errorf("limit of tokens: sent %s", all[len(all)-1].Body)
			}
			if first := len(all) - 1; len(test.refused) == 1 && first != 2 {
				t.Errorf("%d requests for two replies", len(all))
			}
		})
	}
}

// A value that the endpoint would take if it were another is the config's mistake.
func TestDialect_AWrongValueIsReported(t *testing.T) {
	for name, test := range map[string]struct {
		config object
		says   string
	}{
		"temperature out of range": {object{"temperature": 1.5}, "temperature must be between 0 and 1"},
		"too many tokens":          {object{"max_tokens": 100000}, "max_tokens is too large: 100000. This model supports at most 4096 completion tokens"},
		"context too long":         {object{"max_tokens": 9000}, "'max_tokens' or 'max_completion_tokens' is too large: 9000. This model's maximum context length is 8192 tokens"},
		"top_p out of range":       {object{"top_p": 0.0}, "top_p should be greater than 0"},
		"another field":            {object{"seed": 7}, "messages is too long"},
		"an upstream error":        {object{"seed": 7}, "the upstream refuses, seedlings stopped"},
	} {
		t.Run(name, func(t *testing.T) {
			test.config["prompt"] = "p"
			server := llmtest.New(t, llmtest.Body(400, "application/json", message(test.says)))
			e := ask(t, configFor(server.URL, test.config))
			if e.Reason != "llm_request_refused" || !strings.Contains(e.Message, test.says[:min(len(test.says), 50)]) {
				t.Errorf("error %s: %s", e.Reason, e.Message)
			}
		})
	}
}

// A judge's own temperature and form are given up however their refusal is written.
func TestDialect_OfAJudge(t *testing.T) {
	for name, test := range map[string]struct {
		status int
		body   string
		field  string
	}{
		"temperature, LiteLLM":   {400, message("litellm.BadRequestError: Unsupported value: 'temperature' does not support 0 with this model."), "temperature"},
		"temperature, range":     {400, message("temperature must be greater than 0"), "temperature"},
		"no endpoints":           {404, message("No endpoints found that support response_format"), "response_format"},
		"no endpoints, words":    {404, message("No endpoints found that support structured outputs. To learn more about provider routing, visit the docs"), "response_format"},
		"no providers":           {404, message("No endpoints found that can handle the requested parameters."), "response_format"},
		"no endpoints, wrapped":  {404, message("litellm.NotFoundError: OpenrouterException - No endpoints found that support response_format"), "response_format"},
		"no endpoints, in a 200": {200, `{"error":{"code":404,"message":"No endpoints found that support json_schema"}}`, "response_format"},
		"JSON schema":            {400, message("This model does not support json schema"), "response_format"},
		"JSON mode":              {400, message("`json_object` mode is not supported; structured outputs are unavailable"), "response_format"},
		"unavailable type":       {400, message("This response_format type is unavailable now"), "response_format"},
		"FastAPI":                {422, `{"detail":[{"type":"extra_forbidden","loc":["body","response_format"],"msg":"Extra inputs are not permitted"}]}`, "response_format"},
		"nothing said":           {400, `{}`, "response_format"},
	} {
		t.Run(name, func(t *testing.T) {
			server := refusing(t, test.status, test.body, `{"pass": true, "score": 0.9}`, test.field)
			p := plugin(t)
			for range 2 {
				if v := evaluate(t, prepare(t, p.Evaluator, configFor(server.URL, nil)), `1`).Verdict; !v.Valid {
					t.Error("no pass")
				}
			}
			all, wanted := server.Requests(), 3
			if strings.Contains(test.body, "schema") || strings.Contains(test.body, " type is") {
				wanted = 4 // JSON mode comes in between
			}
			if last := string(all[len(all)-1].Body); len(all) != wanted || strings.Contains(last, `"`+test.field+`"`) {
				t.Errorf("%d requests, the last %s", len(all), last)
			}
		})
	}
}

// A 404 is about the model only where it isn't about what was asked of it.
func TestFault_NoEndpointsIsNoMissingModel(t *testing.T) {
	for says, reason := range map[string]string{
		"No endpoints found that support tool use.":                           "llm_request_refused",
		"No endpoints found matching your data policy (Paid model training).": "llm_request_refused",
		"No allowed providers are available for the selected model.":          "llm_request_refused",
		"No endpoints found that support image input":                         "llm_request_refused",
		"No endpoints found that support response_format":                     "llm_request_refused",
		"No endpoints found for vendor/model:free.":                           "llm_model_not_found",
		"The model `gpt-9` does not exist or you do not have access to it.":   "llm_model_not_found",
		"There is no deployment of the model that is available":               "llm_model_not_found",
		"model 'llama9' not found":                                            "llm_model_not_found",
		"":                                                                    "llm_model_not_found",
	} {
		server := llmtest.New(t, llmtest.Body(404, "application/json", message(says)))
		e := ask(t, configFor(server.URL, object{"prompt": "p"}))
		if e.Reason != reason || !strings.Contains(e.Message, says) {
			t.Errorf("%q: error %s: %s", says, e.Reason, e.Message)
		}
	}
}

// A model without system messages gets what they say from the user, and one without schemas a JSON
// mode, however it is written.
func TestDialect_OfMessagesAndForms(t *testing.T) {
	for name, test := range map[string]struct {
		body, refused string // a part of the request that is refused
		dialect       string
	}{
		"Gemma's template":      {message("System role not supported"), `"role":"system"`, "system"},
		"Mistral's template":    {message("Only user and assistant roles are supported!"), `"role":"system"`, "system"},
		"another template":      {message("Conversation roles must alternate user/assistant/user/assistant/..."), `"role":"system"`, "system"},
		"a value":               {message("Unsupported value: 'messages[0].role' does not support 'system' with this model."), `"role":"system"`, "system"},
		"a value, by its place": {`{"error":{"message":"Unsupported value","param":"messages[0].role","code":"unsupported_value"}}`, `"role":"system"`, "system"},
		"a developer's":         {message("Developer instruction is not enabled for models/gemma-3"), `"role":"system"`, "system"},
		"a message":             {message("this model doesn't take system messages"), `"role":"system"`, "system"},
		"a prompt":              {`{"detail":"system_prompt: extra fields not permitted"}`, `"role":"system"`, "system"},
		"in a 200":              {`{"error":{"code":400,"message":"System prompts are not supported"}}`, `"role":"system"`, "system"},
		"a type":                {message("This response_format type is unavailable now"), `"json_schema"`, "json_schema"},
		"a named type":          {message("response_format.type: 'json_schema' is not one of ['text', 'json_object']"), `"json_schema"`, "json_schema"},
		"a schema":              {message("JSON schema isn't supported for this model"), `"json_schema"`, "json_schema"},
		"guided decoding":       {message("guided_json needs a backend"), `"json_schema"`, "json_schema"},
		"schemas and JSON mode": {message("json_schema and json_object: not supported"), `"response_format"`, "response_format"},
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.StartFunc(func(r *llmtest.Request) llmtest.Reply {
				if strings.Contains(string(r.Body), test.refused) {
					return llmtest.Body(400, "application/json", test.body)
				}
				return llmtest.Text(`{"a": 1}`)
			})
			t.Cleanup(server.Close)
			schema := object{"type": "object", "required": []string{"a"}}
			res := generate(t, configFor(server.URL, object{"system": "Be brief.", "prompt": "Hello.", "response_schema": schema}))
			all := server.Requests()
			last := string(all[len(all)-1].Body)
			if res.Metadata["refuses"] != test.dialect || strings.Count(last, "Be brief.") != 1 || strings.Contains(last, "must fit this JSON Schema") != (test.dialect != "system") {
				t.Errorf("learned %q, sent %s", res.Metadata["refuses"], last)
			}
			known := object{"llm": object{"dialect": object{"refuses": []string{test.dialect}}}, "system": "Be brief.", "prompt": "Hello.", "response_schema": schema}
			before := len(server.Requests())
			if generate(t, configIn(llmtest.PathChat, server.URL, known)); len(server.Requests()) != before+1 {
				t.Error("what is known was sent")
			}
		})
	}
}

// What is written about a model holds in every protocol that has it.
func TestDialect_WrittenHoldsInEachProtocol(t *testing.T) {
	inEach(t, func(t *testing.T, path string) {
		for _, field := range []string{"system", "json_schema", "response_format"} {
			server := llmtest.New(t, llmtest.Text(`{"a": 1}`))
			config := object{"llm": object{"dialect": object{"refuses": []string{field}}}, "system": "Be brief.", "prompt": "Hello.", "response_schema": object{"type": "object"}}
			generate(t, configIn(path, server.URL, config))
			r := server.Requests()[0]
			body := string(r.Body)
			if system := r.System() != ""; system != (field != "system") || !strings.Contains(body, "Be brief.") {
				t.Errorf("without %s: %s", field, body)
			}
			mode := path != llmtest.PathMessages && field == "json_schema"
			if words := strings.Contains(body, "must fit this JSON Schema"); words != (field != "system") || (len(r.ResponseFormat) > 0) != (field == "system" || mode) {
				t.Errorf("without %s: %s", field, body)
			}
		}
	})
}
