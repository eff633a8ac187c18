package gateway

import (
	"cmp"
	"strconv"

	"github.com/reflectory/reflectory/core/host/gateway"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk/modeltext"
)

// chat is OpenAI's chat completions, as their public description had them in November 2026.
type chat struct{}

func (chat) path() string                 { return "/chat/completions" }
func (chat) family() Family               { return OpenAI }
func (chat) protocol() modeltext.Protocol { return modeltext.ChatCompletions }
func (chat) idle() string                 { return ": keep-alive\n" }
func (chat) fault(f *fault) []byte        { return sent("", f.openAI()) }

// read implements [shape].
func (chat) read(r *request, top node) error {
	messages := top.get("messages")
	if !messages.is('[') || messages.empty() {
		return invalid("/messages", "messages is not a list of messages")
	}
	r.system = slot{at: messages.at + 1, before: `{"role":"system","content":"`, after: `"},`}
	if err := readChatMessages(r, messages); err != nil {
		return err
	}
	r.after = userSlot(lastEnd(messages))
	for tool := range top.get("tools").elements() {
		if f := tool.get("function"); tool.get("type").str() == "function" {
			r.Tools = append(r.Tools, gateway.Tool{Name: f.get("name").str(), Schema: schemaOf(f.get("parameters"))})
		}
	}
	r.Schema = formatSchema(top.get("response_format"))
	if n, err := strconv.Atoi(string(top.get("n").raw())); err == nil {
		r.Choices = n
	}
	r.Session = sessionIn(top)
	r.usage = chatUsage(top)
	return nil
}

// schemaOf is a schema's own bytes; nil if there is none.
func schemaOf(n node) []byte {
	if !n.ok() {
		return nil
	}
	return n.raw()
}

// formatSchema is the schema that a format asks for: where its family has it, or next to the type, as llama.cpp's
// server and others take it, with json_object too. It is nil for a format without one.
func formatSchema(format node) []byte {
	if kind := format.get("type").str(); kind != "json_schema" && kind != "json_object" {
		return nil
	}
	if s := schemaOf(format.get("json_schema", "schema")); s != nil {
		return s
	}
	return schemaOf(format.get("schema"))
}

// chatUsage asks for the usage of a stream, unless the client does.
func chatUsage(top node) edit {
	options := top.get("stream_options")
	asked := options.get("include_usage")
	switch {
	case !top.get("stream").is('t'), asked.is('t'):
		return edit{}
	case asked.exists():
		return edit{asked.at, asked.end, []byte("true")}
	case !options.exists():
		return edit{top.at + 1, top.at + 1, []byte(`"stream_options":{"include_usage":true},`)}
	case !options.is('{') || options.empty():
		return edit{options.at, options.end, []byte(`{"include_usage":true}`)}
	}
	return edit{options.at + 1, options.at + 1, []byte(`"include_usage":true,`)}
}

// readChatMessages reads the conversation. The system texts before it are no messages of it; consecutive
// results of tools are one message of the user.
func readChatMessages(r *request, messages node) error {
	count, before, results := 0, true, false
	for v := range messages.elements() {
		if count++; count > maxItems {
			return invalid("/messages", "messages has more than %d messages", maxItems)
		}
		behind := userSlot(v.end)
		c, err := readContent(v.get("content"), "text", partsOf(v), behind, chatPart)
		if err != nil {
			return err
		}
		m := gateway.Message{Text: c.text, Canonical: canonicalMessage(v)}
		role := v.get("role").str()
		switch role {
		case "system", "developer":
			if before {
				r.system = c.slot
				if c.slot == behind {
					r.system.before = `,{"role":"system","content":"`
				}
				continue
			}
			if m.Role = gateway.Developer; role == "system" {
				m.Canonical = nil
			}
		case "user":
			m.Role = gateway.User
		case "assistant":
			m.Role, m.Calls = gateway.Assistant, chatCalls(v.get("tool_calls"))
			m.Text, _ = modeltext.Split(m.Text)
		case "tool", "function":
			m.Role, m.Text, c.slot = gateway.User, "", behind
			m.Results = []gateway.Result{{CallID: v.get("tool_call_id").str(), Text: c.text}}
			if results {
				r.join(m, behind)
				continue
			}
		default:
			return invalid("/messages/"+strconv.Itoa(count-1)+"/role", "message %d has the unknown role %q", count-1, cut(role))
		}
		before, results = false, m.Results != nil
		r.Messages, r.slots = append(r.Messages, m), append(r.slots, c.slot)
	}
	return nil
}

// partsOf separates the texts of a message's parts.
func partsOf(message node) string {
	if message.get("role").str() == "assistant" {
		return ""
	}
	return "\n"
}

func chatPart(part node) string {
	switch part.get("type").str() {
	case "text", "input_text", "output_text":
		return part.get("text").str()
	case "refusal":
		return part.get("refusal").str()
	}
	return ""
}

func chatCalls(list node) (calls []gateway.Call) {
	for v := range list.elements() {
		calls = append(calls, chatCall(v))
	}
	return calls
}

func chatCall(v node) gateway.Call {
	if custom := v.get("custom"); custom.ok() {
		return gateway.Call{ID: v.get("id").str(), Name: custom.get("name").str(), Arguments: custom.get("input").str(), Unchecked: true}
	}
	f := v.get("function")
	return gateway.Call{ID: v.get("id").str(), Name: f.get("name").str(), Arguments: f.get("arguments").str()}
}

// whole implements [shape].
func (chat) whole(_ *request, reply node) ([]string, []gateway.Call) {
	return nil, chatCalls(reply.get("choices").first().get("message", "tool_calls"))
}

// events implements [shape].
func (chat) events(*request) eventReader { return &chatEvents{} }

type chatEvents struct{ list callList }

func (*chatEvents) ids() []string           { return nil }
func (c *chatEvents) calls() []gateway.Call { return c.list.calls() }

// add implements [eventReader].
func (c *chatEvents) add(e event, v node) kind {
	choices := v.get("choices")
	choice := choices.first()
	delta := choice.get("delta")
	kind := opening
	switch {
	case choices.is('[') && choices.empty() && v.get("usage").ok():
		return counting
	case e.data == nil:
		return opening // a comment
	case choice.get("finish_reason").ok(), v.get("error").ok(), string(e.data) == "[DONE]":
		kind = visible
	}
	for name, value := range delta.members() {
		if value.ok() && name != "role" && !(value.is('"') && value.str() == "") {
			kind = visible
		}
	}
	for call := range delta.get("tool_calls").elements() {
		kind = calling
		at := len(c.list)
		if i, err := strconv.Atoi(string(call.get("index").raw())); err == nil {
			at = i
		}
		have := c.list.at(at)
		if have == nil {
			continue
		}
		piece := chatCall(call)
		have.ID, have.Name = cmp.Or(have.ID, piece.ID), cmp.Or(have.Name, piece.Name)
		have.Unchecked = have.Unchecked || piece.Unchecked
		have.arguments.WriteString(piece.Arguments)
	}
	return kind
}

// splice implements [shape]: the chunks of calls, of the end and of the usage, in the envelope of the
// chunks that the client has.
func (chat) splice(shown, all []event) []byte {
	var envelope []byte
	for _, e := range shown {
		if v := valid(e.data); v.get("choices").first().exists() {
			envelope = e.data
			break
		}
	}
	var out []byte
	for _, e := range all {
		v := valid(e.data)
		choice := v.get("choices").first()
		calls, finish, usage := choice.get("delta", "tool_calls"), choice.get("finish_reason"), v.get("usage")
		switch {
		case calls.ok() || finish.ok():
			delta, end := []byte("{}"), []byte("null")
			if calls.ok() {
				delta = jsontext.JoinMembers([]jsontext.Member{{Key: "tool_calls", Value: calls.raw()}})
			}
			if finish.ok() {
				end = finish.raw()
			}
			choice := jsontext.JoinMembers([]jsontext.Member{{Key: "index", Value: []byte("0")}, {Key: "delta", Value: delta}, {Key: "finish_reason", Value: end}})
			out = append(out, sent("", enveloped(envelope, "["+string(choice)+"]", usage))...)
		case v.get("choices").empty() && usage.ok():
			out = append(out, sent("", enveloped(envelope, "[]", usage))...)
		case string(e.data) == "[DONE]":
			out = append(out, e.raw...)
		}
	}
	return out
}

// enveloped is a chunk with other choices and another usage.
func enveloped(chunk []byte, choices string, usage node) []byte {
	var list []jsontext.Member
	for name, v := range root(chunk).members() {
		if name != "choices" && name != "usage" {
			list = append(list, jsontext.Member{Key: name, Value: v.raw()})
		}
	}
	list = append(list, jsontext.Member{Key: "choices", Value: []byte(choices)})
	if usage.exists() {
		list = append(list, jsontext.Member{Key: "usage", Value: usage.raw()})
	}
	return jsontext.JoinMembers(list)
}
