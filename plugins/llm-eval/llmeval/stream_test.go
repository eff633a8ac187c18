package llmeval_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/plugins/llm-eval/llmeval"
	"github.com/reflectory/reflectory/plugins/llm-eval/llmtest"
	"github.com/reflectory/reflectory/sdk"
)

const (
	pieceOne   = `data: {"choices":[{"index":0,"delta":{"content":"Hel"}}]}` + "\n\n"
	pieceTwo   = `data: {"choices":[{"index":0,"delta":{"content":"lo"}}]}` + "\n\n"
	pieceStop  = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	pieceAll   = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":5}}` + "\n\n"
	pieceUsage = `data: {"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5}}` + "\n\n"
	pieceDone  = "data: [DONE]\n\n"
)

// A model that only streams is streamed, regardless of who asks and how it says so, and is asked
// right from the second time on.
func TestStream_OfAModelThatOnlyStreams(t *testing.T) {
	for name, refusal := range map[string]llmtest.Reply{
		"DashScope":       llmtest.Body(400, "application/json", `{"error":{"code":"invalid_parameter_error","param":null,"message":"This model only support stream mode, please enable the stream parameter to access the model."}}`),
		"by its field":    llmtest.Refuse("stream", "must be true"),
		"must be true":    llmtest.Body(400, "application/json", `{"detail":"Stream must be set to true"}`),
		"non-streaming":   llmtest.Body(400, "application/json", message("Non-streaming requests are not supported for this model")),
		"streaming":       llmtest.Body(422, "application/json", message("Streaming is required for operations that may take longer than 10 minutes")),
		"in prose":        llmtest.Body(400, "text/plain", "please set stream=true"),
		"its options":     llmtest.Refuse("stream_options.include_usage", "is needed"),
		"not implemented": llmtest.Body(501, "application/json", message("non-stream mode is not implemented")),
		"in a 200":        llmtest.Body(200, "application/json", message("this endpoint only streams: set 'stream'")),
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.StartFunc(func(r *llmtest.Request) llmtest.Reply {
				if r.Stream {
					return llmtest.Text(`{"pass": true, "score": 1, "feedback": "fine"}`)
				}
				return refusal
			})
			t.Cleanup(server.Close)
			p := plugin(t)
			judge, generator := prepare(t, p.Evaluator, configFor(server.URL, nil)), prepare(t, p.Generator, configFor(server.URL, object{"prompt": "p"}))
			if v := evaluate(t, judge, `1`).Verdict; !v.Valid {
				t.Errorf("verdict %+v", v)
			}
			if _, err := generator.Generate(t.Context(), &sdk.GenerateRequest{}); err != nil {
				t.Error(err)
			}
			if n := len(server.Requests()); n != 3 {
				t.Errorf("%d requests for two replies", n)
			}
		})
	}
}

func TestStream_RefusedEitherWayIsReported(t *testing.T) {
	server := llmtest.New(t, llmtest.Body(400, "application/json", message("bad stream parameter")).Always())
	if e := ask(t, configFor(server.URL, object{"prompt": "p"})); e.Reason != "llm_request_refused" || len(server.Requests()) != 2 {
		t.Errorf("%d requests: %v", len(server.Requests()), e)
	}
}

// Events are read whenever they come, and a whole reply likewise, whatever its type says.
func TestStream_IsReadWheneverItComes(t *testing.T) {
	whole := `{"choices":[{"message":{"content":"Hello"},"finish_reason":"stop"}]}`
	events := pieceOne + pieceTwo + pieceAll + pieceDone
	for name, reply := range map[string]llmtest.Reply{
		"events":                    llmtest.Body(200, "text/event-stream", events),
		"events, with a charset":    llmtest.Body(200, "text/event-stream; charset=utf-8", events),
		"events as JSON":            llmtest.Body(200, "application/json", events),
		"events as text":            llmtest.Body(200, "text/plain", events),
		"events without a type":     llmtest.Body(200, "", events),
		"a comment first":           llmtest.Body(200, "application/json", ": hello\n\n"+events),
		"a named event first":       llmtest.Body(200, "application/octet-stream", "event: message\n"+events),
		"empty lines first":         llmtest.Body(200, "application/json", "\n\n"+events),
		"carriage returns":          llmtest.Body(200, "text/event-stream", strings.ReplaceAll(events, "\n", "\r\n")),
		"no end":                    llmtest.Body(200, "text/event-stream", pieceOne+pieceTwo+pieceStop),
		"no reason":                 llmtest.Body(200, "text/event-stream", pieceOne+pieceTwo+pieceDone),
		"neither end nor reason":    llmtest.Body(200, "text/event-stream", pieceOne+pieceTwo),
		"one event":                 llmtest.Body(200, "text/event-stream", `data: `+whole+"\n\n"),
		"a whole reply":             llmtest.Body(200, "application/json", whole),
		"a whole reply as events":   llmtest.Body(200, "text/event-stream", whole),
		"a whole reply, after BOM":  llmtest.Body(200, "application/json", "\ufeff"+whole),
		"events, after BOM":         llmtest.Body(200, "text/event-stream", "\ufeff"+events),
		"a whole reply, after room": llmtest.Body(200, "text/event-stream", "\r\n  \n"+whole),
	} {
		t.Run(name, func(t *testing.T) {
			for _, watched := range []bool{false, true} {
				server := llmtest.New(t, reply)
				var shown strings.Builder
				request := &sdk.GenerateRequest{}
				if watched {
					request.Emit = func(piece string) { shown.WriteString(piece) }
				}
				res, err := newGenerator(t, configFor(server.URL, object{"prompt": "p"})).Generate(t.Context(), request)
				if err != nil || string(res.Output) != `"Hello"` {
					t.Fatalf("watched %t: %+v, %v", watched, res, err)
				}
				if watched && shown.String() != "Hello" {
					t.Errorf("shown %q", shown.String())
				}
			}
		})
	}
}

// held is an exchange whose body stays open after a text.
func held(contentType string, texts ...string) exchange {
	return func(r *http.Request) (*http.Response, error) {
		body, end := io.Pipe()
		context.AfterFunc(r.Context(), func() { end.CloseWithError(r.Context().Err()) })
		go func() {
			for i, text := range texts {
				if i > 0 {
					select {
					case <-time.After(time.Second): // of the bubble
					case <-r.Context().Done():
						return
					}
				}
				if _, err := io.WriteString(end, text); err != nil {
					return
				}
			}
		}()
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {contentType}}, Body: body}, nil
	}
}

// A reply that has come whole is never paid for again, however long its stream stays open.
func TestStream_HeldOpenIsPaidOnce(t *testing.T) {
	pings := make([]string, 30)
	for i := range pings {
		pings[i] = ": ping\n\n"
	}
	ends := make([]string, 30)
	for i := range ends {
		ends[i] = pieceStop
	}
	whole := `{"choices":[{"message":{"content":"Hello"},"finish_reason":"stop"}]}`
	for name, c := range map[string]struct {
		do   exchange
		took time.Duration // at most
	}{
		"after reason with usage":        {held("text/event-stream", pieceOne+pieceTwo+pieceAll), time.Second},
		"after reason, then usage":       {held("text/event-stream", pieceOne+pieceTwo+pieceStop, pieceUsage), 2 * time.Second},
		"after the end":                  {held("text/event-stream", pieceOne+pieceTwo+pieceStop+pieceDone), 0},
		"after the end without a reason": {held("text/event-stream", pieceOne+pieceTwo+pieceDone), 0},
		"after the reason alone":         {held("text/event-stream", pieceOne+pieceTwo+pieceStop), 2 * time.Second},
		"with pings":                     {held("text/event-stream", append([]string{pieceOne + pieceTwo + pieceStop}, pings...)...), 2 * time.Second},
		"with reasons for ever":          {held("text/event-stream", append([]string{pieceOne + pieceTwo + pieceStop}, ends...)...), 12 * time.Second},
		"as JSON":                        {held("application/json", pieceOne+pieceTwo+pieceAll), time.Second},
		"a whole reply":                  {held("application/json", whole), 20 * time.Second},
		"a reason, then a broken line":   {held("text/event-stream", pieceOne+pieceTwo+pieceStop+"data: {\"cho"), 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, watched := range []bool{false, true} {
					tr := &transport{script: []exchange{c.do}}
					p := llmeval.Plugin(llmeval.Options{Getenv: getenv, Transport: tr})
					config := object{"prompt": "p", "llm": object{"provider": "openai", "base_url": "http://llm.test/v1", "model": "m", "timeout": "20s"}}
					request, shown := &sdk.GenerateRequest{}, ""
					if watched {
						request.Emit = func(piece string) { shown += piece }
					}
					start := time.Now()
					res, err := prepare(t, p.Generator, mustJSON(config)).Generate(t.Context(), request)
					if err != nil || string(res.Output) != `"Hello"` || len(tr.times) != 1 || watched && shown != "Hello" {
						t.Errorf("watched %t: %+v, %v, shown %q, tries at %v", watched, res, err, shown, tr.times)
					}
					if took := time.Since(start); took > c.took {
						t.Errorf("it took %s", took)
					}
				}
			})
		})
	}
}

// A stream that never becomes a reply ends with its time or its size, and isn't shown twice.
func TestStream_Endless(t *testing.T) {
	drip := strings.Split(strings.Repeat(pieceOne, 1), "") // each byte a second after the other
	for name, do := range map[string]exchange{
		"bytes that drip":  held("text/event-stream", drip...),
		"nothing at all":   held("text/event-stream", ""),
		"only pings":       held("text/event-stream", strings.Split(strings.Repeat(": ping\n\n|", 40), "|")...),
		"pieces for ever":  held("text/event-stream", strings.Split(strings.Repeat(pieceOne+"|", 40), "|")...),
		"spaces that drip": held("application/json", strings.Split(strings.Repeat(" |", 40), "|")...),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				began, _, err := call(t.Context(), t, do)
				if e := sdkError(t, err); e.Reason != "llm_unavailable" || !strings.Contains(e.Message, "llm.timeout") || len(began) != 4 || time.Since(start) > 90*time.Second {
					t.Errorf("after %s and %d tries: %v", time.Since(start), len(began), err)
				}
			})
		})
	}
	server := llmtest.New(t, llmtest.Body(200, "text/event-stream", strings.Repeat(": "+strings.Repeat("x", 1000)+"\n\n", 9000)))
	if e := ask(t, configFor(server.URL, object{"prompt": "p"})); e.Reason != "llm_reply_too_large" {
		t.Error(e)
	}
}

// Where a model only streams, a stream that broke is asked for again, and nothing that was
// shown is shown twice.
func TestStream_BrokenIsShownOnce(t *testing.T) {
	n := 0
	server := llmtest.StartFunc(func(r *llmtest.Request) llmtest.Reply {
		if !r.Stream {
			return llmtest.Body(400, "application/json", message("only streams"))
		}
		if n++; n == 1 {
			return llmtest.Text(strings.Repeat("Hello ", 10)).CutOff()
		}
		return llmtest.Text(strings.Repeat("Hello ", 10))
	})
	t.Cleanup(server.Close)
	p := plugin(t)
	generator := prepare(t, p.Generator, configFor(server.URL, object{"prompt": "p"}))
	var shown strings.Builder
	res, err := generator.Generate(t.Context(), &sdk.GenerateRequest{Emit: func(piece string) { shown.WriteString(piece) }})
	if err != nil || string(res.Output) != fmt.Sprintf("%q", strings.Repeat("Hello ", 10)) || strings.Count(shown.String(), "Hello") > 10 {
		t.Errorf("%+v, %v, shown %q", res, err, shown.String())
	}
}
