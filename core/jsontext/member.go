package jsontext

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Member is one member of a JSON object.
type Member struct {
	Key   string
	Value json.RawMessage
}

// Members splits a JSON object and keeps its order. It returns none if the value isn't one
// object. The values are a copy.
func Members(object json.RawMessage) (list []Member) {
	if !json.Valid(object) {
		return nil
	}
	object = bytes.TrimLeft(object, spaces)
	if object[0] != '{' {
		return nil
	}
	object = bytes.Clone(object)
	for at := 1; ; {
		switch object[at] {
		case '}':
			return list
		case '"':
		default: // a comma or a space
			at++
			continue
		}
		end := endOfValue(object, at)
		m := Member{Key: keyOf(object[at:end])}
		for at = end; object[at] == ':' || strings.IndexByte(spaces, object[at]) >= 0; at++ { //nolint:revive // the loop only counts
		}
		end = endOfValue(object, at)
		m.Value = object[at:end:end]
		if list == nil {
			list = make([]Member, 0, usualMembers)
		}
		list, at = append(list, m), end
	}
}

const (
	// spaces may be between the parts of a JSON text.
	spaces = " \t\r\n"
	// usualMembers is how many members there is room for at first: most objects have no more.
	usualMembers = 8
)

// keyOf is the text of a member's name.
func keyOf(quoted []byte) (key string) {
	if plain := quoted[1 : len(quoted)-1]; !bytes.ContainsFunc(plain, func(c rune) bool { return c == '\\' || c >= utf8.RuneSelf }) {
		return string(plain)
	}
	_ = json.Unmarshal(quoted, &key) // it is a text
	return key
}

// endOfValue is where the value ends that begins at an offset of a valid text.
func endOfValue(valid []byte, at int) int {
	for depth := 0; at < len(valid); at++ {
		switch valid[at] {
		case '"':
			for at++; valid[at] != '"'; at++ {
				if valid[at] == '\\' {
					at++
				}
			}
			if depth == 0 {
				return at + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return at // of the object or list that has it
			}
			if depth == 0 {
				return at + 1
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return at
			}
		}
	}
	return at
}

// JoinMembers makes a JSON object from members, in their order. Their values are used
// unchanged; an empty one is null.
func JoinMembers(list []Member) json.RawMessage {
	size := 2
	for _, m := range list {
		size += len(m.Key) + len(m.Value) + 4
	}
	out := append(make([]byte, 0, size), '{')
	for i, m := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(appendKey(out, m.Key), ':')
		if len(m.Value) == 0 {
			out = append(out, "null"...)
		}
		out = append(out, m.Value...)
	}
	return append(out, '}')
}

// appendKey appends a member's name as [Encode] writes it.
func appendKey(to []byte, key string) []byte {
	for i := range len(key) {
		if c := key[i]; c < ' ' || c == '"' || c == '\\' || c > '~' {
			return append(to, MustEncode(key)...)
		}
	}
	return append(append(append(to, '"'), key...), '"')
}
