package gateway

import (
	"slices"
	"strconv"

	"github.com/reflectory/reflectory/core/host/gateway"
	"github.com/reflectory/reflectory/sdk/modeltext"
)

// messages are Anthropic's messages, version 2023-06-01, as their public description had them in November
// 2026.
type messages struct{}

func (messages) path() string                 { return "/messages" }
func (messages) family() Family               { return Anthropic }
func (messages) protocol() modeltext.Protocol { return modeltext.Messages }
func (messages) idle() string                 { return "event: ping\ndata: {\"type\": \"ping\"}\n\n" }
func (messages) fault(f *fault) []byte        { return sent("error", f.anthropic()) }

// read implements [shape].
func (messages) read(r *request, top node) error {
	list := top.get("messages")
	if !list.is('[') || list.empty() {
		return invalid("/messages", "messages is not a list of messages")
	}
	if system := top.get("system"); system.is('[') {
		r.system = slot{at: system.at + 1, before: `{"type":"text","text":"`, after: `"}`}
		if !system.empty() {
			r.system.at, r.system.before = lastEnd(system), ","+r.system.before
		}
	} else if s, is := memberSlot(top, "system"); is {
		r.system = s
	} else {
		return invalid("/system", "system is neither a text nor a list of texts")
	}
	for tool := range top.get("tools").elements() {
		name := tool.get("name").str()
		if kind := tool.get("type"); kind.ok() && kind.str() != "custom" {
			if r.hosted == nil {
				r.hosted = map[string]bool{}
			}
			r.hosted[name] = true
			continue
		}
		r.Tools = append(r.Tools, gateway.Tool{Name: name, Schema: schemaOf(tool.get("input_schema"))})
	}
	for _, format := range []node{top.get("output_config", "format"), top.get("output_format")} {
		if s := formatSchema(format); s != nil {
			r.Schema = s
		}
	}
	if thread := top.get("thread"); thread.ok() { // the upstream keeps the history
		r.kept = true
		if r.Previous = thread.get("previous_message_id").str(); r.Previous != "" {
			r.Refers = []string{r.Previous}
		}
	}
	r.Session = sessionIn(top)
	return readMessages(r, list)
}

func readMessages(r *request, list node) error {
	count := 0
	r.after = userSlot(lastEnd(list))
	for v := range list.elements() {
		if count++; count > maxItems {
			return invalid("/messages", "messages has more than %d messages", maxItems)
		}
		m := gateway.Message{Canonical: canonicalMessage(v)}
		role := v.get("role").str()
		switch role {
		case "user":
			m.Role = gateway.User
		case "assistant":
			m.Role = gateway.Assistant
		case "system":
			m.Role, m.Canonical = gateway.Developer, nil
		default:
			return invalid("/messages/"+strconv.Itoa(count-1)+"/role", "message %d has the unknown role %q", count-1, cut(role))
		}
		behind := userSlot(v.end)
		c, err := readContent(v.get("content"), "text", partsOf(v), behind, func(part node) string {
			switch part.get("type").str() {
			case "text":
				return part.get("text").str()
			case "tool_use":
				m.Calls = append(m.Calls, r.blockCall(part))
			case "tool_result":
				m.Results = append(m.Results, gateway.Result{
					CallID: part.get("tool_use_id").str(), Text: outputText(part.get("content")), Failed: part.get("is_error").is('t'),
				})
			}
			return ""
		})
		if err != nil {
			return err
		}
		if m.Text = c.text; m.Role == gateway.Assistant {
			m.Text, _ = modeltext.Split(c.text)
		}
		r.Messages, r.slots = append(r.Messages, m), append(r.slots, c.slot)
	}
	// Findings are a part behind results, and before the beginning of the reply that the client wrote itself.
	for i, m := range slices.Backward(r.Messages) {
		if m.Role == gateway.User {
			if m.Results != nil || i < len(r.Messages)-1 {
				r.after = r.slots[i]
			}
			break
		}
	}
	return nil
}

// blockCall is the call in a tool_use block. Its input is JSON itself.
func (r *request) blockCall(block node) gateway.Call {
	name := block.get("name").str()
	return gateway.Call{ID: block.get("id").str(), Name: name, Arguments: string(block.get("input").raw()), Unchecked: r.hosted[name]}
}

// whole implements [shape].
func (messages) whole(r *request, reply node) (ids []string, calls []gateway.Call) {
	if r.kept {
		ids = addID(nil, reply)
	}
	for block := range reply.get("content").elements() {
		if block.get("type").str() == "tool_use" {
			calls = append(calls, r.blockCall(block))
		}
	}
	return ids, calls
}

// events implements [shape].
func (messages) events(r *request) eventReader {
	return &messageEvents{request: r, blocks: map[string]int{}}
}

type messageEvents struct {
	request *request
	names   []string
	list    callList
	// blocks are the calls of the blocks that are open, by the index as it is written.
	blocks map[string]int
}

func (m *messageEvents) ids() []string         { return m.names }
func (m *messageEvents) calls() []gateway.Call { return m.list.calls() }

// add implements [eventReader].
func (m *messageEvents) add(_ event, v node) kind {
	index := string(v.get("index").raw())
	switch v.get("type").str() {
	case "message_start":
		if m.request.kept {
			m.names = addID(m.names, v.get("message"))
		}
		return opening
	case "", "ping":
		return opening
	case "content_block_start":
		block := v.get("content_block")
		if block.get("type").str() != "tool_use" {
			return visible
		}
		if have := m.list.at(len(m.list)); have != nil {
			have.Call = m.request.blockCall(block) // its input is empty until the deltas come
			m.blocks[index] = len(m.list) - 1
		}
		return calling
	case "content_block_delta":
		if i, open := m.blocks[index]; open {
			m.list[i].arguments.WriteString(v.get("delta", "partial_json").str())
			return calling
		}
	case "content_block_stop":
		if _, open := m.blocks[index]; open {
			delete(m.blocks, index)
			return calling
		}
	}
	return visible
}

// splice implements [shape]: the blocks of calls, behind the blocks that the client has, and what ends the
// message.
func (messages) splice(shown, all []event) []byte {
	count := 0
	for _, e := range shown {
		if valid(e.data).get("type").str() == "content_block_start" {
			count++
		}
	}
	places, out := map[string]string{}, []byte(nil)
	for _, e := range all {
		v := valid(e.data)
		index := v.get("index")
		switch v.get("type").str() {
		case "content_block_start":
			if v.get("content_block", "type").str() == "tool_use" {
				places[string(index.raw())] = strconv.Itoa(count + len(places))
			}
		case "message_delta", "message_stop":
			out = append(out, e.raw...)
			continue
		}
		if to, passes := places[string(index.raw())]; passes && index.exists() {
			out = append(out, sent(e.name, apply(v.text, []edit{{index.at, index.end, []byte(to)}}))...)
		}
	}
	return out
}
