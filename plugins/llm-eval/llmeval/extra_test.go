package llmeval_test

import (
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/plugins/llm-eval/llmtest"
	"github.com/reflectory/reflectory/sdk"
)

// extended is a config whose llm has more keys.
func extended(url string, more object) json.RawMessage {
	llm := object{"provider": "openai", "base_url": url + "/v1", "model": "m", "api_key_env": "TEST_KEY"}
	for key, value := range more {
		llm[key] = value
	}
	return mustJSON(object{"prompt": "p", "temperature": 0.5, "llm": llm})
}

func TestExtra_IsSent(t *testing.T) {
	server := llmtest.New(t, llmtest.Text("ok"))
	generate(t, extended(server.URL, object{
		"extra_body":    object{"top_k": 5, "temperature": 0.1, "chat_template_kwargs": object{"enable_thinking": false}, "nothing": nil, "provider": object{"order": []string{"a"}}},
		"extra_headers": object{"X-Title": "my app", "http-referer": "https://example.org/?a=b", "User-Agent": "mine", "x-empty": ""},
	}))
	r := server.Requests()[0]
	var sent map[string]json.RawMessage
	if err := json.Unmarshal(r.Body, &sent); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"top_k": "5", "temperature": "0.1", "chat_template_kwargs": `{"enable_thinking":false}`, "nothing": "null", "provider": `{"order":["a"]}`, "model": `"m"`,
	} {
		if string(sent[key]) != want {
			t.Errorf("%s is sent as %s, want %s", key, sent[key], want)
		}
	}
	for name, want := range map[string]string{
		"X-Title": "my app", "Http-Referer": "https://example.org/?a=b", "User-Agent": "mine", "Authorization": "Bearer " + testKey, "Content-Type": "application/json",
	} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s is sent as %q, want %q", name, got, want)
		}
	}
}

func TestExtra_IsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		more object
		says string
	}{
		"a list as body":         {object{"extra_body": []int{1}}, "llm.extra_body"},
		"the model":              {object{"extra_body": object{"model": "gpt"}}, "extra_body.model"},
		"the messages":           {object{"extra_body": object{"messages": []int{}}}, "extra_body.messages"},
		"the stream":             {object{"extra_body": object{"stream": true}}, "extra_body.stream"},
		"its options":            {object{"extra_body": object{"stream_options": object{}}}, "extra_body.stream_options"},
		"a large body":           {object{"extra_body": object{"x": strings.Repeat("x", 70_000)}}, "70008 bytes"},
		"a key":                  {object{"extra_headers": object{"Authorization": "Bearer s3cret"}}, "extra_headers.Authorization"},
		"a key in small letters": {object{"extra_headers": object{"authorization": "Bearer s3cret"}}, "extra_headers.Authorization"},
		"a proxy's key":          {object{"extra_headers": object{"proxy-authorization": "s3cret"}}, "extra_headers.Proxy-Authorization"},
		"a cookie":               {object{"extra_headers": object{"cookie": "s3cret"}}, "extra_headers.Cookie"},
		"another host":           {object{"extra_headers": object{"host": "other.test"}}, "extra_headers.Host"},
		"a second request":       {object{"extra_headers": object{"transfer-encoding": "chunked"}}, "extra_headers.Transfer-Encoding"},
		"a line break":           {object{"extra_headers": object{"X-A": "b\r\nAuthorization: s3cret"}}, "extra_headers.X-A"},
		"a broken name":          {object{"extra_headers": object{"X A": "b"}}, "a name that no header can have"},
		"an empty name":          {object{"extra_headers": object{"": "b"}}, "a name that no header can have"},
		"a number":               {object{"extra_headers": object{"X-A": 5}}, "llm.extra_headers"},
		"no certificate":         {object{"ca": "ca.pem s3cret"}, "llm.ca has no certificate"},
		"a number as ca":         {object{"ca": 5}, "llm.ca"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := plugin(t).Generator(t.Context(), extended("http://h", test.more))
			if e := sdkError(t, err); e.Code != sdk.Invalid || !strings.Contains(e.Message, test.says) || strings.Contains(everything(e), "s3cret") {
				t.Errorf("error %s: %s", e.Reason, e.Message)
			}
		})
	}
}

func TestCA_IsTrustedForItsEndpointOnly(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}`)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	p := plugin(t)
	for range 2 {
		res, err := prepare(t, p.Generator, extended(server.URL, object{"ca": ca})).Generate(t.Context(), &sdk.GenerateRequest{})
		if err != nil || string(res.Output) != `"ok"` {
			t.Errorf("%+v, %v", res, err)
		}
		_, err = prepare(t, p.Generator, extended(server.URL, nil)).Generate(t.Context(), &sdk.GenerateRequest{})
		if e := sdkError(t, err); e.Reason != "llm_endpoint_untrusted" || !strings.Contains(e.Hint, "SSL_CERT_FILE") {
			t.Errorf("error %s: %s (%s)", e.Reason, e.Message, e.Hint)
		}
	}
}

// What the host or its proxy refuses isn't tried again.
func TestFault_RefusedByTheHostIsFinal(t *testing.T) {
	refused := broken(&net.OpError{Op: "dial", Err: sdk.Errorf(sdk.Denied, "proxy_refused", "the proxy p:3128 wants other credentials than it was given (407)")})
	began, _, err := call(t.Context(), t, refused)
	if e := sdkError(t, err); e.Code != sdk.Denied || e.Reason != "proxy_refused" || !sdk.Permanent(e) || len(began) != 1 {
		t.Errorf("tries at %v: %v", began, err)
	}
}
