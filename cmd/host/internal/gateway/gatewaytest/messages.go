package gatewaytest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// messages are Anthropic's messages.
type messages struct{}

// signature proves that a thought is as it was given.
func signature(thought string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte("signed "+thought)))[:32]
}

// blocks are the blocks of a content.
func blocks(o object) []object {
	if s, is := o["content"].(string); is {
		return []object{{"type": "text", "text": s}}
	}
	return list(o, "content")
}

func (messages) refuse(u *Upstream, r *http.Request, body object) string {
	if r.Header.Get("anthropic-version") == "" {
		return "anthropic-version: header is required"
	}
	if body["max_tokens"] == nil {
		return "max_tokens: Field required"
	}
	if n := strings.Count(encode(body), `"cache_control":{`); n > 4 {
		return fmt.Sprintf("A maximum of 4 blocks with cache_control may be provided. Found %d.", n)
	}
	thread, _ := body["thread"].(object)
	continues := text(thread, "type") == "continue"
	if continues && !u.threads[text(thread, "previous_message_id")] {
		return "thread not found"
	}
	var open []string
	for i, m := range list(body, "messages") {
		role := text(m, "role")
		if role != "user" && role != "assistant" {
			return fmt.Sprintf("messages: Unexpected role %q.", role)
		}
		before := open
		open = nil
		for j, b := range blocks(m) {
			switch text(b, "type") {
			case "text":
				if strings.TrimSpace(text(b, "text")) == "" {
					return fmt.Sprintf("messages.%d.content.%d: text content blocks must be non-empty", i, j)
				}
			case "thinking":
				if text(b, "signature") != signature(text(b, "thinking")) {
					return fmt.Sprintf("messages.%d.content.%d: `thinking` blocks cannot be modified", i, j)
				}
			case "tool_use":
				open = append(open, text(b, "id"))
			case "tool_result":
				at := slices.Index(before, text(b, "tool_use_id"))
				if at < 0 && i == 0 && continues {
					continue
				} else if at < 0 {
					return fmt.Sprintf("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s", i, j, text(b, "tool_use_id"))
				}
				before = slices.Delete(slices.Clone(before), at, at+1)
			}
		}
		if len(before) > 0 {
			return fmt.Sprintf("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s", i, before[0])
		}
	}
	if len(open) > 0 {
		return "`tool_use` ids were found without `tool_result` blocks immediately after: " + open[0]
	}
	return ""
}

func (messages) fault(status int, message string) any {
	kind := map[int]string{400: "invalid_request_error", 429: "rate_limit_error", 529: "overloaded_error"}[status]
	if kind == "" {
		kind = "api_error"
	}
	return object{"type": "error", "error": object{"type": kind, "message": message}}
}

func (r *Reply) stopReason() string {
	switch {
	case r.Finish != "":
		return r.Finish
	case r.Calls != nil:
		return "tool_use"
	}
	return "end_turn"
}

func (messages) whole(r *Reply, id string, body object) any {
	content := []object{}
	if r.Thinking != "" {
		content = append(content, object{"type": "thinking", "thinking": r.Thinking, "signature": signature(r.Thinking)})
	}
	if r.Text != "" {
		content = append(content, object{"type": "text", "text": r.Text})
	}
	for _, c := range r.Calls {
		content = append(content, object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": input(c.Arguments)})
	}
	return object{
		"id": "msg_" + id, "type": "message", "role": "assistant", "model": body["model"], "content": content, "stop_reason": r.stopReason(),
		"stop_sequence": nil, "usage": object{"input_tokens": 11, "output_tokens": 7, "cache_read_input_tokens": 0},
	}
}

func (messages) events(_ *Upstream, r *Reply, id string, body object) (all []string) {
	add := func(o object) { all = append(all, event(text(o, "type"), o)) }
	add(object{"type": "message_start", "message": object{
		"id": "msg_" + id, "type": "message", "role": "assistant", "model": body["model"], "content": []any{}, "stop_reason": nil, "stop_sequence": nil,
		"usage": object{"input_tokens": 11, "output_tokens": 1},
	}})
	add(object{"type": "ping"})
	index := 0
	block := func(begin object, deltas ...object) {
		add(object{"type": "content_block_start", "index": index, "content_block": begin})
		for _, d := range deltas {
			add(object{"type": "content_block_delta", "index": index, "delta": d})
		}
		add(object{"type": "content_block_stop", "index": index})
		index++
	}
	if r.Thinking != "" {
		var deltas []object
		for _, p := range r.pieces(r.Thinking) {
			deltas = append(deltas, object{"type": "thinking_delta", "thinking": p})
		}
		block(object{"type": "thinking", "thinking": "", "signature": ""}, append(deltas, object{"type": "signature_delta", "signature": signature(r.Thinking)})...)
	}
	if r.Text != "" {
		var deltas []object
		for _, p := range r.pieces(r.Text) {
			deltas = append(deltas, object{"type": "text_delta", "text": p})
		}
		block(object{"type": "text", "text": ""}, deltas...)
	}
	for _, c := range r.Calls {
		deltas := []object{{"type": "input_json_delta", "partial_json": ""}}
		for _, p := range r.pieces(c.Arguments) {
			deltas = append(deltas, object{"type": "input_json_delta", "partial_json": p})
		}
		block(object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": object{}}, deltas...)
	}
	add(object{"type": "message_delta", "delta": object{"stop_reason": r.stopReason(), "stop_sequence": nil}, "usage": object{"output_tokens": 7}})
	add(object{"type": "message_stop"})
	return all
}

// input is a call's input, which is an object in this shape, whatever the script says.
func input(arguments string) any {
	if !json.Valid([]byte(arguments)) {
		return object{"text": arguments}
	}
	return json.RawMessage(arguments)
}
