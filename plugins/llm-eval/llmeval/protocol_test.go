package llmeval_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/plugins/llm-eval/llmeval"
	"github.com/reflectory/reflectory/plugins/llm-eval/llmtest"
	"github.com/reflectory/reflectory/sdk"
)

// everySetting is a call with all that a config can ask for.
var everySetting = object{
	"messages": []object{
		{"role": "system", "content": "s1"}, {"role": "user", "content": "u1"}, {"role": "user", "content": "u2"},
		{"role": "assistant", "content": "a1"}, {"role": "system", "content": "s2"}, {"role": "user", "content": "u3"},
	},
	"temperature": 0.5, "top_p": 0.9, "seed": 7, "stop": "END", "max_tokens": 50,
	"response_schema": object{"type": "object", "additionalProperties": false},
}

// What is sent is exactly what the protocols' descriptions name so.
func TestProtocol_Requests(t *testing.T) {
	const form = `{"type":"object","additionalProperties":false}`
	turns := `[{"role":"system","content":"s1"},{"role":"user","content":"u1"},{"role":"user","content":"u2"},{"role":"assistant","content":"a1"},{"role":"system","content":"s2"},{"role":"user","content":"u3"}]`
	for path, want := range map[string]string{
		llmtest.PathChat: `{"model":"test-model","messages":` + turns + `,"temperature":0.5,"max_tokens":50,"top_p":0.9,"seed":7,"stop":["END"],"reasoning_effort":"low","response_format":{"type":"json_schema","json_schema":{"name":"reply","strict":false,"schema":` + form + `}}}`,
		llmtest.PathResponses: `{"model":"test-model","instructions":"s1\n\ns2","input":[{"role":"user","content":"u1"},{"role":"user","content":"u2"},{"role":"assistant","content":"a1"},{"role":"user","content":"u3"}],` +
			`"temperature":0.5,"top_p":0.9,"max_output_tokens":50,"text":{"format":{"type":"json_schema","name":"reply","strict":false,"schema":` + form + `}},"reasoning":{"effort":"low"},"store":false}`,
		llmtest.PathMessages: `{"model":"test-model","max_tokens":50,"system":"s1\n\ns2","messages":[{"role":"user","content":"u1\n\nu2"},{"role":"assistant","content":"a1"},{"role":"user","content":"u3"}],` +
			`"temperature":0.5,"top_p":0.9,"stop_sequences":["END"],"output_config":{"effort":"low","format":{"type":"json_schema","schema":` + form + `}}}`,
		llmtest.PathOllama: `{"model":"test-model","messages":` + turns + `,"format":` + form + `,"think":"low","options":{"num_ctx":4096,"num_predict":50,"temperature":0.5,"top_p":0.9,"seed":7,"stop":["END"]},"stream":false,"truncate":false,"shift":false}`,
	} {
		server := llmtest.New(t, llmtest.Text("{}"))
		config := object{"llm": object{"reasoning_effort": "low"}}
		for key, value := range everySetting {
			config[key] = value
		}
		res := generate(t, configIn(path, server.URL, config))
		r := server.Requests()[0]
		var got, wanted any
		if json.Unmarshal(r.Body, &got) != nil || json.Unmarshal([]byte(want), &wanted) != nil || string(mustJSON(got)) != string(mustJSON(wanted)) || r.Path != path {
			t.Errorf("%s: sent to %s\n%s\nwant\n%s", path, r.Path, r.Body, want)
		}
		key, other := "Authorization", "X-Api-Key"
		value := "Bearer " + testKey
		if path == llmtest.PathMessages {
			key, other, value = other, key, testKey
		}
		if r.Header.Get(key) != value || r.Header.Get(other) != "" {
			t.Errorf("%s: headers %v", path, r.Header)
		}
		if notSent := map[string]string{llmtest.PathMessages: "seed", llmtest.PathResponses: "seed, stop"}[path]; res.Metadata["not_sent"] != notSent {
			t.Errorf("%s: metadata %v", path, res.Metadata)
		}
		if prompt := sentPrompt(t, res.Metadata); len(prompt) != 6 {
			t.Errorf("%s: recorded %v", path, prompt)
		}
	}
}

func sentPrompt(t *testing.T, metadata map[string]string) (messages []sdk.PromptMessage) {
	t.Helper()
	if err := json.Unmarshal([]byte(metadata[sdk.MetadataPrompt]), &messages); err != nil {
		t.Fatal(err)
	}
	return messages
}

// A request is as its protocol wants it in every dialect, streamed or not; the server checks it.
func TestProtocol_RequestsInEveryDialect(t *testing.T) {
	fields := []string{"response_format", "temperature", "top_p", "seed", "stop", "reasoning_effort", "stream", "whole_replies"}
	inEach(t, func(t *testing.T, path string) {
		server := llmtest.New(t, llmtest.Text("{}").Always())
		p := plugin(t)
		for dialect := range 1 << len(fields) {
			refuses := []string{}
			for i, field := range fields {
				if dialect>>i&1 == 1 {
					refuses = append(refuses, field)
				}
			}
			effort := []string{"none", "minimal", "low", "max"}[dialect%4]
			config := object{"llm": object{"reasoning_effort": effort, "dialect": object{"refuses": refuses}, "model": fmt.Sprint("m", dialect)}}
			for key, value := range everySetting {
				config[key] = value
			}
			request := &sdk.GenerateRequest{Emit: func(string) {}}
			if _, err := prepare(t, p.Generator, configIn(path, server.URL, config)).Generate(t.Context(), request); err != nil {
				t.Fatalf("%q: %v", refuses, err)
			}
			all := server.Requests()
			last := all[len(all)-1]
			if len(all) != dialect+1 || (last.Temperature == nil) != (dialect>>1&1 == 1) || (last.ResponseFormat == nil) != (dialect&1 == 1) || last.MaxTokens == nil || last.Stream != (dialect>>6&1 == 0 || dialect>>7 == 1) {
				t.Errorf("%q: %d requests, the last %s", refuses, len(all), last.Body)
			}
		}
	})
}

// speak is a plugin whose endpoint's bodies a test makes.
func speak(t *testing.T, path string, emit func(string), script ...exchange) (string, int, error) {
	t.Helper()
	tr := &transport{script: script}
	g := prepare(t, llmeval.Plugin(llmeval.Options{Getenv: getenv, Transport: tr}).Generator, configIn(path, "http://llm.test", object{"prompt": "p"}))
	res, err := g.Generate(t.Context(), &sdk.GenerateRequest{Emit: emit})
	if err != nil {
		return "", len(tr.times), err
	}
	return string(res.Output), len(tr.times), nil
}

// sends answers with a body that is read as the reader gives it.
func sends(contentType string, body io.Reader) exchange {
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {contentType}}, Body: io.NopCloser(body)}, nil
	}
}

// A reply is read in whatever packets it arrives, whole or as a stream.
func TestProtocol_SplitAtEveryByte(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	reply := llmtest.Reply{Text: "Grüße, 世界", Thought: "hm"}
	inEach(t, func(t *testing.T, path string) {
		for _, stream := range []bool{false, true} {
			kind, body := reply.Written(path, "m", stream)
			for at := range len(body) {
				readers := io.MultiReader(strings.NewReader(body[:at]), strings.NewReader(body[at:]))
				if at == 0 {
					readers = iotest.OneByteReader(strings.NewReader(body))
				}
				var shown string
				got, tries, err := speak(t, path, func(piece string) { shown += piece }, sends(kind, readers))
				if err != nil || got != `"Grüße, 世界"` || tries != 1 || shown != "Grüße, 世界" {
					t.Fatalf("stream %t, split at %d: %s, shown %q, %d tries, %v", stream, at, got, shown, tries, err)
				}
			}
		}
	})
}

// A reply that ends anywhere before its end is the whole answer or nothing, and is asked for
// again: no part of one is an output.
func TestProtocol_CutAtEveryByte(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	reply := llmtest.Reply{Text: "Hello world", Thought: "a draft"}
	for _, path := range llmtest.Paths()[1:] { // a stream of chat completions may end without a reason
		for _, stream := range []bool{false, true} {
			kind, body := reply.Written(path, "m", stream)
			for at := range len(body) {
				for name, end := range map[string]io.Reader{"ends": strings.NewReader(""), "breaks": iotest.ErrReader(errors.New("connection reset"))} {
					synctest.Test(t, func(t *testing.T) {
						got, tries, err := speak(t, path, nil, sends(kind, io.MultiReader(strings.NewReader(body[:at]), end)), answer(400, `{"error":{"message":"no more"}}`))
						if err == nil && (got != `"Hello world"` || tries != 1) || err != nil && tries != 2 {
							t.Fatalf("%s, stream %t, %s at %d (…%s): %s, %d tries, %v", path, stream, name, at, body[max(0, at-20):at], got, tries, err)
						}
					})
				}
			}
		}
	}
}

// What an endpoint says when it doesn't serve means the same in every protocol.
func TestProtocol_Faults(t *testing.T) {
	const anthropic = `{"type":"error","error":{"type":%q,"message":"died"}}`
	event := func(kind, data string) string { return "event: " + kind + "\ndata: " + data + "\n\n" }
	start := event("message_start", `{"type":"message_start","message":{"model":"m","usage":{"input_tokens":5}}}`)
	piece := event("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hel"}}`)
	line := `{"model":"m","message":{"role":"assistant","content":"Hel"},"done":false}` + "\n"
	delta := event("response.output_text.delta", `{"type":"response.output_text.delta","delta":"Hel"}`)
	for name, test := range map[string]struct {
		path, body string
		status     int
		want       string // the reason of the error; "" is another try
	}{
		"overloaded":                     {llmtest.PathMessages, fmt.Sprintf(anthropic, "overloaded_error"), 529, ""},
		"overloaded in a stream":         {llmtest.PathMessages, start + piece + event("error", fmt.Sprintf(anthropic, "overloaded_error")), 200, ""},
		"overloaded in an unnamed event": {llmtest.PathMessages, start + piece + "data: " + fmt.Sprintf(anthropic, "overloaded_error") + "\n\n", 200, ""},
		"overloaded at 200":              {llmtest.PathMessages, fmt.Sprintf(anthropic, "overloaded_error"), 200, ""},
		"api_error in a stream":          {llmtest.PathMessages, start + event("error", fmt.Sprintf(anthropic, "api_error")), 200, ""},
		"refused in a stream":            {llmtest.PathMessages, start + event("error", fmt.Sprintf(anthropic, "invalid_request_error")), 200, "llm_request_refused"},
		"a key":                          {llmtest.PathMessages, fmt.Sprintf(anthropic, "authentication_error"), 401, "llm_key_rejected"},
		"a key in a stream":              {llmtest.PathMessages, event("error", fmt.Sprintf(anthropic, "permission_error")), 200, "llm_key_rejected"},
		"no model":                       {llmtest.PathMessages, fmt.Sprintf(anthropic, "not_found_error"), 404, "llm_model_not_found"},
		"too large":                      {llmtest.PathMessages, fmt.Sprintf(anthropic, "request_too_large"), 413, "llm_request_refused"},
		"credit":                         {llmtest.PathMessages, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}`, 400, "llm_quota"},
		"billing":                        {llmtest.PathMessages, fmt.Sprintf(anthropic, "billing_error"), 402, "llm_quota"},
		"a paused turn":                  {llmtest.PathMessages, start + piece + event("message_delta", `{"type":"message_delta","delta":{"stop_reason":"pause_turn"},"usage":{"output_tokens":1}}`), 200, "llm_reply_cut"},
		"a filled context":               {llmtest.PathMessages, `{"type":"message","content":[{"type":"text","text":"Hel"}],"stop_reason":"model_context_window_exceeded","usage":{"input_tokens":1,"output_tokens":1}}`, 200, "llm_reply_cut"},
		"a refusal":                      {llmtest.PathMessages, `{"type":"message","content":[],"stop_reason":"refusal","usage":{"input_tokens":1,"output_tokens":1}}`, 200, "llm_refused"},
		"thinking alone":                 {llmtest.PathMessages, `{"type":"message","content":[{"type":"thinking","thinking":"Hel"},{"type":"redacted_thinking","data":"x"}],"stop_reason":"end_turn"}`, 200, "llm_reply_empty"},
		"a tool":                         {llmtest.PathMessages, `{"type":"message","content":[{"type":"tool_use","id":"1","name":"f","input":{"text":"Hel"}}],"stop_reason":"tool_use"}`, 200, "llm_reply_empty"},
		"chat completions":               {llmtest.PathMessages, `{"choices":[{"message":{"content":"Hel"}}]}`, 200, "llm_reply_malformed"},
		"an error in a line":             {llmtest.PathOllama, line + `{"error":"an error was encountered while running the model"}` + "\n", 200, ""},
		"a status in a line":             {llmtest.PathOllama, line + `{"error":"overloaded","status":503}` + "\n", 200, ""},
		"a status in the first line":     {llmtest.PathOllama, `{"error":"unauthorized","status":401}` + "\n", 200, "llm_key_rejected"},
		"lines without done":             {llmtest.PathOllama, line + line, 200, ""},
		"nothing":                        {llmtest.PathOllama, "", 200, ""},
		"a pull":                         {llmtest.PathOllama, `{"error":"model \"m\" not found, try pulling it first"}`, 404, "llm_model_not_found"},
		"busy":                           {llmtest.PathOllama, `{"error":"server busy, please try again.  maximum pending requests exceeded"}`, 503, ""},
		"a long prompt":                  {llmtest.PathOllama, `{"error":"the input length exceeds the context length"}`, 400, "llm_request_refused"},
		"a page":                         {llmtest.PathOllama, "<html>a login page</html>", 200, "llm_reply_malformed"},
		"an answer of another":           {llmtest.PathOllama, `{"choices":[{"message":{"content":"Hel"}}]}`, 200, "llm_reply_malformed"},
		"a load":                         {llmtest.PathOllama, `{"message":{"role":"assistant","content":""},"done":true,"done_reason":"load"}`, 200, ""},
		"a limit":                        {llmtest.PathOllama, line + `{"message":{"content":""},"done":true,"done_reason":"length"}`, 200, "llm_reply_cut"},
		"failed":                         {llmtest.PathResponses, `{"object":"response","status":"failed","error":{"code":"server_error","message":"died"},"output":[]}`, 200, ""},
		"failed in a stream":             {llmtest.PathResponses, delta + event("response.failed", `{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"slow"},"output":[]}}`), 200, ""},
		"an error event":                 {llmtest.PathResponses, delta + event("error", `{"type":"error","code":"server_error","message":"died","param":null}`), 200, ""},
		"an unnamed error event":         {llmtest.PathResponses, delta + "data: " + `{"type":"error","code":"server_error","message":"died","param":null}` + "\n\n", 200, ""},
		"a refused prompt":               {llmtest.PathResponses, event("response.failed", `{"type":"response.failed","response":{"status":"failed","error":{"code":"invalid_prompt","message":"no"}}}`), 200, "llm_request_refused"},
		"incomplete":                     {llmtest.PathResponses, `{"object":"response","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"message","content":[{"type":"output_text","text":"Hel"}]}]}`, 200, "llm_reply_cut"},
		"incomplete without a reason":    {llmtest.PathResponses, `{"object":"response","status":"incomplete","output":[{"type":"message","content":[{"type":"output_text","text":"Hel"}]}]}`, 200, "llm_reply_cut"},
		"filtered":                       {llmtest.PathResponses, delta + event("response.incomplete", `{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"content_filter"}}}`), 200, "llm_refused"},
		"a refused answer":               {llmtest.PathResponses, event("response.refusal.delta", `{"type":"response.refusal.delta","delta":"No."}`) + event("response.completed", `{"type":"response.completed","response":{"status":"completed"}}`), 200, "llm_refused"},
		"still queued":                   {llmtest.PathResponses, `{"object":"response","status":"queued","output":[]}`, 200, ""},
		"in progress":                    {llmtest.PathResponses, `{"object":"response","status":"in_progress","output":[{"type":"message","content":[{"type":"output_text","text":"Hel"}]}]}`, 200, ""},
		"cancelled":                      {llmtest.PathResponses, `{"object":"response","status":"cancelled","output":[]}`, 200, ""},
		"reasoning alone":                {llmtest.PathResponses, `{"object":"response","status":"completed","output":[{"type":"reasoning","summary":[{"type":"summary_text","text":"Hel"}]}]}`, 200, "llm_reply_empty"},
		"chat completions, again":        {llmtest.PathResponses, `{"choices":[{"message":{"content":"Hel"}}]}`, 200, "llm_reply_malformed"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kind := "application/json"
				if strings.Contains(test.body, "data: ") {
					kind = "text/event-stream"
				}
				good := func(r *http.Request) (*http.Response, error) {
					kind, body := llmtest.Text("again").Written(test.path, "m", false)
					return answer(200, body, "Content-Type", kind)(r)
				}
				got, tries, err := speak(t, test.path, nil, answer(test.status, test.body, "Content-Type", kind), good)
				switch {
				case test.want == "" && (got != `"again"` || tries != 2):
					t.Errorf("%s after %d tries, %v", got, tries, err)
				case test.want != "" && (sdk.ReasonOf(err) != test.want || tries != 1):
					t.Errorf("error %v after %d tries, want %s", err, tries, test.want)
				}
			})
		})
	}
}

// Usage counts all that was read and written, in whichever cache it was.
func TestProtocol_Usage(t *testing.T) {
	for name, test := range map[string]struct {
		path, body string
		in, out    int64
	}{
		"cached":           {llmtest.PathMessages, `{"type":"message","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"cache_read_input_tokens":100,"cache_creation_input_tokens":20,"output_tokens":7}}`, 123, 7},
		"all of it cached": {llmtest.PathMessages, `{"type":"message","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn","usage":{"input_tokens":0,"cache_read_input_tokens":100,"output_tokens":7}}`, 100, 7},
		"a stream": {llmtest.PathMessages, "data: " + `{"type":"message_start","message":{"usage":{"input_tokens":3,"cache_read_input_tokens":4,"output_tokens":1}}}` + "\n\ndata: " +
			`{"type":"content_block_delta","delta":{"type":"text_delta","text":"a"}}` + "\n\ndata: " + `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}` + "\n\n", 7, 9},
		"input with its cached part": {llmtest.PathResponses, `{"object":"response","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"a"}]}],"usage":{"input_tokens":50,"input_tokens_details":{"cached_tokens":40},"output_tokens":6,"output_tokens_details":{"reasoning_tokens":5},"total_tokens":56}}`, 50, 6},
		"counts of lines":            {llmtest.PathOllama, `{"message":{"content":"a"},"done":false}` + "\n" + `{"message":{"content":""},"done":true,"done_reason":"stop","prompt_eval_count":26,"eval_count":4}`, 26, 4},
		"lines on many lines":        {llmtest.PathOllama, "{\n \"message\": {\"content\": \"a\"},\n \"done\": true, \"done_reason\": \"stop\",\n \"prompt_eval_count\": 26, \"eval_count\": 4}", 26, 4},
	} {
		server := llmtest.New(t, llmtest.Body(200, "", test.body))
		res := generate(t, configIn(test.path, server.URL, object{"prompt": "p"}))
		if string(res.Output) != `"a"` || res.Usage.TokensIn != test.in || res.Usage.TokensOut != test.out || res.Metadata["note"] != "" {
			t.Errorf("%s: %s, usage %+v, metadata %v", name, res.Output, res.Usage, res.Metadata)
		}
	}
}

// The context is as long as the prompt needs, one of a few lengths, and never longer than allowed.
func TestOllama_ContextFitsThePrompt(t *testing.T) {
	for name, test := range map[string]struct {
		prompt string
		config object
		want   int64
	}{
		"a short prompt":           {"p", object{}, 8192},
		"a short reply":            {"p", object{"max_tokens": 100}, 4096},
		"a long reply":             {"p", object{"max_tokens": 10_000}, 16384},
		"a prompt of 30,000":       {strings.Repeat("x", 30_000), object{}, 16384},
		"Chinese":                  {strings.Repeat("世", 10_000), object{}, 16384},
		"a prompt beyond":          {strings.Repeat("x", 300_000), object{}, 32768},
		"one that is allowed":      {strings.Repeat("x", 300_000), object{"llm": object{"max_context": 200_000}}, 131072},
		"a small limit":            {"p", object{"llm": object{"max_context": 2000}}, 2000},
		"a limit between":          {strings.Repeat("x", 60_000), object{"llm": object{"max_context": 20_000}}, 20_000},
		"an option of the config":  {"p", object{"llm": object{"extra_body": object{"options": object{"num_ctx": 77}}}}, 77},
		"another option of it too": {"p", object{"llm": object{"extra_body": object{"options": object{"top_k": 5}}}}, 8192},
	} {
		server := llmtest.New(t, llmtest.Text("ok"))
		test.config["prompt"] = test.prompt
		generate(t, configIn(llmtest.PathOllama, server.URL, test.config))
		var sent struct {
			Options struct {
				NumCtx int64 `json:"num_ctx"`
			}
		}
		if err := json.Unmarshal(server.Requests()[0].Body, &sent); err != nil || sent.Options.NumCtx != test.want {
			t.Errorf("%s: num_ctx %d, want %d", name, sent.Options.NumCtx, test.want)
		}
	}
}
