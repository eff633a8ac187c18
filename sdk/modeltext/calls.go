package modeltext

import (
	"cmp"
	"encoding/json"
	"strings"
)

// callList collects tool calls, whose arguments arrive in pieces.
type callList struct{ list []ToolCall }

func (l *callList) add(raw json.RawMessage) {
	if len(raw) == 0 || raw[0] != '[' {
		return
	}
	d := json.NewDecoder(strings.NewReader(string(raw)))
	_, _ = d.Token() // the bracket
	for at := 0; d.More() && at < maxCalls; at++ {
		var c struct {
			Index    *count `json:"index"`
			ID       text   `json:"id"`
			Function struct {
				Name      text `json:"name"`
				Arguments text `json:"arguments"`
			} `json:"function"`
		}
		if d.Decode(&c) != nil {
			return
		}
		i := len(l.list)
		if c.Index != nil {
			i = int(*c.Index)
		}
		if i > len(l.list) || i >= maxCalls {
			continue
		}
		if i == len(l.list) {
			l.list = append(l.list, ToolCall{})
		}
		have := &l.list[i]
		have.ID, have.Name = cmp.Or(have.ID, string(c.ID)), cmp.Or(have.Name, string(c.Function.Name))
		have.Arguments += string(c.Function.Arguments)
	}
}

// extend adds to the arguments of the last call.
func (l *callList) extend(arguments string) {
	if n := len(l.list); n > 0 {
		l.list[n-1].Arguments += arguments
	}
}

// addParts adds the calls among parts: tool_use of the messages protocol, and function_call of the
// responses protocol.
func (l *callList) addParts(parts []Part) {
	for _, p := range parts {
		if call, is := p.call(); is && len(l.list) < maxCalls {
			l.list = append(l.list, call)
		}
	}
}

// call is the call that a part asks for.
func (p Part) call() (call ToolCall, is bool) {
	if p.Type != "tool_use" && p.Type != "function_call" {
		return call, false
	}
	var c struct {
		ID        text            `json:"id"`
		CallID    text            `json:"call_id"`
		Name      text            `json:"name"`
		Arguments text            `json:"arguments"`
		Input     json.RawMessage `json:"input"`
	}
	if json.Unmarshal(p.JSON, &c) != nil {
		return call, false
	}
	return ToolCall{string(cmp.Or(c.CallID, c.ID)), string(c.Name), cmp.Or(string(c.Arguments), string(c.Input))}, true
}

// beginCall makes a call of a part that begins one in a stream, whose arguments follow.
func (m *message) beginCall() {
	for _, p := range m.Content.parts {
		call, is := p.call()
		if !is {
			continue
		}
		function := map[string]string{"name": call.Name}
		m.ToolCalls, _ = json.Marshal([]any{map[string]any{"id": call.ID, "function": function}}) // texts: it can't fail
		m.Content.parts = nil
		return
	}
}
