package llmeval_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/plugins/llm-eval/llmtest"
	"github.com/reflectory/reflectory/sdk"
)

// ask generates once and returns the error.
func ask(t *testing.T, config json.RawMessage) *sdk.Error {
	t.Helper()
	_, err := newGenerator(t, config).Generate(t.Context(), &sdk.GenerateRequest{})
	return sdkError(t, err)
}

func TestClearErrorsAtOnce(t *testing.T) {
	html := llmtest.Body(200, "text/html", "<html>a login page</html>")
	for name, test := range map[string]struct {
		reply  llmtest.Reply
		code   sdk.Code
		reason string
		says   []string
	}{
		"401":                 {llmtest.Status(401), sdk.Denied, "llm_key_rejected", []string{"401 Unauthorized", "TEST_KEY"}},
		"403":                 {llmtest.Status(403), sdk.Denied, "llm_key_rejected", []string{"403 Forbidden", "TEST_KEY"}},
		"404":                 {llmtest.Status(404), sdk.NotFound, "llm_model_not_found", []string{`"test-model"`, "/v1", "ollama pull"}},
		"400 for a model":     {llmtest.Body(400, "application/json", `{"error":{"code":"model_not_found","message":"no"}}`), sdk.NotFound, "llm_model_not_found", []string{`"test-model"`}},
		"400":                 {llmtest.Refuse("messages", "too long"), sdk.Invalid, "llm_request_refused", []string{"400 Bad Request: too long"}},
		"413 in prose":        {llmtest.Body(413, "text/plain", "much\n\ttoo  large"), sdk.Invalid, "llm_request_refused", []string{"much too large"}},
		"an error with 200":   {llmtest.Body(200, "application/json", `{"error":"out of order"}`), sdk.Invalid, "llm_request_refused", []string{"out of order"}},
		"a 401 within a 200":  {llmtest.Body(200, "application/json", `{"error":{"code":401,"message":"no user"}}`), sdk.Denied, "llm_key_rejected", []string{"401 Unauthorized: no user"}},
		"a code of no status": {llmtest.Body(200, "application/json", `{"error":{"code":1e300,"message":"odd"}}`), sdk.Invalid, "llm_request_refused", []string{"200 OK: odd"}},
		"a web page":          {html, sdk.Invalid, "llm_reply_malformed", []string{"text/html, not a JSON object", "a login page", "/v1"}},
		"a stream of pages":   {llmtest.Body(200, "text/event-stream", "data: <html>\n\n"), sdk.Invalid, "llm_reply_malformed", []string{"an event that isn't a JSON object"}},
		"a list":              {llmtest.Body(200, "application/json", `[1]`), sdk.Invalid, "llm_reply_malformed", nil},
		"wrong types":         {llmtest.Body(200, "application/json", `{"choices":{"a":1}}`), sdk.Invalid, "llm_reply_malformed", nil},
		"no choices":          {llmtest.Body(200, "application/json", `{"choices":[]}`), sdk.Invalid, "llm_reply_malformed", []string{"no choices"}},
		"an empty object":     {llmtest.Body(200, "application/json", `{}`), sdk.Invalid, "llm_reply_malformed", []string{"no choices"}},
		"no content":          {llmtest.Body(204, "text/plain", ""), sdk.Invalid, "llm_request_refused", []string{"204"}},
		"deep JSON":           {llmtest.Body(200, "application/json", strings.Repeat("[", 100_000)), sdk.Invalid, "llm_reply_malformed", nil},
		"a giant reply":       {llmtest.Text(strings.Repeat("x", 9<<20)), sdk.Exhausted, "llm_reply_too_large", []string{"8388608 bytes"}},
		"a relative redirect": {llmtest.Body(307, "text/plain", "").Header("Location", "/v2"), sdk.Invalid, "llm_redirected", []string{`"/v2"`, "llm.base_url"}},
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.New(t, test.reply)
			e := ask(t, configFor(server.URL, object{"prompt": "p"}))
			if e.Code != test.code || e.Reason != test.reason {
				t.Errorf("error %s %s: %s", e.Code, e.Reason, e.Message)
			}
			if sdk.Permanent(e) != (test.code != sdk.Exhausted) {
				t.Errorf("%s: permanent %t", e.Reason, sdk.Permanent(e))
			}
			for _, want := range append(test.says, server.URL) {
				if !strings.Contains(e.Message+" "+e.Hint, want) {
					t.Errorf("no %q in %q, hint %q", want, e.Message, e.Hint)
				}
			}
			if len(server.Requests()) != 1 {
				t.Errorf("%d requests", len(server.Requests()))
			}
		})
	}
}

func TestGiantStreamIsCut(t *testing.T) {
	coretest.Long(t)
	if coretest.Plain(t) {
		return
	}
	server := llmtest.New(t, llmtest.Text(strings.Repeat("x", 512<<10))) // as events over 8 MiB
	_, _, err := watch(t, server.URL)
	if e := sdkError(t, err); e.Reason != "llm_reply_too_large" {
		t.Errorf("error %s: %s", e.Reason, e.Message)
	}
}

func TestJSONOfAnotherTypeIsAReply(t *testing.T) {
	server := llmtest.New(t, llmtest.Text("ok").Header("Content-Type", "text/plain"))
	if _, err := newGenerator(t, configFor(server.URL, object{"prompt": "p"})).Generate(t.Context(), &sdk.GenerateRequest{}); err != nil {
		t.Error(err)
	}
}

func TestRejectionWithoutAKeySaysWhereItGoes(t *testing.T) {
	server := llmtest.New(t, llmtest.Status(401))
	e := ask(t, mustJSON(object{"prompt": "p", "llm": object{"provider": "ollama", "base_url": server.URL, "model": "m"}}))
	if e.Reason != "llm_key_rejected" || !strings.Contains(e.Hint, "llm.api_key_env") {
		t.Errorf("error %s, hint %s", e.Message, e.Hint)
	}
}

func TestKeyIsNotSentElsewhere(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the redirect was followed")
	}))
	t.Cleanup(elsewhere.Close)
	for _, status := range []int{301, 302, 303, 307, 308} {
		server := llmtest.New(t, llmtest.Body(status, "text/plain", "").Header("Location", elsewhere.URL+"/?k="+testKey))
		e := ask(t, configFor(server.URL, object{"prompt": "p"}))
		if e.Reason != "llm_redirected" || strings.Contains(e.Message, testKey) {
			t.Errorf("%d: error %s", status, e.Message)
		}
	}
}

// everything renders all that an error says, causes included.
func everything(e *sdk.Error) string {
	text := fmt.Sprintf("%s %s %s %v", e.Message, e.Hint, e.Reason, e.Details)
	for err := error(e); err != nil; {
		text += fmt.Sprintf(" %v %+v", err, err)
		next, ok := err.(interface{ Unwrap() error })
		if !ok {
			break
		}
		err = next.Unwrap()
	}
	return text
}

func TestKeyIsRemovedFromWhatAnEndpointEchoes(t *testing.T) {
	auth := "Authorization: Bearer " + testKey
	escaped := `{"detail":"` + strings.ReplaceAll(testKey, "/", `\/`) + ` \u0073` + testKey[1:] + `"}`
	for name, reply := range map[string]llmtest.Reply{
		"in an error":            llmtest.Body(401, "application/json", `{"error":{"message":"bad `+auth+`"}}`),
		"in a code":              llmtest.Body(400, "application/json", `{"error":{"message":"x","code":"`+testKey+`","param":"`+testKey+`"}}`),
		"in prose":               llmtest.Body(400, "text/plain", auth),
		"escaped":                llmtest.Body(400, "application/json", escaped),
		"cut by the read limit":  llmtest.Body(400, "text/plain", strings.Repeat(" ", 64<<10-10)+testKey),
		"cut by the connection":  llmtest.Body(400, "text/plain", testKey+testKey[:len(testKey)-1]).CutOff(),
		"in a page":              llmtest.Body(200, "text/html", "<p>"+auth),
		"in an error with 200":   llmtest.Body(200, "application/json", `{"error":"`+auth+`"}`),
		"in an unparsable reply": llmtest.Text("you sent " + auth),
		"in a refusal":           {Refusal: auth},
		"in a reply that is cut": llmtest.Text(auth).FinishedBy("length"),
		"in a finish reason":     llmtest.Text("").FinishedBy(testKey),
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.New(t, reply)
			e := ask(t, configFor(server.URL, object{"prompt": "p", "parse": "json"}))
			if text := everything(e); strings.Contains(text, testKey[:8]) {
				t.Error(text)
			}
		})
	}
}

func TestKeyIsRemovedFromReplies(t *testing.T) {
	auth := "Bearer " + testKey
	server := llmtest.StartFunc(func(r *llmtest.Request) llmtest.Reply {
		return llmtest.Body(200, "application/json", string(mustJSON(object{"model": auth, "choices": []object{
			{"message": object{"content": string(mustJSON(object{"pass": false, "feedback": r.Header.Get("Authorization")}))}},
		}})))
	})
	t.Cleanup(server.Close)
	verdict := evaluate(t, newJudge(t, configFor(server.URL, nil)), `1`)
	res, err := newGenerator(t, configFor(server.URL, object{"prompt": "p"})).Generate(t.Context(), &sdk.GenerateRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{string(mustJSON(verdict)), string(mustJSON(res))} {
		if strings.Contains(text, testKey) || !strings.Contains(text, "Bearer [redacted]") {
			t.Error(text)
		}
	}
}

func TestUntrustedCertificateIsNotTriedAgain(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // the handshake fails, as it should
	server.StartTLS()
	t.Cleanup(server.Close)
	e := ask(t, configFor(server.URL, object{"prompt": "p"}))
	if e.Code != sdk.Denied || e.Reason != "llm_endpoint_untrusted" || !strings.Contains(e.Message, "certificate") {
		t.Errorf("error %s: %s", e.Reason, e.Message)
	}
}

// spellings are the forms in which JSON may write the key.
func spellings() map[string]string {
	var all strings.Builder
	for _, c := range testKey {
		fmt.Fprintf(&all, `\u%04X`, c)
	}
	return map[string]string{
		"slash":      strings.ReplaceAll(testKey, "/", `\/`),
		"one":        `\u0073` + testKey[1:],
		"all":        all.String(),
		"next to it": `\\ \u0041 ` + testKey,
	}
}

func TestKeyIsRemovedHoweverJSONSpellsIt(t *testing.T) {
	for name, spelling := range spellings() {
		t.Run(name, func(t *testing.T) {
			verdict, value := `{"pass":false,"feedback":"`+spelling+`"}`, `{"a":"`+spelling+`"}`
			server := llmtest.New(t, llmtest.Text(verdict), llmtest.Text(value))
			judged := evaluate(t, newJudge(t, configFor(server.URL, nil)), `1`)
			if feedback := judged.Verdict.Feedback; strings.Contains(feedback, testKey) || !strings.Contains(feedback, "[redacted]") {
				t.Errorf("feedback %q", feedback)
			}
			res, err := newGenerator(t, configFor(server.URL, object{"prompt": "p", "parse": "json"})).Generate(t.Context(), &sdk.GenerateRequest{})
			if err != nil {
				t.Fatal(err)
			}
			var output struct{ A string }
			if err := json.Unmarshal(res.Output, &output); err != nil || !strings.Contains(output.A, "[redacted]") || strings.Contains(output.A, testKey) {
				t.Errorf("output %s: %q, %v", res.Output, output.A, err)
			}
		})
	}
}
