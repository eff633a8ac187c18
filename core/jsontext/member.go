package jsontext

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// Member is one member of a JSON object.
type Member struct {
	Key   string
	Value json.RawMessage
}

// Members splits a JSON object and keeps its order. It returns none if the value isn't one
// object.
func Members(object json.RawMessage) []Member {
	dec := json.NewDecoder(bytes.NewReader(object))
	if start, err := dec.Token(); err != nil || start != json.Delim('{') {
		return nil
	}
	var list []Member
	for dec.More() {
		var m Member
		key, err := dec.Token()
		if err != nil || dec.Decode(&m.Value) != nil {
			return nil
		}
		m.Key, _ = key.(string)
		list = append(list, m)
	}
	if _, err := dec.Token(); err != nil {
		return nil
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil // more than one value
	}
	return list
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
		out = append(append(out, MustEncode(m.Key)...), ':')
		if len(m.Value) == 0 {
			out = append(out, "null"...)
		}
		out = append(out, m.Value...)
	}
	return append(out, '}')
}
