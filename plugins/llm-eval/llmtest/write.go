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
	switch {
	case r.Raw:
	case request.Stream:
		contentType, body = "text/event-stream", r.events(request.Model)
	default:
		body = r.completion(request.Model)
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

func (r Reply) completion(model string) string {
	message := map[string]any{"role": "assistant", "content": r.Text}
	if r.Refusal != "" {
		message["content"], message["refusal"] = nil, r.Refusal
	}
	return encode(map[string]any{
		"id": "reply", "object": "chat.completion", "model": model, "usage": r.usage(),
		"choices": []any{map[string]any{"index": 0, "finish_reason": cmp.Or(r.Finish, "stop"), "message": message}},
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
	for text := r.Text; text != ""; {
		n := min(chunkBytes, len(text))
		for n < len(text) && text[n]&0xC0 == 0x80 { // never within a character
			n++
		}
		event(choice(map[string]any{"content": text[:n]}, nil), nil)
		text = text[n:]
	}
	if r.Refusal != "" {
		event(choice(map[string]any{"refusal": r.Refusal}, nil), nil)
	}
	event(choice(map[string]any{}, cmp.Or(r.Finish, "stop")), nil)
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
