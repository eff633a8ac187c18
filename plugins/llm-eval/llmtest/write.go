package llmtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// chunkBytes is how much text each event of a stream has. It is small, so that even
// short texts arrive in several events.
const chunkBytes = 4

// write sends the reply. If the reply is to be cut, the connection ends half-way, so
// that the client sees an incomplete body.
func (r Reply) write(w http.ResponseWriter, request *Request) {
	contentType, body := "application/json", r.Body
	if !r.Raw {
		contentType, body = r.Written(request.Path, request.Model, request.Stream)
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	for name, value := range r.Headers {
		w.Header().Set(name, value)
	}
	w.WriteHeader(cmp.Or(r.Code, http.StatusOK))
	if r.Cut {
		body = body[:len(body)/2] // less than announced: the server ends the connection
	}
	fmt.Fprint(w, body)
}

func (r Reply) usage() map[string]any {
	in, out := cmp.Or(r.In, TokensIn), cmp.Or(r.Out, TokensOut)
	return map[string]any{"prompt_tokens": in, "completion_tokens": out, "total_tokens": in + out}
}

// finish is the finish reason of chat completions.
func (r Reply) finish() any {
	if r.Finish == NoFinish {
		return nil
	}
	if len(r.Calls) > 0 {
		return cmp.Or(r.Finish, "tool_calls")
	}
	return cmp.Or(r.Finish, "stop")
}

// calls are the calls in the form of chat completions, or of Ollama, which has no ids.
func (r Reply) calls(ollama bool) (list []any) {
	for i, c := range r.Calls {
		function := map[string]any{"name": c.Name, "arguments": c.Arguments}
		call := map[string]any{"index": i, "id": c.ID, "type": "function", "function": function}
		if ollama {
			function["arguments"] = json.RawMessage(c.Arguments)
			call = map[string]any{"function": function}
		}
		list = append(list, call)
	}
	return list
}

func (r Reply) completion(model string) string {
	message := map[string]any{"role": "assistant", "content": r.Text}
	switch {
	case r.Message != "":
		message = nil
		_ = json.Unmarshal([]byte(r.Message), &message) // the test wrote it
	case r.Refusal != "":
		message["content"], message["refusal"] = nil, r.Refusal
	case r.Thought != "":
		message["reasoning_content"] = r.Thought
	}
	if len(r.Calls) > 0 {
		message["tool_calls"] = r.calls(false)
	}
	return encode(map[string]any{
		"id": "reply", "object": "chat.completion", "model": model, "usage": r.usage(),
		"choices": []any{map[string]any{"index": 0, "finish_reason": r.finish(), "message": message}},
	})
}

// events are a stream: the text in chunks, the finish reason, the usage.
func (r Reply) events(model string) string {
	var b strings.Builder
	event := func(choices []any, usage any) {
		fmt.Fprintf(&b, "data: %s\n\n", encode(map[string]any{
			"id": "reply", "object": "chat.completion.chunk", "model": model, "choices": choices, "usage": usage,
		}))
	}
	choice := func(delta map[string]any, finish any) []any {
		return []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}
	}
	for _, p := range r.parts() {
		field := map[string]string{"text": "content", "thinking": "reasoning_content"}[p.kind]
		for _, piece := range chunks(p.text) {
			event(choice(map[string]any{field: piece}, nil), nil)
		}
	}
	if r.Refusal != "" {
		event(choice(map[string]any{"refusal": r.Refusal}, nil), nil)
	}
	if len(r.Calls) > 0 {
		event(choice(map[string]any{"tool_calls": r.calls(false)}, nil), nil)
	}
	event(choice(map[string]any{}, r.finish()), nil)
	event([]any{}, r.usage())
	return b.String() + "data: [DONE]\n\n"
}

// encode encodes values that this package built.
func encode(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}
