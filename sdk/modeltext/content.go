package modeltext

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Part is a piece of content that isn't text, such as an image, or one of an unknown type.
type Part struct {
	// Type is what the endpoint calls it; "" if it gives no type.
	Type string
	// JSON is the part as it came.
	JSON json.RawMessage
}

// Limits of what is kept besides text: no endpoint sends as many.
const (
	maxParts = 64
	maxCalls = 128
	// maxNested is how deep parts may contain parts: a thinking part has text parts.
	maxNested = 4
)

// content is a message's content: text, null, a part, or a list of parts.
type content struct {
	text, thought, refusal string
	parts                  []Part
}

// UnmarshalJSON accepts any value.
func (c *content) UnmarshalJSON(raw []byte) error {
	var r partReader
	r.read(raw, false, 0)
	*c = content{r.text.String(), r.thought.String(), r.refusal.String(), r.parts}
	return nil
}

// thoughts is the content of a field that holds only thoughts, in the same forms.
type thoughts string

// UnmarshalJSON accepts any value.
func (t *thoughts) UnmarshalJSON(raw []byte) error {
	var r partReader
	r.read(raw, true, 0)
	*t = thoughts(r.thought.String())
	return nil
}

// partReader collects what parts say.
type partReader struct {
	text, thought, refusal strings.Builder
	parts                  []Part
}

// read reads a value in the place of content. Inside a thinking part, all text is thought.
func (r *partReader) read(raw []byte, thinking bool, depth int) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || depth > maxNested {
		return
	}
	switch raw[0] {
	case '[':
		d := json.NewDecoder(bytes.NewReader(raw))
		_, _ = d.Token() // the bracket
		for d.More() {
			var element json.RawMessage
			if d.Decode(&element) != nil {
				return
			}
			r.element(element, thinking, depth)
		}
	case '{':
		r.part(raw, thinking, depth)
	default:
		r.write(plain(raw), thinking)
	}
}

// element reads an element of a list of parts: a part, or a bare text.
func (r *partReader) element(raw []byte, thinking bool, depth int) {
	switch raw[0] {
	case '{', '[':
		r.read(raw, thinking, depth+1)
	case '"':
		r.write(plain(raw), thinking)
	case 'n':
	default:
		r.keep("", raw)
	}
}

func (r *partReader) write(text string, thinking bool) {
	if thinking {
		r.thought.WriteString(text)
		return
	}
	r.text.WriteString(text)
}

func (r *partReader) keep(kind string, raw []byte) {
	if len(r.parts) < maxParts {
		r.parts = append(r.parts, Part{kind, json.RawMessage(bytes.Clone(raw))})
	}
}

// part reads an object. Without a type, one that has text is text.
func (r *partReader) part(raw []byte, thinking bool, depth int) {
	var p struct {
		Type      text            `json:"type"`
		Text      json.RawMessage `json:"text"`
		Value     json.RawMessage `json:"value"` // text: {value}
		Content   json.RawMessage `json:"content"`
		Thinking  json.RawMessage `json:"thinking"`
		Reasoning json.RawMessage `json:"reasoning"`
		Summary   json.RawMessage `json:"summary"`
		Refusal   text            `json:"refusal"`
	}
	if json.Unmarshal(raw, &p) != nil {
		return
	}
	kind := strings.ToLower(string(p.Type))
	switch {
	case strings.Contains(kind, "think"), strings.Contains(kind, "reason"), strings.Contains(kind, "thought"):
		r.read(first(p.Thinking, p.Reasoning, p.Text, p.Content, p.Summary), true, depth+1)
	case kind == "refusal":
		r.refusal.WriteString(string(p.Refusal))
		r.refusal.WriteString(plain(p.Text))
	case kind == "text", kind == "output_text", kind == "input_text", kind == "text_delta", kind == "summary_text", kind == "" && present(first(p.Text, p.Value)):
		r.read(first(p.Text, p.Value, p.Content), thinking, depth+1)
	case kind == "message":
		r.read(p.Content, thinking, depth+1)
	case kind == "" && present(p.Thinking):
		r.read(p.Thinking, true, depth+1)
	default:
		r.keep(string(p.Type), raw)
	}
}

// first is the first value that is there.
func first(values ...json.RawMessage) json.RawMessage {
	for _, v := range values {
		if present(v) {
			return v
		}
	}
	return nil
}

func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// text is a JSON string, or any other value as its JSON. null is "".
type text string

// UnmarshalJSON accepts any value.
func (t *text) UnmarshalJSON(raw []byte) error {
	*t = text(plain(raw))
	return nil
}

// plain is the text of a JSON string, or another value as it is written.
func plain(raw []byte) string {
	var s string
	if len(raw) > 0 && json.Unmarshal(raw, &s) != nil {
		s = strings.ToValidUTF8(string(raw), "\uFFFD")
	}
	return s
}
