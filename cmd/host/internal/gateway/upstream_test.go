package gateway_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/cmd/host/internal/gateway"
	"github.com/reflectory/reflectory/cmd/host/internal/gateway/gatewaytest"
	core "github.com/reflectory/reflectory/core/host/gateway"
)

// TestHeaders_OnlyTheListedOnesPass: up and down.
func TestHeaders_OnlyTheListedOnesPass(t *testing.T) {
	w := newWorld(t, gatewaytest.Reply{Text: "x", Header: map[string]string{
		"Request-Id": "r", "X-Request-Id": "x", "X-Ratelimit-Remaining-Requests": "5", "Anthropic-Ratelimit-Tokens-Limit": "9", "Retry-After-Ms": "3",
		"Openai-Processing-Ms": "7", "Set-Cookie": "c=1", "Server": "up", "Reflectory-Run": "forged", "Location": "http://other", "Access-Control-Allow-Origin": "*",
	}})
	sent := map[string]string{
		"Anthropic-Version": "2024-01-01", "Anthropic-Beta": "b1", "Openai-Beta": "b2", "Openai-Organization": "o", "Openai-Project": "p",
		"Idempotency-Key": "k", "User-Agent": "sdk/1", "X-Stainless-Lang": "js", "Traceparent": "00-11111111111111111111111111111111-1111111111111111-01",
	}
	header := []string{
		"Authorization", "Bearer client", "X-Api-Key", "client", "Cookie", "c=1", "X-Forwarded-For", "1.2.3.4", "Forwarded", "for=1", "Te", "trailers",
		"Reflectory-Session", "s", "Reflectory-Token", "t", "Origin", "http://x", "Referer", "http://x", "X-Custom", "y", "Proxy-Authorization", "z",
	}
	for name, value := range sent {
		header = append(header, name, value)
	}
	resp, _ := w.post(shapes["messages"].path+"?beta=true&x=%2F", fmt.Sprintf(shapes["messages"].body, ""), header...)
	got := w.up.Requests()[0]
	if got.Query != "beta=true&x=%2F" {
		t.Errorf("query %q", got.Query)
	}
	for name, want := range map[string]string{"X-Api-Key": secret, "Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"} {
		sent[name] = want
	}
	up := map[string]string{}
	for name := range got.Header {
		if name != "Content-Length" {
			up[name] = got.Header.Get(name)
		}
	}
	if diff := cmp.Diff(sent, up); diff != "" {
		t.Errorf("up (-want +got):\n%s", diff)
	}
	for _, name := range []string{"Set-Cookie", "Server", "Location", "Access-Control-Allow-Origin"} {
		if resp.Header.Get(name) != "" {
			t.Errorf("%s comes down", name)
		}
	}
	if resp.Header.Get("Reflectory-Run") != "run-1" {
		t.Errorf("an upstream names the run: %v", resp.Header)
	}
	for _, name := range []string{"Request-Id", "X-Request-Id", "X-Ratelimit-Remaining-Requests", "Anthropic-Ratelimit-Tokens-Limit", "Retry-After-Ms", "Openai-Processing-Ms"} {
		if resp.Header.Get(name) == "" {
			t.Errorf("%s doesn't come down", name)
		}
	}
}

// TestHeaders_WithTheClientsToken don't pass: the token is for this gateway, wherever else a client puts it.
func TestHeaders_WithTheClientsToken(t *testing.T) {
	const token = "rfl_0123456789abcdef_0123456789abcdef"
	for query, in := range map[string]string{
		"key=" + token: "X-Api-Key", "key=x&" + strings.ReplaceAll(token, "_", "%5F") + "=1": "Authorization",
		"key=" + strings.ReplaceAll(token, "_", "%5f") + "&x=%": "Reflectory-Token",
	} {
		w := newWorld(t, gatewaytest.Reply{Text: "x"})
		w.post(shapes["chat"].path+"?"+query+"&beta=true", fmt.Sprintf(shapes["chat"].body, ""), in, map[bool]string{true: "Bearer "}[in == "Authorization"]+token,
			"User-Agent", "agent "+token, "X-Stainless-Os", token, "Idempotency-Key", token, "Openai-Beta", "b")
		got := w.up.Requests()[0]
		if text := fmt.Sprint(got.Header, got.Query); strings.Contains(text, "rfl_") || got.Header.Get("Openai-Beta") != "b" || got.Query != "" {
			t.Errorf("with the token in %s: %s", in, text)
		}
	}
}

func TestHeaders_FurtherAttemptHasAnotherIdempotencyKey(t *testing.T) {
	w := newWorld(t, badCall, goodCall)
	w.serve(core.HoldAll, func(r *core.Reply) bool { return r.Calls[0].ID == "c2" })
	w.post(shapes["chat"].path, fmt.Sprintf(shapes["chat"].body, ""), "Idempotency-Key", "k")
	if a, b := w.up.Requests()[0].Header.Get("Idempotency-Key"), w.up.Requests()[1].Header.Get("Idempotency-Key"); a != "k" || b != "k-2" {
		t.Errorf("%q, %q", a, b)
	}
}

func TestCredentials(t *testing.T) {
	for name, c := range map[string]struct {
		header []string
		client bool
		status int
		want   map[string]string
	}{
		"the host's":                     {[]string{"Authorization", "Bearer token"}, false, 200, map[string]string{"Authorization": "Bearer " + secret}},
		"the client's":                   {[]string{"Authorization", "Bearer own", "Reflectory-Token", "token"}, true, 200, map[string]string{"Authorization": "Bearer own"}},
		"the client's in another header": {[]string{"X-Api-Key", "own", "Reflectory-Token", "token"}, true, 200, map[string]string{"X-Api-Key": "own"}},
		// Without the other header, the client's credentials are its token of this gateway.
		"a token that would leave": {[]string{"Authorization", "Bearer token"}, true, 401, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, gatewaytest.Reply{Text: "x"})
			w.model.Endpoint.ClientKey = c.client
			resp, got := w.post(shapes["chat"].path, fmt.Sprintf(shapes["chat"].body, ""), c.header...)
			if resp.StatusCode != c.status {
				t.Fatalf("%d %s", resp.StatusCode, got)
			}
			sent := w.up.Requests()
			if c.want == nil {
				if len(sent) != 0 {
					t.Errorf("it was sent: %v", sent[0].Header)
				}
				return
			}
			up := map[string]string{}
			for _, name := range []string{"Authorization", "X-Api-Key", "Reflectory-Token"} {
				if v := sent[0].Header.Get(name); v != "" {
					up[name] = v
				}
			}
			if diff := cmp.Diff(c.want, up); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestRefusal_PassesUnchanged: an upstream's error keeps its status, body and time to wait; only the host's key is cut out.
func TestRefusal_PassesUnchanged(t *testing.T) {
	for name, s := range shapes {
		for _, stream := range []string{"", `,"stream":true`} {
			for _, hold := range []core.Hold{core.HoldNothing, core.HoldAll} {
				w := newWorld(t, gatewaytest.Reply{Status: 429, Text: "slow down, " + secret, Header: map[string]string{"Retry-After": "17"}})
				w.serve(hold, nil)
				resp, got := w.post(s.path, fmt.Sprintf(s.body, stream))
				if resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "17" || !strings.Contains(got, "slow down, [redacted]") || strings.Contains(got, secret) {
					t.Errorf("%s: %d %v %s", name, resp.StatusCode, resp.Header, got)
				}
			}
		}
	}
}

// TestError_OfTheHostHasTheFamilysForm: and its status.
func TestError_OfTheHostHasTheFamilysForm(t *testing.T) {
	w := newWorld(t, gatewaytest.Reply{Text: "x"}).start()
	chat, messages := shapes["chat"].path, shapes["messages"].path
	for name, c := range map[string]struct {
		method, path, body string
		status             int
		kind, code, says   string
	}{
		"unknown model":           {"POST", chat, `{"model":"other","messages":[{"role":"user","content":"x"}]}`, 404, "invalid_request_error", "model_not_found", "there are coder"},
		"unknown model, messages": {"POST", messages, `{"model":"other","messages":[{"role":"user","content":"x"}]}`, 404, "not_found_error", "", "there are coder"},
		"broken body":             {"POST", chat, `{`, 400, "invalid_request_error", "json_invalid", "not JSON"},
		"broken body, messages":   {"POST", messages, `{`, 400, "invalid_request_error", "", "not JSON"},
		"unknown role":            {"POST", chat, `{"model":"coder","messages":[{"role":"x"}]}`, 400, "invalid_request_error", "request_invalid", `"x"`},
		"another path":            {"POST", "/openai/v1/completions", `{}`, 404, "invalid_request_error", "path_unknown", "/openai/v1/completions"},
		"another path, messages":  {"POST", "/anthropic/v1/complete", `{}`, 404, "not_found_error", "", "/anthropic/v1/complete"},
		"another method":          {"PUT", chat, `{}`, 405, "invalid_request_error", "method_not_allowed", "POST"},
		"background":              {"POST", shapes["responses"].path, `{"model":"coder","input":"x","background":true}`, 400, "invalid_request_error", "background_refused", "background"},
		"too large":               {"POST", chat, `{"model":"` + strings.Repeat("x", 33<<20) + `"}`, 413, "invalid_request_error", "body_too_large", "33554432"},
		"a response of others":    {"GET", "/openai/v1/responses/resp_9", "", 404, "invalid_request_error", "response_not_found", "resp_9"},
		"a path in an id":         {"GET", "/openai/v1/responses/..%2f..%2ffiles", "", 404, "invalid_request_error", "path_unknown", ""},
	} {
		resp, got := w.do(c.method, c.path, c.body)
		if resp.StatusCode != c.status || !strings.Contains(got, `"type":"`+c.kind+`"`) || !strings.Contains(got, `"message":"`) || !strings.Contains(got, c.says) && c.says != `"x"` {
			t.Errorf("%s: %d %s", name, resp.StatusCode, got)
		}
		if want := `"code":"` + c.code + `"`; c.code != "" && !strings.Contains(got, want) || c.code == "" && !strings.HasPrefix(got, `{"error":{`) {
			t.Errorf("%s: %s", name, got)
		}
	}
	if len(w.up.Requests()) != 0 {
		t.Errorf("sent: %v", w.up.Requests())
	}
	w.model.Endpoint.Families = []gateway.Family{gateway.Anthropic}
	if resp, got := w.post(chat, fmt.Sprintf(shapes["chat"].body, "")); resp.StatusCode != 404 || !strings.Contains(got, "use /anthropic/v1/messages") {
		t.Errorf("another shape: %d %s", resp.StatusCode, got)
	}
	if resp, got := w.do("GET", shapes["responses"].path, "", "Upgrade", "websocket", "Connection", "Upgrade"); resp.StatusCode != 400 || !strings.Contains(got, "WebSocket") {
		t.Errorf("WebSocket: %d %s", resp.StatusCode, got)
	}
}

// TestRaised_IsAnErrorOfTheFamily: with its status, and as an event where the stream has begun.
func TestRaised_IsAnErrorOfTheFamily(t *testing.T) {
	never := func(*core.Reply) bool { return false }
	for name, s := range shapes {
		w := newWorld(t, badCall)
		w.serve(core.HoldAll, never)
		for _, stream := range []string{"", `,"stream":true`} {
			resp, got := w.post(s.path, fmt.Sprintf(s.body, stream))
			if resp.StatusCode != 422 || !strings.Contains(got, "no attempt passes") || resp.Header.Get("Reflectory-Attempts") != "3" || resp.Header.Get("Reflectory-Run") != "run-1" {
				t.Errorf("%s: %d %s %v", name, resp.StatusCode, got, resp.Header)
			}
		}
		w.serve(core.HoldCalls, never)
		resp, got := w.post(s.path, fmt.Sprintf(s.body, `,"stream":true`))
		if m := reassemble(t, name, got); resp.StatusCode != 200 || m.err != "no attempt passes" || m.text != badCall.Text || m.calls != nil {
			t.Errorf("%s: %d %+v %s", name, resp.StatusCode, m, got)
		}
	}
}

func TestPassedOn(t *testing.T) {
	w := newWorld(t, gatewaytest.Reply{Text: "x"})
	w.answers["resp_1"] = true
	if resp, got := w.post("/anthropic/v1/messages/count_tokens?beta=true", `{"model":"coder", "messages":[{"role":"user","content":"x"}]}`); resp.StatusCode != 200 || !strings.Contains(got, "42") {
		t.Errorf("count_tokens: %d %s", resp.StatusCode, got)
	}
	for _, call := range [][2]string{{"GET", "/responses/resp_1"}, {"DELETE", "/responses/resp_1"}, {"POST", "/responses/resp_1/cancel"}, {"GET", "/responses/resp_1/input_items"}} {
		if resp, got := w.do(call[0], "/openai/v1"+call[1], ""); resp.StatusCode != 200 || !strings.Contains(got, "resp_1") {
			t.Errorf("%s: %d %s", call, resp.StatusCode, got)
		}
		last := w.up.Requests()[len(w.up.Requests())-1]
		if last.Method != call[0] || last.Path != call[1] || last.Header.Get("Authorization") != "Bearer "+secret {
			t.Errorf("%s: %+v", call, last)
		}
	}
	for _, call := range [][2]string{{"DELETE", "/responses/resp_1/input_items"}, {"GET", "/responses/resp_1/cancel"}, {"PUT", "/responses/resp_1"}} {
		if resp, got := w.do(call[0], "/openai/v1"+call[1], ""); resp.StatusCode != 405 {
			t.Errorf("%s: %d %s", call, resp.StatusCode, got)
		}
	}
	if first := w.up.Requests()[0]; first.Body != `{"model":"upstream-model", "messages":[{"role":"user","content":"x"}]}` || first.Query != "beta=true" {
		t.Errorf("%+v", first)
	}
	if len(w.asked) != 0 {
		t.Errorf("%d turns were served", len(w.asked))
	}
	if resp, got := w.do("GET", "/openai/v1/models", ""); resp.StatusCode != 200 || got != `{"data":[{"created":0,"id":"coder","object":"model","owned_by":"reflectory"}],"object":"list"}` {
		t.Errorf("models: %d %s", resp.StatusCode, got)
	}
	if resp, got := w.do("GET", "/openai/v1/models/coder", ""); resp.StatusCode != 200 || !strings.Contains(got, `"id":"coder"`) {
		t.Errorf("model: %d %s", resp.StatusCode, got)
	}
	if resp, _ := w.do("GET", "/openai/v1/models/other", ""); resp.StatusCode != 404 {
		t.Errorf("another model: %d", resp.StatusCode)
	}
}

// TestUpstream_Hostile: whatever an upstream sends, the client gets what came, or an error of the family.
func TestUpstream_Hostile(t *testing.T) {
	big := strings.Repeat("x", 1<<20)
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		status  int
		says    string
	}{
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/other", http.StatusTemporaryRedirect)
		}, 502, "redirects aren't followed"},
		"headers of 10 MB": {func(w http.ResponseWriter, _ *http.Request) {
			for i := range 10 {
				w.Header().Set(fmt.Sprintf("X-Ratelimit-%d", i), big)
			}
		}, 502, "can't be reached, or broke off"},
		"an encoding": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "br")
			w.WriteHeader(200)
		}, 502, "encoding"},
		"no JSON":   {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, 200, "<html>"},
		"nothing":   {func(http.ResponseWriter, *http.Request) {}, 200, ""},
		"deep JSON": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(strings.Repeat("[", 1<<20))) }, 200, "[["},
		"an endless reply": {func(w http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := w.Write([]byte(big)); err != nil {
					return
				}
			}
		}, 502, "more than 4194304 bytes"},
		"an endless error": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(500)
			for {
				if _, err := w.Write([]byte(big)); err != nil {
					return
				}
			}
		}, 502, "answered 500"},
		"a break": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "9")
			_, _ = w.Write([]byte("{"))
			panic(http.ErrAbortHandler)
		}, 502, "broke off"},
		"an error in a reply": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"error":{"message":"busy"}}`)) }, 200, "busy"},
		"an endless stream": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for {
				if _, err := w.Write([]byte("data: " + big + "\n\n")); err != nil {
					return
				}
			}
		}, 502, "more than 4194304 bytes"},
		"an endless event": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for {
				if _, err := w.Write([]byte(big)); err != nil {
					return
				}
			}
		}, 502, "more than 4194304 bytes"},
		"calls out of order": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte(`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":9999999,"id":"x","function":{"name":"<b>","arguments":"{"}},{"index":-1},7,null]}}]}` + "\n\n"))
			_, _ = w.Write([]byte(`data: {"choices":{"a":1},"choices":[],"usage":[]}` + "\n\ndata: \xff\xfe\n\ndata: [1e999]\n\n"))
		}, 200, "9999999"},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(c.handler)
			t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
			w := newWorld(t, gatewaytest.Reply{})
			w.config.MaxReply = 4 << 20
			w.model.Endpoint.Base = s.URL
			w.serve(core.HoldAll, nil)
			resp, got := w.post(shapes["chat"].path, fmt.Sprintf(shapes["chat"].body, `,"stream":true`))
			if resp.StatusCode != c.status || !strings.Contains(got, c.says) {
				t.Errorf("%d %.300s", resp.StatusCode, got)
			}
			for _, r := range w.replies {
				if r.Finish == core.Complete {
					t.Errorf("it counts as a whole reply: %+v", r)
				}
			}
		})
	}
}

// TestUpstream_EndlessStreams end at the bound whatever is held, with the family's error where something was sent.
func TestUpstream_EndlessStreams(t *testing.T) {
	for name, s := range shapes {
		events := map[string]string{
			"text": map[string]string{
				"chat":      `data: {"choices":[{"index":0,"delta":{"content":"%s"}}]}`,
				"responses": "event: response.output_text.delta\n" + `data: {"type":"response.output_text.delta","output_index":0,"delta":"%s"}`,
				"messages":  "event: content_block_delta\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"%s"}}`,
			}[name],
			"a comment": ": %s",
			"a call": map[string]string{
				"chat":      `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"%s"}}]}}]}`,
				"responses": "event: response.output_item.added\n" + `data: {"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"c","name":"f","arguments":"%s"}}`,
				"messages":  "event: content_block_start\n" + `data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"x","name":"%s","input":{}}}`,
			}[name],
		}
		for kind, event := range events {
			for hold, sent := range map[core.Hold]bool{core.HoldNothing: true, core.HoldCalls: kind == "text", core.HoldAll: false} {
				up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "text/event-stream")
					for {
						if _, err := fmt.Fprintf(w, event+"\n\n", strings.Repeat("x", 16<<10)); err != nil {
							return
						}
					}
				}))
				w := newWorld(t, gatewaytest.Reply{})
				w.config.MaxReply = 1 << 20
				w.model.Endpoint.Base = up.URL
				w.serve(hold, nil)
				resp, got := w.post(s.path, fmt.Sprintf(s.body, `,"stream":true`))
				up.CloseClientConnections()
				up.Close()
				if want := map[bool]int{true: http.StatusOK, false: http.StatusBadGateway}[sent]; resp.StatusCode != want || len(got) > 2<<20 || !strings.Contains(got[max(0, len(got)-1000):], "more than 1048576 bytes") {
					t.Errorf("%s, %s, hold %d: %d, %d bytes, at the end %s", name, kind, hold, resp.StatusCode, len(got), got[max(0, len(got)-300):])
				}
				if len(w.replies) > 0 {
					t.Errorf("%s, %s, hold %d: it counts as a reply", name, kind, hold)
				}
			}
		}
	}
}
