package gateway

import (
	"context"
	"net/http"
	"time"

	"github.com/reflectory/reflectory/core/host/gateway"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// A model may be something else, such as a workflow, that gives a text. A client gets it in the shape that it asked for,
// as one piece if it wants a stream.

// Answer is what such a model says.
type Answer struct {
	gateway.Outcome
	// ID names the answer, and At is when it was given.
	ID    string
	At    time.Time
	Text  string
	Usage sdk.Usage
}

// answer serves a request with the model's answer, as the first attempt.
func (x *exchange) answer(ctx context.Context, r *gateway.Request, _ gateway.Upstream) (*gateway.Outcome, error) {
	if len(r.Refers) > 0 {
		return nil, invalid("/previous_response_id", "%s keeps no responses or conversations", cut(r.Model))
	}
	t := &attempt{status: http.StatusOK, header: http.Header{"Content-Type": {"application/json"}}}
	if x.request.Stream {
		t.header.Set("Content-Type", "text/event-stream; charset=utf-8")
		x.keepAlive(t)
	}
	a, err := x.model.Answer(ctx, r)
	if err != nil {
		return nil, err
	}
	t.body = x.shape.made(x.request, a)
	x.attempts[1] = t
	a.Attempt, a.Attempts = 1, 1
	return &a.Outcome, nil
}

// object is a JSON object.
type object = map[string]any

// made implements [shape].
func (chat) made(r *request, a *Answer) []byte {
	whole := func(kind string, choices ...object) object {
		if choices == nil {
			choices = []object{}
		}
		return object{"id": "chatcmpl-" + a.ID, "object": kind, "created": a.At.Unix(), "model": r.Model, "choices": choices}
	}
	usage := object{"prompt_tokens": a.Usage.TokensIn, "completion_tokens": a.Usage.TokensOut, "total_tokens": a.Usage.TokensIn + a.Usage.TokensOut}
	message := object{"role": "assistant", "content": a.Text}
	if !r.Stream {
		o := whole("chat.completion", object{"index": 0, "message": message, "logprobs": nil, "finish_reason": "stop"})
		o["usage"] = usage
		return jsontext.MustEncode(o)
	}
	const chunk = "chat.completion.chunk"
	out := stream("",
		whole(chunk, object{"index": 0, "delta": message, "finish_reason": nil}), whole(chunk, object{"index": 0, "delta": object{}, "finish_reason": "stop"}))
	if r.usage.text == nil { // the client asks for it
		o := whole(chunk)
		o["usage"] = usage
		out = append(out, stream("", o)...)
	}
	return append(out, "data: [DONE]\n\n"...)
}

// made implements [shape].
func (responses) made(r *request, a *Answer) []byte {
	whole := func(status string, usage any, output ...object) object {
		if output == nil {
			output = []object{}
		}
		return object{
			"id": "resp_" + a.ID, "object": "response", "created_at": a.At.Unix(), "status": status, "model": r.Model, "output": output, "usage": usage,
			"error": nil, "incomplete_details": nil,
		}
	}
	part := func(text string) object {
		return object{"type": "output_text", "text": text, "annotations": []object{}}
	}
	item := func(status string, content ...object) object {
		return object{"id": "msg_" + a.ID, "type": "message", "role": "assistant", "status": status, "content": append([]object{}, content...)}
	}
	usage := object{"input_tokens": a.Usage.TokensIn, "output_tokens": a.Usage.TokensOut, "total_tokens": a.Usage.TokensIn + a.Usage.TokensOut}
	done := item("completed", part(a.Text))
	if !r.Stream {
		return jsontext.MustEncode(whole("completed", usage, done))
	}
	at := func(o object) object {
		o["output_index"], o["content_index"], o["item_id"] = 0, 0, done["id"]
		return o
	}
	events := []object{
		{"type": "response.created", "response": whole("in_progress", nil)},
		{"type": "response.in_progress", "response": whole("in_progress", nil)},
		{"type": "response.output_item.added", "output_index": 0, "item": item("in_progress")},
		at(object{"type": "response.content_part.added", "part": part("")}),
		at(object{"type": "response.output_text.delta", "delta": a.Text, "logprobs": []object{}}),
		at(object{"type": "response.output_text.done", "text": a.Text, "logprobs": []object{}}),
		at(object{"type": "response.content_part.done", "part": part(a.Text)}),
		{"type": "response.output_item.done", "output_index": 0, "item": done},
		{"type": "response.completed", "response": whole("completed", usage, done)},
	}
	for i := range events {
		events[i]["sequence_number"] = i
	}
	return stream("type", events...)
}

// made implements [shape].
func (messages) made(r *request, a *Answer) []byte {
	text := func(s string) object { return object{"type": "text", "text": s} }
	whole := object{
		"id": "msg_" + a.ID, "type": "message", "role": "assistant", "model": r.Model, "content": []object{text(a.Text)}, "stop_reason": "end_turn", "stop_sequence": nil,
		"usage": object{"input_tokens": a.Usage.TokensIn, "output_tokens": a.Usage.TokensOut},
	}
	if !r.Stream {
		return jsontext.MustEncode(whole)
	}
	whole["content"], whole["stop_reason"] = []object{}, nil
	return stream("type",
		object{"type": "message_start", "message": whole},
		object{"type": "content_block_start", "index": 0, "content_block": text("")},
		object{"type": "content_block_delta", "index": 0, "delta": object{"type": "text_delta", "text": a.Text}},
		object{"type": "content_block_stop", "index": 0},
		object{"type": "message_delta", "delta": object{"stop_reason": "end_turn", "stop_sequence": nil}, "usage": object{"output_tokens": a.Usage.TokensOut}},
		object{"type": "message_stop"},
	)
}

// stream are events, with the member that names them; "" for none.
func stream(name string, events ...object) (out []byte) {
	for _, e := range events {
		named, _ := e[name].(string)
		out = append(out, sent(named, jsontext.MustEncode(e))...)
	}
	return out
}
