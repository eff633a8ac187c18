package gatewaytest

import (
	"fmt"
	"net/http"
	"slices"
)

// responses are OpenAI's responses.
type responses struct{}

func (responses) refuse(u *Upstream, _ *http.Request, body object) string {
	var open []string
	var before object
	for i, item := range list(body, "input") {
		kind, role := text(item, "type"), text(item, "role")
		if before != nil && text(before, "type") == "reasoning" && (role == "user" || kind == "reasoning") {
			return fmt.Sprintf("Item '%s' of type 'reasoning' was provided without its required following item.", text(before, "id"))
		}
		switch {
		case role != "" && !slices.Contains([]string{"system", "developer", "user", "assistant"}, role):
			return fmt.Sprintf("Invalid value: '%s' for input[%d].role.", role, i)
		case kind == "function_call":
			open = append(open, text(item, "call_id"))
			needed := u.thoughts[text(item, "id")]
			if needed != "" && !slices.ContainsFunc(list(body, "input")[:i], func(o object) bool { return text(o, "id") == needed }) {
				return fmt.Sprintf("Item '%s' of type 'function_call' was provided without its required 'reasoning' item: '%s'.", text(item, "id"), needed)
			}
		case kind == "function_call_output":
			at := slices.Index(open, text(item, "call_id"))
			if at < 0 && text(body, "previous_response_id") == "" {
				return fmt.Sprintf("No tool call found for function call output with call_id %s.", text(item, "call_id"))
			} else if at >= 0 {
				open = slices.Delete(open, at, at+1)
			}
		}
		before = item
	}
	if before != nil && text(before, "type") == "reasoning" {
		return fmt.Sprintf("Item '%s' of type 'reasoning' was provided without its required following item.", text(before, "id"))
	}
	if len(open) > 0 {
		return fmt.Sprintf("No tool output found for function call %s.", open[0])
	}
	return ""
}

func (responses) fault(status int, message string) any { return chat{}.fault(status, message) }

// output are the items of a reply.
func (r *Reply) output(id string) (items []object) {
	if r.Thinking != "" {
		items = append(items, object{"id": "rs_" + id, "type": "reasoning", "summary": []object{{"type": "summary_text", "text": r.Thinking}}})
	}
	if r.Text != "" {
		items = append(items, object{
			"id": "msg_" + id, "type": "message", "role": "assistant", "status": "completed",
			"content": []object{{"type": "output_text", "text": r.Text, "annotations": []any{}}},
		})
	}
	for i, c := range r.Calls {
		items = append(items, object{
			"id": fmt.Sprintf("fc_%s_%d", id, i), "type": "function_call", "status": "completed", "call_id": c.ID, "name": c.Name, "arguments": c.Arguments,
		})
	}
	return items
}

func (responses) whole(r *Reply, id string, body object) any {
	o := object{
		"id": "resp_" + id, "object": "response", "created_at": 1, "model": body["model"], "status": "completed", "error": nil,
		"incomplete_details": nil, "output": r.output(id), "usage": object{"input_tokens": 11, "output_tokens": 7, "total_tokens": 18},
	}
	if r.Finish != "" {
		o["status"], o["incomplete_details"] = "incomplete", object{"reason": r.Finish}
	}
	return o
}

func (s responses) events(u *Upstream, r *Reply, id string, body object) (all []string) {
	add := func(kind string, o object) {
		o["type"], o["sequence_number"] = kind, len(all)
		all = append(all, event(kind, o))
	}
	begun := s.whole(&Reply{}, id, body).(object)
	begun["status"], begun["usage"], begun["output"] = "in_progress", nil, []any{}
	add("response.created", object{"response": begun})
	add("response.in_progress", object{"response": begun})
	for i, item := range r.output(id) {
		open := object{"id": item["id"], "type": item["type"], "status": "in_progress"}
		at := func(o object) object {
			o["output_index"], o["item_id"] = i, item["id"]
			return o
		}
		switch item["type"] {
		case "reasoning":
			open["summary"] = []any{}
			add("response.output_item.added", object{"output_index": i, "item": open})
			add("response.reasoning_summary_part.added", at(object{"summary_index": 0, "part": object{"type": "summary_text", "text": ""}}))
			for _, p := range r.pieces(r.Thinking) {
				add("response.reasoning_summary_text.delta", at(object{"summary_index": 0, "delta": p}))
			}
			add("response.reasoning_summary_text.done", at(object{"summary_index": 0, "text": r.Thinking}))
			add("response.reasoning_summary_part.done", at(object{"summary_index": 0, "part": object{"type": "summary_text", "text": r.Thinking}}))
		case "message":
			open["role"], open["content"] = "assistant", []any{}
			part := object{"type": "output_text", "text": "", "annotations": []any{}}
			add("response.output_item.added", object{"output_index": i, "item": open})
			add("response.content_part.added", at(object{"content_index": 0, "part": part}))
			for _, p := range r.pieces(r.Text) {
				add("response.output_text.delta", at(object{"content_index": 0, "delta": p, "logprobs": []any{}}))
			}
			add("response.output_text.done", at(object{"content_index": 0, "text": r.Text, "logprobs": []any{}}))
			add("response.content_part.done", at(object{"content_index": 0, "part": object{"type": "output_text", "text": r.Text, "annotations": []any{}}}))
		default:
			open["call_id"], open["name"], open["arguments"] = item["call_id"], item["name"], ""
			add("response.output_item.added", object{"output_index": i, "item": open})
			for _, p := range r.pieces(text(item, "arguments")) {
				add("response.function_call_arguments.delta", at(object{"delta": p}))
			}
			add("response.function_call_arguments.done", at(object{"arguments": item["arguments"], "name": item["name"]}))
			if r.Thinking != "" {
				u.thoughts[text(item, "id")] = "rs_" + id
			}
		}
		add("response.output_item.done", object{"output_index": i, "item": item})
	}
	kind := "response.completed"
	if r.Finish != "" {
		kind = "response.incomplete"
	}
	add(kind, object{"response": s.whole(r, id, body)})
	return all
}
