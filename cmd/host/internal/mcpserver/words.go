package mcpserver

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
)

// synonyms are words for which an argument has another one, folded.
var synonyms = map[string]string{
	"succeeded": "success", "successful": "success", "ok": "success", "okay": "success", "pass": "success", "passed": "success", "done": "success",
	"completed": "success", "true": "success", "failed": "failure", "fail": "failure", "error": "failure", "false": "failure", "unsuccessful": "failure",
	"partially": "partial", "partialsuccess": "partial", "mixed": "partial", "fact": "semantic", "facts": "semantic", "procedure": "procedural",
	"howto": "procedural", "skill": "procedural", "episodic": "observation", "event": "observation", "insight": "reflection", "memories": "memory",
	"reflections": "reflection", "plugin": "plugins", "everything": "all", "contradict": "contradicts", "contradiction": "contradicts",
	"supersede": "supersedes", "replaces": "supersedes", "toolfailure": "tool_error", "timedout": "timeout", "permissiondenied": "permission",
	"human": "user", "short": "brief", "concise": "brief", "long": "full", "detailed": "full", "verbose": "full",
}

// word reads one of several words in another case or spelling, and a usual word for one of them.
func (r *reading) word(value json.RawMessage, s *jsonschema.Schema, place string) json.RawMessage {
	var text string
	switch jsontext.Kind(value) {
	case "a text":
		if json.Unmarshal(value, &text) != nil {
			return value
		}
	case "a boolean":
		text = string(value)
	default:
		return value
	}
	if slices.Contains(s.Enum, any(text)) {
		return value
	}
	read := ""
	for _, word := range s.Enum {
		if w, is := word.(string); is && (folded(w) == folded(text) || w == synonyms[folded(strings.TrimSpace(text))]) {
			read = w
		}
	}
	if read == "" {
		return value
	}
	r.note(place, core.Cut(string(value)), read)
	return jsontext.MustEncode(read)
}

// example reads one of the usual words of an argument that may be any word.
func (r *reading) example(text string, s *jsonschema.Schema, place string) json.RawMessage {
	read := text
	for _, e := range s.Examples {
		if w, is := e.(string); is && (folded(w) == folded(text) || w == synonyms[folded(text)]) {
			read = w
		}
	}
	if read != text {
		r.note(place, core.Cut(text), read)
	}
	return jsontext.MustEncode(read)
}

// dateOnly and withoutZone are times that lack a part that RFC 3339 has.
var (
	dateOnly    = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)
	withoutZone = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}:\d{2}$`)
)

// time reads a date, or a time without a zone, as one in UTC.
func (r *reading) time(text string, place string) json.RawMessage {
	read := text
	switch {
	case dateOnly.MatchString(text):
		read += "T00:00:00Z"
	case withoutZone.MatchString(text):
		read = strings.Replace(text, " ", "T", 1) + "Z"
	}
	if read != text {
		r.note(place, core.Cut(text), read)
	}
	return jsontext.MustEncode(read)
}
