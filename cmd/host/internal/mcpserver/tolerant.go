package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reflectory/reflectory/cmd/host/internal/jsoncheck"
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
type reading struct {
	notes []string
	// wrong are arguments of which nobody can say what they mean.
	wrong []error
	// strict is whether unknown arguments are refused: of a tool that removes something, since they
	// could be a condition. leaves are arguments that are refused by any tool: see row.
	strict bool
	leaves []string
	known  map[string][]string
	// nulls are arguments that were null.
	nulls []string
}

// note records that the argument at a place was read as something else than it was sent as.
func (r *reading) note(place, sent, read string) { r.say("%s: %s was read as %s", place, sent, read) }

// say adds a note.
func (r *reading) say(format string, args ...any) {
	if len(r.notes) < maxNotes {
		r.notes = append(r.notes, fmt.Sprintf(format, args...))
	}
}

// value is a value as its schema describes it, if it can only mean that.
func (r *reading) value(value json.RawMessage, s *jsonschema.Schema, place string) json.RawMessage {
	value = bytes.TrimSpace(value)
	if s == nil || len(value) == 0 {
		return value
	}
	if len(s.Enum) > 0 {
		return r.word(value, s, place)
	}
	switch kind := jsontext.Kind(value); {
	case kind == "a text":
		value = r.text(value, s, place)
	case kind == "a number" && s.Type == "string" && s.Format == "":
		r.note(place, "the number", "a text")
		value = jsontext.MustEncode(string(value))
	case s.Type == "boolean" && (string(value) == "1" || string(value) == "0"):
		value = r.truth(string(value), place)
	case kind == "an object" && s.Type == "array" && s.Items != nil && s.Items.Type == "object":
		r.note(place, "the object", "a list of one")
		value = jsontext.MustEncode([]json.RawMessage{value})
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
		return jsontext.MustEncode(orEmpty(items))
	}
	return value
}

// truths are words for true and false.
var truths = map[string]string{"true": "true", "yes": "true", "on": "true", "1": "true", "false": "false", "no": "false", "off": "false", "0": "false"}

// truth reads a word as true or false, if it is one.
func (r *reading) truth(text, place string) json.RawMessage {
	read := truths[strings.ToLower(text)]
	if read == "" {
		return nil
	}
	r.note(place, text, read)
	return json.RawMessage(read)
}

// text reads a text for another type: the JSON of a list or an object, a number, true or false,
// or one or several texts for a list of texts.
func (r *reading) text(value json.RawMessage, s *jsonschema.Schema, place string) json.RawMessage {
	var text string
	if json.Unmarshal(value, &text) != nil {
		return value
	}
	switch {
	case s.Format == "date-time":
		return r.time(strings.TrimSpace(text), place)
	case len(s.Examples) > 0:
		return r.example(text, s, place)
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
	sound := func() bool { return jsoncheck.Check(inside, "the text", jsontext.MaxDepth) == nil } // most texts are meant as texts
	switch {
	case s.Type == "object" && strings.HasPrefix(text, "{") && sound():
		return as(inside, "an object")
	case s.Type == "array" && strings.HasPrefix(text, "[") && sound():
		return as(inside, "a list")
	case s.Type == "array" && s.Items != nil && s.Items.Type == "string":
		if list := splitTexts(text); list != nil {
			return as(jsontext.MustEncode(list), "a list")
		}
	case s.Type == "integer" && sound() && jsontext.Kind(inside) == "a number":
		if whole, is := sdk.WholeNumber(inside); is {
			return as(whole, "a number")
		}
	case s.Type == "number" && sound() && jsontext.Kind(inside) == "a number":
		return as(inside, "a number")
	case s.Type == "boolean":
		if read := r.truth(text, place); read != nil {
			return read
		}
	}
	return value
}

// splitTexts are the texts of a list that is written as "a, b", on several lines, or as "['a', 'b']". It
// is nil for what isn't such a list: an empty text, an empty item, or the beginning of other JSON.
func splitTexts(text string) []string {
	quoted := strings.HasPrefix(text, "['") && strings.HasSuffix(text, "']") && !strings.ContainsAny(text, `"\\`)
	if quoted {
		text = text[1 : len(text)-1]
	}
	if text == "" || strings.ContainsAny(text[:1], `[{"`) {
		return nil
	}
	list := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
	if len(list) == 1 {
		list = strings.Split(text, ",")
	}
	for i, item := range list {
		item = strings.TrimSpace(item)
		if quoted {
			if len(item) < 2 || strings.Count(item, "'") != 2 || item[0] != '\'' || item[len(item)-1] != '\'' {
				return nil
			}
			item = item[1 : len(item)-1]
		}
		if list[i] = item; item == "" {
			return nil
		}
	}
	return list
}

// addNotes adds the notes to a result, which is an object.
func (r *reading) addNotes(result json.RawMessage) json.RawMessage {
	if len(r.notes) == 0 {
		return result
	}
	members := jsontext.Members(result)
	if members == nil {
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
