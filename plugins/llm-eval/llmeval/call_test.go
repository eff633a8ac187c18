package llmeval_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/plugins/llm-eval/llmeval"
	"github.com/reflectory/reflectory/plugins/llm-eval/llmtest"
	"github.com/reflectory/reflectory/sdk"
)

func TestGeneratedOutput(t *testing.T) {
	for name, test := range map[string]struct{ parse, reply, want, note string }{
		"text":               {"", "Ada\n\"L\"", `"Ada\n\"L\""`, ""},
		"JSON stays text":    {"", `{"a":1}`, `"{\"a\":1}"`, ""},
		"parsed":             {"json", `{"a": 1}`, `{"a": 1}`, ""},
		"parsed from prose":  {"json", "Sure:\n```json\n{\"a\":1}\n```\n", `{"a":1}`, "removed code fence and the text around it"},
		"parsed after think": {"json", "<think>[1]</think>[2]", `[2]`, "removed the text around the JSON value"},
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.New(t, llmtest.Text(test.reply), llmtest.Text(test.reply))
			config := object{"prompt": "p"}
			if test.parse != "" {
				config["parse"] = test.parse
			}
			p := plugin(t)
			generated, err := prepare(t, p.Generator, configFor(server.URL, config)).Generate(t.Context(), &sdk.GenerateRequest{})
			if err != nil {
				t.Fatal(err)
			}
			corrected, err := prepare(t, p.Corrector, configFor(server.URL, config)).Correct(t.Context(), &sdk.CorrectRequest{})
			if err != nil {
				t.Fatal(err)
			}
			for _, output := range []json.RawMessage{generated.Output, corrected.Output} {
				if diff := cmp.Diff(test.want, strings.TrimSpace(string(output))); diff != "" {
					t.Error(diff)
				}
			}
			if generated.Metadata["note"] != test.note || generated.Usage != (sdk.Usage{TokensIn: llmtest.TokensIn, TokensOut: llmtest.TokensOut}) || corrected.Usage != generated.Usage {
				t.Errorf("metadata %v, usage %+v, %+v", generated.Metadata, generated.Usage, corrected.Usage)
			}
		})
	}
}

// An output is valid UTF-8 whatever the endpoint sends; otherwise the host would refuse
// it as a fault in the plugin.
func TestReplyThatIsNotUTF8(t *testing.T) {
	for parse, want := range map[string]string{"": "\"{\\\"a\\\":\\\"\ufffd\\\"}\"", "json": "{\"a\":\"\ufffd\"}"} {
		server := llmtest.New(t, llmtest.Body(200, "application/json", `{"choices":[{"message":{"content":"{\"a\":\"`+"\xff"+`\"}"}}]}`))
		config := object{"prompt": "p"}
		if parse != "" {
			config["parse"] = parse
		}
		generated, err := prepare(t, plugin(t).Generator, configFor(server.URL, config)).Generate(t.Context(), &sdk.GenerateRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(generated.Output)); diff != "" {
			t.Errorf("parse %q: %s", parse, diff)
		}
	}
}

func TestConversationIsSentAsWritten(t *testing.T) {
	server := llmtest.New(t, llmtest.Text("ok"))
	g := newGenerator(t, configFor(server.URL, object{"system": "s", "temperature": 0.7, "messages": []object{
		{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": ""},
	}}))
	req := &sdk.GenerateRequest{Call: sdk.Call{IdempotencyKey: "run/1/generate"}}
	if _, err := g.Generate(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	r := server.Requests()[0]
	want := []llmtest.Message{{Role: "system", Content: "s"}, {Role: "user", Content: "a"}, {Role: "assistant", Content: "b"}, {Role: "user", Content: ""}}
	if diff := cmp.Diff(want, r.Messages); diff != "" {
		t.Error(diff)
	}
	if r.Temperature == nil || *r.Temperature != 0.7 || r.ResponseFormat != nil || r.Header.Get("Idempotency-Key") != "run/1/generate" {
		t.Errorf("request %s, key %q", r.Body, r.Header.Get("Idempotency-Key"))
	}
}

func TestGeneratorLeavesTheTemperatureToTheEndpoint(t *testing.T) {
	server := llmtest.New(t, llmtest.Text("ok"))
	if _, err := newGenerator(t, configFor(server.URL, object{"prompt": "p"})).Generate(t.Context(), &sdk.GenerateRequest{}); err != nil {
		t.Fatal(err)
	}
	r := server.Requests()[0]
	if _, keyed := r.Header["Idempotency-Key"]; keyed || r.Temperature != nil {
		t.Errorf("request %s", r.Body)
	}
}

func TestHowTheModelPicksItsWordsIsSent(t *testing.T) {
	server := llmtest.New(t, llmtest.Text("a"), llmtest.Text("b"))
	generate(t, configFor(server.URL, object{"prompt": "p", "top_p": 0.5, "seed": 7, "stop": "END"}))
	generate(t, configFor(server.URL, object{"prompt": "p", "stop": []string{"a", "b"}}))
	got := server.Requests()
	if first, second := string(got[0].Body), string(got[1].Body); !strings.Contains(first, `"top_p":0.5`) || !strings.Contains(first, `"seed":7`) ||
		!strings.Contains(first, `"stop":["END"]`) || !strings.Contains(second, `"stop":["a","b"]`) || strings.Contains(second, "seed") {
		t.Errorf("sent %s and %s", first, second)
	}
}

func TestResponseSchemaIsAskedForAndHeld(t *testing.T) {
	schema := object{"type": "object", "required": []string{"a"}, "properties": object{"a": object{"type": "integer"}}}
	config := func(url string) json.RawMessage {
		return configFor(url, object{"prompt": "p", "response_schema": schema})
	}
	server := llmtest.New(t, llmtest.Text("<think>{}</think>```json\n{\"a\": 1}\n```"))
	if res := generate(t, config(server.URL)); string(res.Output) != `{"a": 1}` {
		t.Errorf("output %s", res.Output)
	}
	if body := string(server.Requests()[0].Body); !strings.Contains(body, `"json_schema"`) || !strings.Contains(body, `"required":["a"]`) {
		t.Errorf("sent %s", body)
	}
	server = llmtest.New(t, llmtest.Text(`{"a": "x"}`))
	_, err := newGenerator(t, config(server.URL)).Generate(t.Context(), &sdk.GenerateRequest{})
	if e := sdkError(t, err); e.Reason != "llm_reply_invalid" || !strings.Contains(e.Message, "at /a: expected integer, got string") || e.Details[sdk.RawDetail] != `{"a": "x"}` || sdk.Permanent(e) {
		t.Errorf("error %s: %s", e.Reason, e.Message)
	}
	server = llmtest.New(t, llmtest.Refuse("response_format", "unknown"), llmtest.Text(`{"a": 2}`))
	if res := generate(t, config(server.URL)); string(res.Output) != `{"a": 2}` {
		t.Errorf("output %s", res.Output)
	}
	if body := string(server.Requests()[1].Body); strings.Contains(body, "response_format") || !strings.Contains(body, `must fit this JSON Schema`) {
		t.Errorf("sent %s", body)
	}
}

func TestReplyThatIsNoOutput(t *testing.T) {
	for name, test := range map[string]struct {
		reply             llmtest.Reply
		code              sdk.Code
		reason, says, raw string
	}{
		"not JSON":  {llmtest.Text("I can't do that"), sdk.Invalid, "llm_reply_not_json", "I can't do that", "I can't do that"},
		"cut off":   {llmtest.Text(`{"a":`).FinishedBy("length"), sdk.Exhausted, "llm_reply_cut", `{"a":`, `{"a":`},
		"a refusal": {llmtest.Reply{Refusal: "No."}, sdk.Invalid, "llm_refused", "No.", "No."},
		"filtered":  {llmtest.Text("").FinishedBy("content_filter"), sdk.Invalid, "llm_refused", "content_filter", ""},
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.New(t, test.reply)
			_, err := newGenerator(t, configFor(server.URL, object{"prompt": "p", "parse": "json"})).Generate(t.Context(), &sdk.GenerateRequest{})
			e := sdkError(t, err)
			if e.Code != test.code || e.Reason != test.reason || !strings.Contains(e.Message, test.says) || !strings.Contains(e.Message, "test-model") {
				t.Errorf("error %s %s: %s", e.Code, e.Reason, e.Message)
			}
			if e.Details["usage"] != (sdk.Usage{TokensIn: llmtest.TokensIn, TokensOut: llmtest.TokensOut}) {
				t.Errorf("usage %v", e.Details["usage"])
			}
			if raw := e.Details[sdk.RawDetail]; raw != test.raw {
				t.Errorf("raw %q, want %q", raw, test.raw)
			}
		})
	}
}

// watch generates with a watcher, and returns what it saw.
func watch(t *testing.T, url string) (chunks []string, res *sdk.GenerateResponse, err error) {
	t.Helper()
	g := newGenerator(t, configFor(url, object{"prompt": "p"}))
	res, err = g.Generate(t.Context(), &sdk.GenerateRequest{Emit: func(chunk string) { chunks = append(chunks, chunk) }})
	return chunks, res, err
}

func TestStream(t *testing.T) {
	server := llmtest.New(t, llmtest.Text("one two three").Usage(3, 4))
	chunks, res, err := watch(t, server.URL)
	if err != nil {
		t.Fatal(err)
	}
	if len(chunks) < 3 || strings.Join(chunks, "") != "one two three" || string(res.Output) != `"one two three"` {
		t.Errorf("chunks %q, output %s", chunks, res.Output)
	}
	if res.Usage.TokensIn != 3 || res.Usage.TokensOut != 4 || res.Metadata["model"] != "test-model" {
		t.Errorf("usage %+v, metadata %v", res.Usage, res.Metadata)
	}
	if !strings.Contains(string(server.Requests()[0].Body), `"include_usage":true`) {
		t.Errorf("request %s", server.Requests()[0].Body)
	}
}

func TestStreamHidesTheKeyAcrossChunks(t *testing.T) {
	server := llmtest.New(t, llmtest.Text("your key is "+testKey+", ends in "+testKey[:7]))
	chunks, res, err := watch(t, server.URL)
	if err != nil {
		t.Fatal(err)
	}
	want := "your key is [redacted], ends in " + testKey[:7]
	if strings.Join(chunks, "") != want || string(res.Output) != `"`+want+`"` {
		t.Errorf("chunks %q, output %s", chunks, res.Output)
	}
}

func TestEndpointThatDoesNotStream(t *testing.T) {
	for name, first := range map[string]llmtest.Reply{
		"refuses":               llmtest.Refuse("stream_options", "unknown"),
		"sends it as one event": llmtest.Body(200, "text/event-stream", "data: "+strings.Repeat("x", 300<<10)+"\n\n"),
		"sends it in one event": llmtest.Body(200, "text/event-stream", strings.Repeat("data: x\r\n", 300<<10/9)+"\r\n"),
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.New(t, first, llmtest.Text("whole"))
			chunks, res, err := watch(t, server.URL)
			if err != nil || string(res.Output) != `"whole"` || !cmp.Equal(chunks, []string{"whole"}) {
				t.Errorf("chunks %q, response %+v, error %v", chunks, res, err)
			}
			if server.Requests()[1].Stream {
				t.Error("streamed again")
			}
		})
	}
}

func TestAReplyThatIsWholeIsPaidOnce(t *testing.T) {
	const piece = `data: {"choices":[{"index":0,"delta":{"content":"a te"}}]}` + "\n\n" + `data: {"choices":[{"index":0,"delta":{"content":"xt"}}]}` + "\n\n"
	const usage = `data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}` + "\n\n"
	const counted = `"usage":{"prompt_tokens":7,"completion_tokens":3}`
	for name, reply := range map[string]llmtest.Reply{
		"without a stream":               llmtest.Body(200, "application/json", `{"choices":[{"message":{"content":"a text"},"finish_reason":"stop"}],`+counted+`}`),
		"without stream and reason":      llmtest.Body(200, "text/plain", `{"choices":[{"message":{"content":"a text"}}],`+counted+`}`),
		"usage and done, no reason":      llmtest.Body(200, "text/event-stream", piece+usage+"data: [DONE]\n\n"),
		"usage, neither done nor reason": llmtest.Body(200, "text/event-stream", piece+usage),
		"usage in the last piece":        llmtest.Body(200, "text/event-stream", piece+`data: {"choices":[{"index":0,"delta":{}}],`+counted+"}\n\ndata:[DONE]\r\n\r\n"),
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.New(t, reply)
			chunks, res, err := watch(t, server.URL)
			if err != nil || string(res.Output) != `"a text"` || strings.Join(chunks, "") != "a text" || len(server.Requests()) != 1 {
				t.Fatalf("chunks %q, response %+v, error %v, %d requests", chunks, res, err, len(server.Requests()))
			}
			if res.Usage != (sdk.Usage{TokensIn: 7, TokensOut: 3}) {
				t.Errorf("usage %+v", res.Usage)
			}
		})
	}
}

func TestUsageOfABrokenStreamCounts(t *testing.T) {
	const broken = `data: {"choices":[{"index":0,"delta":{"content":"a te"}}],"usage":{"prompt_tokens":7,"completion_tokens":1}}` + "\n\ndata: {"
	server := llmtest.New(t, llmtest.Body(200, "text/event-stream", broken), llmtest.Text("a text").Usage(7, 3))
	if _, res, err := watch(t, server.URL); err != nil || res.Usage != (sdk.Usage{TokensIn: 14, TokensOut: 4}) {
		t.Errorf("response %+v, error %v", res, err)
	}
	server = llmtest.New(t, llmtest.Body(200, "text/event-stream", broken), llmtest.Status(401))
	_, _, err := watch(t, server.URL)
	if e := sdkError(t, err); e.Reason != "llm_key_rejected" || e.Details[sdk.UsageDetail] != (sdk.Usage{TokensIn: 7, TokensOut: 1}) {
		t.Errorf("error %v, %v", e, e.Details)
	}
}

func TestStreamReportsUpstreamErrors(t *testing.T) {
	event := "data: {\"error\":{\"message\":\"overloaded by " + testKey + "\"}}\n\n"
	server := llmtest.New(t, llmtest.Body(200, "text/event-stream", event), llmtest.Text("ok"))
	if chunks, res, err := watch(t, server.URL); err != nil || strings.Join(chunks, "") != "ok" || res.Metadata["tries"] != "2" {
		t.Errorf("chunks %q, response %+v, error %v", chunks, res, err)
	}
}

func TestStreamReportsUpstreamStatus(t *testing.T) {
	event := "data: {\"error\":{\"code\":401,\"message\":\"no user\"}}\n\n"
	server := llmtest.New(t, llmtest.Body(200, "text/event-stream", event))
	_, _, err := watch(t, server.URL)
	if e := sdkError(t, err); e.Reason != "llm_key_rejected" || !strings.Contains(e.Message, "no user") {
		t.Errorf("error %s: %s", e.Reason, e.Message)
	}
}

func TestStreamWithBrokenEvent(t *testing.T) {
	server := llmtest.New(t, llmtest.Body(200, "text/event-stream", "data: {not json}\n\n"))
	_, _, err := watch(t, server.URL)
	if e := sdkError(t, err); e.Reason != "llm_reply_malformed" {
		t.Errorf("error %s: %s", e.Reason, e.Message)
	}
}

func TestBrokenStreamIsAskedForAgainAsAWhole(t *testing.T) {
	text := "a text of some length"
	for name, first := range map[string]llmtest.Reply{
		"connection ends":      llmtest.Text(text).CutOff(),
		"an event is too long": llmtest.Body(200, "text/event-stream", "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a te\"}}]}\n\ndata: "+strings.Repeat("x", 300<<10)+"\n\n"),
		"stream ends":          llmtest.Body(200, "text/event-stream", "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a te\"}}]}\n\ndata: {\"choi"),
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.New(t, first, llmtest.Text(text))
			chunks, res, err := watch(t, server.URL)
			if err != nil || string(res.Output) != `"`+text+`"` {
				t.Fatalf("response %+v, error %v", res, err)
			}
			if shown := strings.Join(chunks, ""); shown == "" || !strings.HasPrefix(text, shown) || server.Requests()[1].Stream {
				t.Errorf("chunks %q", chunks)
			}
		})
	}
}

func TestCancelledCallReturnsAtOnce(t *testing.T) {
	hold := make(chan struct{})
	defer close(hold)
	for name, emit := range map[string]func(string){"whole": nil, "streamed": func(string) {}} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			server := llmtest.StartFunc(func(*llmtest.Request) llmtest.Reply {
				cancel()
				return llmtest.Text("late").After(hold)
			})
			t.Cleanup(server.Close)
			_, err := newGenerator(t, configFor(server.URL, object{"prompt": "p"})).Generate(ctx, &sdk.GenerateRequest{Emit: emit})
			if e := sdkError(t, err); e.Code != sdk.Cancelled || len(server.Requests()) != 1 {
				t.Errorf("error %s: %s", e.Code, e.Message)
			}
		})
	}
}

func TestZeroOptionsUseTheEnvironment(t *testing.T) {
	t.Setenv("TEST_KEY", "sk-from-the-environment")
	server := llmtest.New(t, llmtest.Text("ok"))
	p := llmeval.Plugin(llmeval.Options{})
	if _, err := prepare(t, p.Generator, configFor(server.URL, object{"prompt": "p"})).Generate(t.Context(), &sdk.GenerateRequest{}); err != nil {
		t.Fatal(err)
	}
	if got := server.Requests()[0].Header.Get("Authorization"); got != "Bearer sk-from-the-environment" {
		t.Errorf("Authorization %q", got)
	}
}

func TestFailedCorrectionIsReported(t *testing.T) {
	server := llmtest.New(t, llmtest.Status(404))
	_, err := prepare(t, plugin(t).Corrector, configFor(server.URL, object{"prompt": "p"})).Correct(t.Context(), &sdk.CorrectRequest{})
	if e := sdkError(t, err); e.Reason != "llm_model_not_found" {
		t.Errorf("error %s: %s", e.Reason, e.Message)
	}
}

func TestNoKeyIsSentThatTheConfigDoesNotName(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-not-named")
	t.Setenv("OPENAI_ORG_ID", "org-not-named")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")
	server := llmtest.New(t, llmtest.Text("ok"))
	config := object{"prompt": "p", "llm": object{"provider": "ollama", "base_url": server.URL, "model": "m"}}
	if _, err := newGenerator(t, mustJSON(config)).Generate(t.Context(), &sdk.GenerateRequest{}); err != nil {
		t.Fatal(err)
	}
	for name, values := range server.Requests()[0].Header {
		if strings.Contains(strings.Join(values, " "), "not-named") {
			t.Errorf("%s: %q is sent", name, values)
		}
	}
}
