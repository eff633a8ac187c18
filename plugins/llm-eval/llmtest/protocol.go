package llmtest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The paths of the protocols that the server speaks.
const (
	PathChat      = "/v1/chat/completions" // OpenAI's chat completions
	PathResponses = "/v1/responses"        // OpenAI's responses
	PathMessages  = "/v1/messages"         // Anthropic's messages, of version 2023-06-01
	PathOllama    = "/api/chat"            // Ollama's own
)

// Paths lists the paths of all protocols.
func Paths() []string { return []string{PathChat, PathResponses, PathMessages, PathOllama} }

// fields are what the protocols' descriptions of November 2026 allow in a request; a request of
// chat completions may hold any, since endpoints have their own.
var fields = map[string]string{
	PathResponses: "model input instructions temperature top_p max_output_tokens text reasoning stream store metadata tools tool_choice parallel_tool_calls",
	PathMessages:  "model messages max_tokens system temperature top_p top_k stop_sequences output_config thinking stream metadata tools tool_choice",
	PathOllama:    "model messages format think options stream truncate shift keep_alive tools",
	"options":     "num_ctx num_predict temperature top_p top_k seed stop min_p num_keep repeat_penalty",
}

// wrong is what is wrong with a request; "" if nothing is.
func (r *Request) wrong() string {
	var sent map[string]json.RawMessage
	if json.Unmarshal(r.Body, &sent) != nil {
		return "it isn't an object"
	}
	if unknown := r.unknown(r.Path, sent); unknown != "" {
		return unknown
	}
	turns := r.Messages
	required := []string{"model", "messages"}
	switch r.Path {
	case PathMessages:
		required = append(required, "max_tokens")
		for i, m := range turns {
			if want := []string{"user", "assistant"}[i%2]; m.Role != want {
				return fmt.Sprintf("message %d is the %s's, not the %s's", i, m.Role, want)
			}
		}
		if r.Header.Get("Anthropic-Version") == "" {
			return "it has no anthropic-version"
		}
	case PathResponses:
		required = []string{"model", "input", "store"}
		turns = r.Input
	case PathOllama:
		required = append(required, "stream", "options")
		var options map[string]json.RawMessage
		_ = json.Unmarshal(sent["options"], &options)
		if unknown := r.unknown("options", options); unknown != "" {
			return unknown
		}
	}
	for _, name := range required {
		if sent[name] == nil {
			return "it has no " + name
		}
	}
	if len(turns) == 0 {
		return "it has no messages"
	}
	return ""
}

func (r *Request) unknown(of string, sent map[string]json.RawMessage) string {
	known := strings.Fields(fields[of])
	for name := range sent {
		if len(known) > 0 && !slices.Contains(known, name) {
			return "it has an unknown field " + name
		}
	}
	return ""
}

// normalize fills the fields of a request that chat completions call otherwise.
func (r *Request) normalize() {
	var own struct {
		System       string
		Instructions string
		MaxOutput    *int64          `json:"max_output_tokens"`
		Output       json.RawMessage `json:"output_config"`
		Text         json.RawMessage
		Format       json.RawMessage
		Options      struct {
			Temperature *float64
			NumPredict  *int64 `json:"num_predict"`
		}
	}
	_ = json.Unmarshal(r.Body, &own) // what can't be read isn't asserted either
	if r.Path == PathResponses {
		r.Messages = r.Input
	}
	if system := own.System + own.Instructions; system != "" {
		r.Messages = append([]Message{{Role: "system", Content: system}}, r.Messages...)
	}
	r.Temperature = cmp.Or(r.Temperature, own.Options.Temperature)
	r.MaxTokens = cmp.Or(r.MaxTokens, own.MaxOutput, own.Options.NumPredict)
	for _, format := range []json.RawMessage{own.Format, own.Text, own.Output} {
		if r.ResponseFormat == nil && (r.Path == PathOllama || bytes.Contains(format, []byte(`"format"`))) {
			r.ResponseFormat = format
		}
	}
}

// said is a part of a reply.
type said struct{ kind, text string }

// parts are what a reply says, in order.
func (r Reply) parts() (list []said) {
	if r.Thought != "" {
		list = append(list, said{"thinking", r.Thought})
	}
	if r.Message == "" {
		return append(list, said{"text", r.Text})
	}
	var m struct {
		Content          json.RawMessage
		ReasoningContent string `json:"reasoning_content"`
		Reasoning        string
	}
	_ = json.Unmarshal([]byte(r.Message), &m) // the test wrote it
	if thought := m.ReasoningContent + m.Reasoning; thought != "" {
		list = append(list, said{"thinking", thought})
	}
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		return append(list, said{"text", text})
	}
	var blocks []struct {
		Type, Text string
		Thinking   []struct{ Text string }
	}
	_ = json.Unmarshal(m.Content, &blocks)
	for _, b := range blocks {
		for _, t := range b.Thinking {
			list = append(list, said{"thinking", t.Text})
		}
		if b.Type == "text" {
			list = append(list, said{"text", b.Text})
		}
	}
	return list
}

// Written is the reply in the protocol of a path, with its content type.
func (r Reply) Written(path, model string, stream bool) (contentType, body string) {
	switch {
	case path == PathMessages && stream:
		return "text/event-stream", r.messageEvents(model)
	case path == PathMessages:
		return "application/json", encode(r.message(model, r.blocks(), r.stopReason()))
	case path == PathResponses && stream:
		return "text/event-stream", r.responseEvents(model)
	case path == PathResponses:
		return "application/json", encode(r.response(model))
	case path == PathOllama && stream:
		return "application/x-ndjson", r.ollamaLines(model)
	case path == PathOllama:
		text, thought := r.joined()
		return "application/json", encode(r.ollamaLine(model, text, thought, true)) + "\n"
	case stream:
		return "text/event-stream", r.events(model)
	}
	return "application/json", r.completion(model)
}

// chunks are a text in pieces that end between characters.
func chunks(text string) (list []string) {
	for text != "" {
		n := min(chunkBytes, len(text))
		for n < len(text) && text[n]&0xC0 == 0x80 { // never within a character
			n++
		}
		list, text = append(list, text[:n]), text[n:]
	}
	return list
}

func (r Reply) counts() map[string]any {
	return map[string]any{"input_tokens": cmp.Or(r.In, TokensIn), "output_tokens": cmp.Or(r.Out, TokensOut)}
}

func event(b *strings.Builder, kind string, data map[string]any) {
	data["type"] = kind
	fmt.Fprintf(b, "event: %s\ndata: %s\n\n", kind, encode(data))
}

func (r Reply) stopReason() string {
	switch {
	case r.Refusal != "":
		return cmp.Or(r.Finish, "refusal")
	case len(r.Calls) > 0:
		return cmp.Or(r.Finish, "tool_use")
	}
	return cmp.Or(r.Finish, "end_turn")
}

func (r Reply) blocks() []any {
	list := []any{}
	for _, p := range r.parts() {
		if p.kind == "thinking" {
			list = append(list, map[string]any{"type": "thinking", "thinking": p.text, "signature": "c2ln"}, map[string]any{"type": "redacted_thinking", "data": "eHg="})
			continue
		}
		list = append(list, map[string]any{"type": "text", "text": p.text})
	}
	for _, c := range r.Calls {
		list = append(list, map[string]any{"type": "tool_use", "id": c.ID, "name": c.Name, "input": json.RawMessage(c.Arguments)})
	}
	return list
}

func (r Reply) message(model string, content []any, reason any) map[string]any {
	if reason == NoFinish {
		reason = nil
	}
	return map[string]any{
		"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": content,
		"stop_reason": reason, "stop_sequence": nil, "usage": r.counts(),
	}
}

func (r Reply) messageEvents(model string) string {
	var b strings.Builder
	event(&b, "message_start", map[string]any{"message": r.message(model, []any{}, nil)})
	event(&b, "ping", map[string]any{})
	for i, p := range r.parts() {
		key := p.kind
		event(&b, "content_block_start", map[string]any{"index": i, "content_block": map[string]any{"type": key, key: ""}})
		for _, piece := range chunks(p.text) {
			event(&b, "content_block_delta", map[string]any{"index": i, "delta": map[string]any{"type": key + "_delta", key: piece}})
		}
		if key == "thinking" {
			event(&b, "content_block_delta", map[string]any{"index": i, "delta": map[string]any{"type": "signature_delta", "signature": "c2ln"}})
		}
		event(&b, "content_block_stop", map[string]any{"index": i})
	}
	for i, c := range r.Calls {
		at := len(r.parts()) + i
		event(&b, "content_block_start", map[string]any{"index": at, "content_block": map[string]any{"type": "tool_use", "id": c.ID, "name": c.Name, "input": map[string]any{}}})
		for _, piece := range chunks(c.Arguments) {
			event(&b, "content_block_delta", map[string]any{"index": at, "delta": map[string]any{"type": "input_json_delta", "partial_json": piece}})
		}
		event(&b, "content_block_stop", map[string]any{"index": at})
	}
	event(&b, "message_delta", map[string]any{"delta": map[string]any{"stop_reason": r.stopReason(), "stop_sequence": nil}, "usage": map[string]any{"output_tokens": cmp.Or(r.Out, TokensOut)}})
	event(&b, "message_stop", map[string]any{})
	return b.String()
}

func (r Reply) response(model string) map[string]any {
	status, details := "completed", any(nil)
	if r.Finish != "" && r.Finish != NoFinish {
		status, details = "incomplete", map[string]any{"reason": r.Finish}
	}
	output, content := []any{}, []any{}
	for _, p := range r.parts() {
		if p.kind == "thinking" {
			output = append(output, map[string]any{"type": "reasoning", "id": "rs_1", "summary": []any{map[string]any{"type": "summary_text", "text": p.text}}})
			continue
		}
		content = append(content, map[string]any{"type": "output_text", "text": p.text, "annotations": []any{}})
	}
	if r.Refusal != "" {
		content = []any{map[string]any{"type": "refusal", "refusal": r.Refusal}}
	}
	output = append(output, map[string]any{"type": "message", "id": "msg_1", "role": "assistant", "status": status, "content": content})
	for _, c := range r.Calls {
		output = append(output, map[string]any{"type": "function_call", "id": "fc_1", "call_id": c.ID, "name": c.Name, "arguments": c.Arguments, "status": "completed"})
	}
	return map[string]any{
		"id": "resp_1", "object": "response", "model": model, "status": status, "error": nil,
		"incomplete_details": details, "output": output, "usage": r.counts(),
	}
}

func (r Reply) responseEvents(model string) string {
	var b strings.Builder
	event(&b, "response.created", map[string]any{"response": map[string]any{"object": "response", "status": "in_progress", "model": model, "output": []any{}}})
	kinds := map[string]string{"thinking": "response.reasoning_summary_text", "text": "response.output_text"}
	list := r.parts()
	if r.Refusal != "" {
		list = []said{{"refusal", r.Refusal}}
		kinds["refusal"] = "response.refusal"
	}
	for i, p := range list {
		event(&b, "response.output_item.added", map[string]any{"output_index": i, "item": map[string]any{"type": "message", "content": []any{}}})
		for _, piece := range chunks(p.text) {
			event(&b, kinds[p.kind]+".delta", map[string]any{"output_index": i, "delta": piece})
		}
		event(&b, kinds[p.kind]+".done", map[string]any{"output_index": i, "text": p.text})
	}
	last := r.response(model)
	event(&b, "response."+last["status"].(string), map[string]any{"response": last})
	return b.String()
}

// joined are the texts and the thoughts, each as one.
func (r Reply) joined() (text, thought string) {
	for _, p := range r.parts() {
		if p.kind == "thinking" {
			thought += p.text
			continue
		}
		text += p.text
	}
	return text, thought
}

func (r Reply) ollamaLine(model, text, thought string, done bool) map[string]any {
	message := map[string]any{"role": "assistant", "content": text}
	if thought != "" {
		message["thinking"] = thought
	}
	line := map[string]any{"model": model, "created_at": "2026-11-28T00:00:00Z", "message": message, "done": done}
	if done && len(r.Calls) > 0 {
		message["tool_calls"] = r.calls(true)
	}
	if done {
		line["done_reason"] = strings.ReplaceAll(cmp.Or(r.Finish, "stop"), NoFinish, "")
		line["prompt_eval_count"], line["eval_count"] = cmp.Or(r.In, TokensIn), cmp.Or(r.Out, TokensOut)
	}
	return line
}

func (r Reply) ollamaLines(model string) string {
	var b strings.Builder
	for _, p := range r.parts() {
		for _, piece := range chunks(p.text) {
			line := r.ollamaLine(model, piece, "", false)
			if p.kind == "thinking" {
				line = r.ollamaLine(model, "", piece, false)
			}
			b.WriteString(encode(line) + "\n")
		}
	}
	return b.String() + encode(r.ollamaLine(model, "", "", true)) + "\n"
}
