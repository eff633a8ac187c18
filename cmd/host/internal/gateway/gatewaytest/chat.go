package gatewaytest

import (
	"fmt"
	"net/http"
	"slices"
)

// chat is chat completions.
type chat struct{}

func (chat) refuse(_ *Upstream, _ *http.Request, body object) string {
	var open []string
	for i, m := range list(body, "messages") {
		role := text(m, "role")
		if !slices.Contains([]string{"system", "developer", "user", "assistant", "tool"}, role) {
			return fmt.Sprintf("Invalid value: '%s' for messages[%d].role.", role, i)
		}
		if role == "tool" {
			at := slices.Index(open, text(m, "tool_call_id"))
			if at < 0 {
				return "messages with role 'tool' must be a response to a preceding message with 'tool_calls'."
			}
			open = slices.Delete(open, at, at+1)
			continue
		}
		if len(open) > 0 {
			return "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
		}
		for _, c := range list(m, "tool_calls") {
			open = append(open, text(c, "id"))
		}
	}
	if len(open) > 0 {
		return "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
	}
	return ""
}

func (chat) fault(status int, message string) any {
	return object{"error": object{"message": message, "type": "invalid_request_error", "param": nil, "code": status}}
}

func (r *Reply) chatFinish() string {
	switch {
	case r.Finish != "":
		return r.Finish
	case r.Calls != nil:
		return "tool_calls"
	}
	return "stop"
}

func chatUsage() object {
	return object{"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
}

func (chat) whole(r *Reply, id string, body object) any {
	m := object{"role": "assistant", "content": r.Text, "refusal": nil}
	if r.Thinking != "" {
		m["reasoning_content"] = r.Thinking
	}
	var calls []object
	for _, c := range r.Calls {
		calls = append(calls, object{"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": c.Arguments}})
	}
	if calls != nil {
		m["tool_calls"], m["content"] = calls, nil
	}
	return object{
		"id": "chatcmpl-" + id, "object": "chat.completion", "created": 1, "model": body["model"], "usage": chatUsage(),
		"choices": []object{{"index": 0, "message": m, "logprobs": nil, "finish_reason": r.chatFinish()}},
	}
}

func (chat) events(_ *Upstream, r *Reply, id string, body object) (all []string) {
	options, _ := body["stream_options"].(object)
	usage := options["include_usage"] == true
	chunk := func(delta object, finish any) {
		c := object{
			"id": "chatcmpl-" + id, "object": "chat.completion.chunk", "created": 1, "model": body["model"],
			"choices": []object{{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish}},
		}
		if usage {
			c["usage"] = nil
		}
		all = append(all, event("", c))
	}
	chunk(object{"role": "assistant", "content": ""}, nil)
	for _, p := range r.pieces(r.Thinking) {
		if p != "" {
			chunk(object{"reasoning_content": p}, nil)
		}
	}
	for _, p := range r.pieces(r.Text) {
		if p != "" {
			chunk(object{"content": p}, nil)
		}
	}
	for i, c := range r.Calls {
		chunk(object{"tool_calls": []object{{"index": i, "id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": ""}}}}, nil)
		for _, p := range r.pieces(c.Arguments) {
			chunk(object{"tool_calls": []object{{"index": i, "function": object{"arguments": p}}}}, nil)
		}
	}
	chunk(object{}, r.chatFinish())
	if usage {
		all = append(all, event("", object{
			"id": "chatcmpl-" + id, "object": "chat.completion.chunk", "created": 1, "model": body["model"], "choices": []object{}, "usage": chatUsage(),
		}))
	}
	return append(all, "data: [DONE]\n\n")
}
