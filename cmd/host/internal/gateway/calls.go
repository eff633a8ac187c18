package gateway

import (
	"encoding/json"
	"strings"

	"github.com/reflectory/reflectory/core/host/gateway"
)

// maxCalls bounds the calls of one reply: no endpoint documents more than 128 tools.
const maxCalls = 1024

// callList puts calls together that arrive in pieces.
type callList []*callPieces

type callPieces struct {
	gateway.Call
	arguments strings.Builder
}

// at is the call of an index, which begins with it if it is the next one; nil if it is out of order.
func (l *callList) at(i int) *callPieces {
	if i < 0 || i > len(*l) || i >= maxCalls {
		return nil
	}
	if i == len(*l) {
		*l = append(*l, &callPieces{})
	}
	return (*l)[i]
}

func (l callList) calls() []gateway.Call {
	var list []gateway.Call
	for _, c := range l {
		if c.arguments.Len() > 0 {
			c.Arguments = c.arguments.String()
		}
		list = append(list, c.Call)
	}
	return list
}

// valid is the value of a text from an upstream, which doesn't exist if it isn't JSON. The names of its
// objects may be there twice: the first counts.
func valid(text []byte) node {
	if !json.Valid(text) {
		return node{}
	}
	return root(text)
}

// cut shortens a text for a message.
func cut(text string) string { return text[:min(len(text), 60)] }

// unstable are the members of messages that clients write in one request and leave out of the next:
// reasoning, whatever the shape, and what an upstream adds to a reply besides its content.
func unstable(name string) bool {
	switch name {
	case "id", "reasoning", "reasoning_content", "reasoning_details", "thinking", "status", "annotations", "cache_control":
		return true
	}
	return false
}

// cacheMark is left out at any depth.
func cacheMark(name string) bool { return name == "cache_control" }

// canonicalMessage is a message for its digest. A content of one text is the same as a string: clients
// write it as a list where they mark it for a cache.
func canonicalMessage(v node) []byte {
	out := []byte{'{'}
	for _, m := range sortedMembers(v, unstable) {
		if m.name == "type" && m.str() == "message" {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(out, quote(m.name)...), ':')
		switch {
		case m.name == "content" && m.is('['):
			out = canonicalParts(out, m.node)
		case m.name == "content" && m.is('"'):
			out = append(append(append(out, '['), m.raw()...), ']')
		default:
			out = canonical(out, m.node)
		}
	}
	return append(out, '}')
}

// canonicalParts appends the parts of a content; one of nothing but text is its text, and thoughts are left out.
func canonicalParts(out []byte, parts node) []byte {
	out = append(out, '[')
	begin := len(out)
	for v := range parts.elements() {
		value := v
		switch v.get("type").str() {
		case "thinking", "redacted_thinking", "reasoning":
			continue
		case "text", "input_text", "output_text":
			value = v.get("text")
		}
		if len(out) > begin {
			out = append(out, ',')
		}
		out = canonical(out, value)
	}
	return append(out, ']')
}
