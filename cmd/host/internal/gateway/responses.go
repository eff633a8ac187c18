package gateway

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/core/host/gateway"
	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/modeltext"
)

// responses are OpenAI's responses, as their public description had them in November 2026.
type responses struct{}

func (responses) path() string                 { return "/responses" }
func (responses) family() Family               { return OpenAI }
func (responses) protocol() modeltext.Protocol { return modeltext.Responses }
func (responses) idle() string                 { return ": keep-alive\n" }
func (responses) fault(f *fault) []byte        { return sent("error", f.responses()) }

// read implements [shape].
func (responses) read(r *request, top node) error {
	if top.get("background").is('t') {
		return sdk.Errorf(sdk.Invalid, "background_refused", "background is true: a reply that is made in the background can't be checked, and isn't passed on").
			WithHint("leave background out, and stream the reply").WithDetail("pointer", "/background")
	}
	r.Previous, r.Session = top.get("previous_response_id").str(), sessionIn(top)
	conversation := top.get("conversation")
	for _, id := range []string{r.Previous, conversation.str(), conversation.get("id").str()} {
		if id != "" {
			r.Refers = append(r.Refers, id)
		}
	}
	var is bool
	if r.system, is = memberSlot(top, "instructions"); !is {
		return invalid("/instructions", "instructions is not a text")
	}
	input := top.get("input")
	switch {
	case input.is('"'):
		canonical := []byte(`{"content":[` + string(quote(input.str())) + `],"role":"user"}`)
		r.Messages = []gateway.Message{{Role: gateway.User, Text: input.str(), Canonical: canonical}}
		r.after, _ = memberSlot(top, "input")
		r.slots = []slot{r.after}
	case input.is('[') && !input.empty():
		r.after = userSlot(lastEnd(input))
		if err := readItems(r, input); err != nil {
			return err
		}
	default:
		return invalid("/input", "input is neither a text nor a list of items")
	}
	for tool := range top.get("tools").elements() {
		if tool.get("type").str() == "function" {
			r.Tools = append(r.Tools, gateway.Tool{Name: tool.get("name").str(), Schema: schemaOf(tool.get("parameters"))})
		}
	}
	r.Schema = formatSchema(top.get("text", "format"))
	return nil
}

// readItems reads the conversation. The items of one reply are one message of the assistant, since that is
// how the reply was judged, and consecutive results are one message of the user.
func readItems(r *request, input node) error {
	count, before := 0, true
	for v := range input.elements() {
		if count++; count > maxItems {
			return invalid("/input", "input has more than %d items", maxItems)
		}
		behind := userSlot(v.end)
		role, kind := v.get("role").str(), v.get("type").str()
		partType := "input_text"
		if role == "assistant" {
			partType = "output_text"
		}
		c, err := readContent(v.get("content"), partType, partsOf(v), behind, chatPart)
		if err != nil {
			return err
		}
		m := gateway.Message{Canonical: canonicalMessage(v)}
		switch {
		case kind == "item_reference" || kind == "" && role == "":
			r.Previous, r.Refers = cmp.Or(r.Previous, v.get("id").str()), append(r.Refers, v.get("id").str())
			continue
		case kind == "reasoning":
			if id := v.get("id").str(); id != "" && v.get("encrypted_content").str() == "" { // the upstream has its text
				r.Refers = append(r.Refers, id)
			}
			continue
		case role == "system" || role == "developer":
			if before {
				continue
			}
			if m.Role, m.Text = gateway.Developer, c.text; role == "system" {
				m.Canonical = nil
			}
		case role == "user":
			m.Role, m.Text = gateway.User, c.text
		case role == "assistant":
			m.Role = gateway.Assistant
			m.Text, _ = modeltext.Split(c.text)
		case role != "":
			return invalid("/input/"+strconv.Itoa(count-1)+"/role", "item %d has the unknown role %q", count-1, cut(role))
		case strings.HasSuffix(kind, "_output"):
			m.Role, c.slot = gateway.User, behind
			m.Results = []gateway.Result{{CallID: v.get("call_id").str(), Text: outputText(v.get("output")), Failed: failed(v)}}
		default: // a call, or something hosted
			m.Role, c.slot = gateway.Assistant, behind
			if call, is := itemCall(v); is {
				m.Calls = []gateway.Call{call}
			}
		}
		before = false
		if last := len(r.Messages) - 1; last >= 0 && m.Role == r.Messages[last].Role && (m.Role == gateway.Assistant || m.Results != nil && r.Messages[last].Results != nil) {
			r.join(m, c.slot)
			continue
		}
		r.Messages, r.slots = append(r.Messages, m), append(r.slots, c.slot)
	}
	return nil
}

// outputText is the text of a result: a string, or parts.
func outputText(n node) string {
	if n.is('"') {
		return n.str()
	}
	var texts []string
	for v := range n.elements() {
		texts = append(texts, chatPart(v))
	}
	return strings.Join(texts, "\n")
}

// failed is whether a result is marked as failed.
func failed(item node) bool {
	return item.get("status").str() == "failed" || item.get("status").str() == "incomplete"
}

// itemCall is the call that an item asks the client for: of a function or a custom tool, or of any other
// that has a call_id. What the provider runs itself has none.
func itemCall(v node) (gateway.Call, bool) {
	kind, id := v.get("type").str(), v.get("call_id").str()
	c := gateway.Call{ID: id, Name: cmp.Or(v.get("name").str(), kind), Arguments: v.get("arguments").str(), Unchecked: true}
	if kind == "function_call" {
		c.Unchecked = v.get("namespace").ok() // of a group of tools that isn't read here
		return c, true
	}
	c.Arguments = cmp.Or(v.get("input").str(), string(v.get("action").raw()))
	return c, id != "" && strings.HasSuffix(kind, "_call")
}

// whole implements [shape].
func (responses) whole(_ *request, reply node) (ids []string, calls []gateway.Call) {
	ids = addID(nil, reply)
	for v := range reply.get("output").elements() {
		ids = addID(ids, v)
		if call, is := itemCall(v); is {
			calls = append(calls, call)
		}
	}
	return ids, calls
}

// addID adds the id of a reply or an item, by which a later request may refer to it.
func addID(ids []string, of node) []string {
	id := of.get("id").str()
	if id == "" || len(id) > maxSession || len(ids) > maxCalls || slices.Contains(ids, id) {
		return ids
	}
	return append(ids, id)
}

// events implements [shape].
func (responses) events(*request) eventReader { return &responseEvents{} }

type responseEvents struct {
	names []string
	list  []gateway.Call
}

func (r *responseEvents) ids() []string         { return r.names }
func (r *responseEvents) calls() []gateway.Call { return r.list }

// add implements [eventReader]. A call is read where its item is done. A thought is the beginning of the item
// behind it, without which no upstream takes it back: it waits until that begins.
func (r *responseEvents) add(_ event, v node) kind {
	item := v.get("item")
	r.names = addID(r.names, item)
	switch name := v.get("type").str(); {
	case name == "response.created", name == "response.in_progress", name == "response.queued":
		r.names = addID(r.names, v.get("response"))
		return opening
	case name == "" || strings.HasPrefix(name, "response.reasoning"), item.get("type").str() == "reasoning":
		return opening
	case name == "response.output_item.added", name == "response.output_item.done":
		call, is := itemCall(item)
		if !is {
			return visible
		}
		if name == "response.output_item.done" && len(r.list) < maxCalls {
			r.list = append(r.list, call)
		}
		return calling
	case name == "response.completed" || name == "response.incomplete":
		ids, calls := responses{}.whole(nil, v.get("response"))
		if len(r.names) < 2 && len(r.list) == 0 { // of an upstream that sends no items
			r.names, r.list = ids, calls
		}
	}
	return visible
}

// splice implements [shape]: the items of calls with the thoughts before them, behind the items that the client
// has, and the reply with what it then consists of.
func (responses) splice(shown, all []event) []byte {
	var output []string // the items of the whole reply
	sequence := 0
	for _, e := range shown {
		v := valid(e.data)
		if n, err := strconv.Atoi(string(v.get("sequence_number").raw())); err == nil {
			sequence = n + 1
		}
		if v.get("type").str() == "response.output_item.done" {
			output = append(output, string(v.get("item").raw()))
		}
	}
	place := map[string]string{} // an item's index in the accepted reply, and in the whole
	keep := func(e node) {
		place[string(e.get("output_index").raw())] = strconv.Itoa(len(output))
		output = append(output, string(e.get("item").raw()))
	}
	var thought node
	for _, e := range all {
		v := valid(e.data)
		if v.get("type").str() != "response.output_item.done" {
			continue
		}
		if v.get("item", "type").str() == "reasoning" {
			thought = v
		} else if _, is := itemCall(v.get("item")); is {
			if thought.exists() {
				keep(thought)
			}
			keep(v)
			thought = node{}
		}
	}
	var out []byte
	for _, e := range all {
		v := valid(e.data)
		name := v.get("type").str()
		var edits []edit
		if n := v.get("sequence_number"); n.exists() {
			edits = append(edits, edit{n.at, n.end, []byte(strconv.Itoa(sequence))})
		}
		switch i := v.get("output_index"); {
		case i.exists():
			to, passes := place[string(i.raw())]
			if !passes {
				continue
			}
			edits = append(edits, edit{i.at, i.end, []byte(to)})
		case name == "response.completed" || name == "response.incomplete":
			if o := v.get("response", "output"); o.exists() {
				edits = append(edits, edit{o.at, o.end, []byte("[" + strings.Join(output, ",") + "]")})
			}
		default:
			continue
		}
		sequence++
		out = append(out, sent(e.name, apply(v.text, edits))...)
	}
	return out
}
