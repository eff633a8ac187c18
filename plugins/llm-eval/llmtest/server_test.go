package llmtest_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/reflectory/reflectory/plugins/llm-eval/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// post sends a request to a server, and returns the answer with its body and the error
// of reading it.
func post(t *testing.T, url, body string) (*http.Response, string, error) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return res, string(text), err
}

const question = `{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"hi"}]}`

func TestScriptIsFollowed(t *testing.T) {
	server := llmtest.New(t, llmtest.Status(429).RetryAfter("3"), llmtest.Text("hello").Usage(7, 8), llmtest.Text("again").Always())
	if res, body, _ := post(t, server.URL, question); res.StatusCode != 429 || res.Header.Get("Retry-After") != "3" || !strings.Contains(body, "Too Many Requests") {
		t.Errorf("%d %v %s", res.StatusCode, res.Header, body)
	}
	for _, want := range []string{"hello", "again", "again"} {
		_, body, err := post(t, server.URL, question)
		var reply struct {
			Choices []struct {
				Message      llmtest.Message
				FinishReason string `json:"finish_reason"`
			}
			Usage map[string]int64
		}
		if err != nil || json.Unmarshal([]byte(body), &reply) != nil {
			t.Fatal(body, err)
		}
		if c := reply.Choices[0]; c.Message.Content != want || c.FinishReason != "stop" || (want == "hello") != (reply.Usage["prompt_tokens"] == 7) {
			t.Errorf("body %s", body)
		}
	}
	requests := server.Requests()
	if len(requests) != 4 || requests[0].Prompt() != "hi" || requests[0].System() != "s" || requests[0].Model != "m" {
		t.Errorf("requests %+v", requests)
	}
}

func TestStreamCarriesTheWholeText(t *testing.T) {
	server := llmtest.New(t, llmtest.Text("grüße an alle").FinishedBy("length"))
	res, body, err := post(t, server.URL, `{"stream":true}`)
	if err != nil || res.Header.Get("Content-Type") != "text/event-stream" || !strings.HasSuffix(body, "data: [DONE]\n\n") {
		t.Fatalf("%v %v %s", err, res.Header, body)
	}
	var text, finish string
	for lines := bufio.NewScanner(strings.NewReader(body)); lines.Scan(); {
		var event struct {
			Choices []struct {
				Delta        llmtest.Message
				FinishReason string `json:"finish_reason"`
			}
		}
		if data, ok := strings.CutPrefix(lines.Text(), "data: {"); ok && json.Unmarshal([]byte("{"+data), &event) == nil && len(event.Choices) > 0 {
			text, finish = text+event.Choices[0].Delta.Content, finish+event.Choices[0].FinishReason
		}
	}
	if text != "grüße an alle" || finish != "length" {
		t.Errorf("text %q, finish %q", text, finish)
	}
}

func TestCutBodyIsIncomplete(t *testing.T) {
	server := llmtest.New(t, llmtest.Text("hello").CutOff())
	if _, body, err := post(t, server.URL, question); !errors.Is(err, io.ErrUnexpectedEOF) || body == "" {
		t.Errorf("%v %s", err, body)
	}
}

func TestHeldReplyWaits(t *testing.T) {
	hold := make(chan struct{})
	answered := make(chan string)
	server := llmtest.New(t, llmtest.Text("late").After(hold), llmtest.Text("soon"))
	go func() {
		_, body, _ := post(t, server.URL, question)
		answered <- body
	}()
	for len(server.Requests()) == 0 { // the first has to arrive first
		select {
		case body := <-answered:
			t.Fatalf("answered before it may: %s", body)
		default:
		}
	}
	if _, body, _ := post(t, server.URL, question); !strings.Contains(body, "soon") {
		t.Error(body)
	}
	close(hold)
	if body := <-answered; !strings.Contains(body, "late") {
		t.Error(body)
	}
}

// recorder is a T that records failures instead of failing this test.
type recorder struct {
	*testing.T
	errors  []string
	cleanup []func()
}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}
func (r *recorder) Cleanup(f func()) { r.cleanup = append(r.cleanup, f) }

func TestWhatIsNotInTheScriptFailsTheTest(t *testing.T) {
	for name, ask := range map[string]func(url string){
		"one request too many": func(url string) { post(t, url, question) },
		"no JSON":              func(url string) { post(t, url, "{") },
		"another path":         func(url string) { post(t, url+"/api", question) },
	} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{T: t}
			ask(llmtest.New(r).URL)
			for _, end := range r.cleanup {
				end()
			}
			if len(r.errors) != 1 {
				t.Errorf("errors %q", r.errors)
			}
		})
	}
}

func TestCloseIsIdempotent(t *testing.T) {
	server := llmtest.Start()
	server.Close()
	server.Close()
}
