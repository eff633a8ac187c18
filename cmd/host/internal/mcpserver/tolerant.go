package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reflectory/reflectory/cmd/host/internal/jsoncheck"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// Models often send an argument in another form than its schema says: null for nothing, a
// number or a list as text. Where only one reading is possible, the argument is read in that
// way, and the result has a note about it. Anything else stays as it is and is refused. HTTP
// has programs as its callers, and reads nothing in this way.

// maxNotes is how many notes a result has: the later ones say the same about other items.
const maxNotes = 8

// reading reads a call's arguments by the schema of its tool.
type reading struct{ notes []string }

// note records that the argument at a place was read as something else than it was sent as.
func (r *reading) note(place, sent, read string) {
	if len(r.notes) < maxNotes {
		r.notes = append(r.notes, fmt.Sprintf("%s: %s was read as %s", place, sent, read))
	}
}

// value is a value as its schema describes it, if it can only mean that.
func (r *reading) value(value json.RawMessage, s *jsonschema.Schema, place string) json.RawMessage {
	value = bytes.TrimSpace(value)
	if s == nil || len(value) == 0 {
		return value
	}
	if value[0] == '"' {
		value = r.text(value, s, place)
	}
	switch {
	case s.Type == "object" && value[0] == '{':
		return r.object(value, s, place)
	case s.Type == "array" && value[0] == '[' && s.Items != nil:
		var items []json.RawMessage
		if json.Unmarshal(value, &items) != nil {
			return value
		}
		for i, item := range items {
			items[i] = r.value(item, s.Items, place+"/"+strconv.Itoa(i))
		}
		return jsontext.MustEncode(items)
	}
	return value
}

// object reads the members of an object. A member that is null is absent, unless it may be any
// value.
func (r *reading) object(object json.RawMessage, s *jsonschema.Schema, place string) json.RawMessage {
	list := jsontext.Members(object)
	if list == nil || len(s.Properties) == 0 {
		return object
	}
	read := make([]jsontext.Member, 0, len(list))
	for _, m := range list {
		p := s.Properties[m.Key]
		if p != nil && p.Type != "" && string(m.Value) == "null" {
			continue
		}
		at := core.Cut(m.Key)
		if place != "" {
			at = place + "/" + at
		}
		read = append(read, jsontext.Member{Key: m.Key, Value: r.value(m.Value, p, at)})
	}
	return jsontext.JoinMembers(read)
}

// text reads a text for another type: the JSON of a list or an object, a number, true or false,
// or one or several texts for a list of texts.
func (r *reading) text(value json.RawMessage, s *jsonschema.Schema, place string) json.RawMessage {
	var text string
	if json.Unmarshal(value, &text) != nil {
		return value
	}
	text = strings.TrimSpace(text)
	inside := json.RawMessage(text)
	if place == "" {
		place = "the arguments"
	}
	as := func(read json.RawMessage, what string) json.RawMessage {
		r.note(place, "the text", what)
		return read
	}
	sound := jsoncheck.Check(inside, "the text", jsontext.MaxDepth) == nil
	switch {
	case s.Type == "object" && sound && text[0] == '{':
		return as(inside, "an object")
	case s.Type == "array" && sound && text[0] == '[':
		return as(inside, "a list")
	case s.Type == "array" && s.Items != nil && s.Items.Type == "string":
		if list := splitTexts(text); list != nil {
			return as(jsontext.MustEncode(list), "a list")
		}
	case s.Type == "integer" && sound && jsontext.Kind(inside) == "a number":
		if whole, is := sdk.WholeNumber(inside); is {
			return as(whole, "a number")
		}
	case s.Type == "number" && sound && jsontext.Kind(inside) == "a number":
		return as(inside, "a number")
	case s.Type == "boolean" && (strings.EqualFold(text, "true") || strings.EqualFold(text, "false")):
		return as(json.RawMessage(strings.ToLower(text)), "true or false")
	}
	return value
}

// splitTexts are the texts of a list that is written as "a, b". It is nil for what isn't such a
// list: an empty text, an empty item, or the beginning of JSON.
func splitTexts(text string) []string {
	if text == "" || strings.ContainsAny(text[:1], `[{"`) {
		return nil
	}
	list := strings.Split(text, ",")
	for i, item := range list {
		if list[i] = strings.TrimSpace(item); list[i] == "" {
			return nil
		}
	}
	return list
}

// addNotes adds the notes to a result, which is an object.
func (r *reading) addNotes(result json.RawMessage) json.RawMessage {
	members := jsontext.Members(result)
	if len(r.notes) == 0 || members == nil {
		return result
	}
	for i, m := range members {
		var own []string
		if m.Key == "notes" && json.Unmarshal(m.Value, &own) == nil {
			members[i].Value = jsontext.MustEncode(append(own, r.notes...))
			return jsontext.JoinMembers(members)
		}
	}
	return jsontext.JoinMembers(append(members, jsontext.Member{Key: "notes", Value: jsontext.MustEncode(r.notes)}))
}
