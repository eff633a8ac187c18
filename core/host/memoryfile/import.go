package memoryfile

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// Format is how a file keeps memories.
type Format string

// The formats.
const (
	// MCPMemory is the JSON Lines of MCP's memory server: entities with their observations, and relations.
	MCPMemory Format = "mcp-memory"
	// Mem0 is the JSON that mem0's get_all returns.
	Mem0 Format = "mem0"
	// Markdown is a folder of Markdown files, or one file.
	Markdown Format = "markdown"
	// JSONL is one JSON object per line, with a content or a text.
	JSONL Format = "jsonl"
)

// Formats lists the formats.
func Formats() []Format { return []Format{MCPMemory, Mem0, Markdown, JSONL} }

// The bounds of what is read.
const (
	// MaxBytes bounds a file, and all files of a folder together: 50,000 records have about 25 MB.
	MaxBytes = 256 << 20
	// MaxRecords bounds the memories of one import.
	MaxRecords = 1_000_000
	// maxRecordBytes bounds a line or a record: text and metadata of 64 KiB each, escaped.
	maxRecordBytes = 1 << 20
	// maxSourceBytes bounds what is kept of a record besides its text; metadata has 64 KiB.
	maxSourceBytes = 60 << 10
	// maxTitle is the longest title of a memory, in characters.
	maxTitle = 512
)

// Left is something that was left out.
type Left struct {
	// At is its place, such as "line 12" or "notes/a.md:4".
	At string `json:"at"`
	// What is the record or the part of it.
	What string `json:"what"`
	// Why is the reason.
	Why string `json:"why"`
}

// Import is one import. Its fields are required, except Namespace.
type Import struct {
	Format Format
	// Namespace is the namespace of records that name none.
	Namespace string
	// Now is the present: a record can't be from later.
	Now time.Time
	// Take receives each memory with its place. An error ends the import.
	Take func(at string, r *core.ObserveRequest) error
	// Leave receives what is left out.
	Leave func(Left)

	taken int
}

// Read reads a file of any format but [Markdown], whose folder [Import.ReadFolder] reads. Its errors are
// the errors of Take, and sdk.Invalid, "import_invalid", for a file that can't be read to its end: what comes
// before has been taken.
func (i *Import) Read(from io.Reader) error {
	limited := &io.LimitedReader{R: from, N: MaxBytes}
	read := map[Format]func(io.Reader) error{MCPMemory: i.readGraph, Mem0: i.readMem0, JSONL: i.readJSONL}[i.Format]
	if err := read(limited); err != nil {
		return err
	}
	if limited.N == 0 {
		return invalid("the file has more than %d bytes", MaxBytes).WithHint("import it in parts")
	}
	return nil
}

func invalid(format string, args ...any) *sdk.Error {
	return sdk.Errorf(sdk.Invalid, "import_invalid", format, args...)
}

// leave leaves something out.
func (i *Import) leave(at, what, why string, args ...any) {
	i.Leave(Left{At: at, What: core.Cut(what), Why: fmt.Sprintf(why, args...)})
}

// record is a memory to be, with what its file says of it.
type record struct {
	at    string
	title string
	text  string
	tags  []string
	// time is when it happened, as the file writes it; nil if the file doesn't say.
	time json.RawMessage
	// metadata becomes metadata; source is what else is known, in order. key identifies the record.
	metadata, source []jsontext.Member
	key              []string
	// fields are what the request has besides.
	fields core.ObserveRequest
}

// take makes the request of a record.
func (i *Import) take(rec *record) error {
	if i.taken++; i.taken > MaxRecords {
		return invalid("there are more than %d memories", MaxRecords).WithHint("import them in parts")
	}
	r := rec.fields
	if r.Namespace == "" {
		r.Namespace = i.Namespace
	}
	if r.AgentID == "" { // the same on every machine and for every caller, since the key belongs to an agent
		r.AgentID = "import:" + string(i.Format)
	}
	r.Title, r.Content, r.Tags = titleOf(rec.title), rec.text, rec.tags
	r.OccurredAt = i.occurred(rec)
	if r.OccurredAt == "" && !slices.Contains(r.Tags, undated) {
		r.Tags = append(slices.Clip(r.Tags), undated)
	}
	r.Metadata = i.metadataOf(rec)
	sum := sha256.Sum256(jsontext.MustEncode(append(slices.Clip(rec.key), rec.text)))
	r.IdempotencyKey = "import:" + string(i.Format) + ":" + hex.EncodeToString(sum[:])
	return i.Take(rec.at, &r)
}

// undated is the tag of memories whose time isn't known.
const undated = "undated"

// titleOf is a title that a memory may have: one line, cut.
func titleOf(text string) string {
	line := strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text))
	if utf8.RuneCountInString(line) > maxTitle {
		line = string([]rune(line)[:maxTitle-1]) + "…"
	}
	return line
}

// layouts are the forms of times in files. One without an offset is taken as UTC.
var layouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05", "2006-01-02T15:04Z07:00", "2006-01-02"}

// occurred is when a record happened, in RFC 3339; "" if that isn't known.
func (i *Import) occurred(rec *record) string {
	text := textOf(rec.time)
	if text == "" || text == "null" {
		return ""
	}
	for _, layout := range layouts {
		if at, err := time.Parse(layout, text); err == nil {
			return i.past(rec, at)
		}
	}
	var seconds float64
	if json.Unmarshal([]byte(text), &seconds) == nil && seconds > 0 && seconds < 1e14 {
		if seconds > 1e11 { // milliseconds
			seconds /= 1000
		}
		return i.past(rec, time.Unix(int64(seconds), 0).UTC())
	}
	i.leave(rec.at, "the time "+text, "it isn't a time")
	return ""
}

// past is a time in RFC 3339, unless it is in the future.
func (i *Import) past(rec *record, at time.Time) string {
	if at.After(i.Now) {
		i.leave(rec.at, "the time "+at.Format(time.RFC3339), "it is in the future")
		return ""
	}
	return at.Format(time.RFC3339Nano)
}

// textOf is a JSON text, or any other value as it is written.
func textOf(raw json.RawMessage) (text string) {
	if json.Unmarshal(raw, &text) != nil {
		return string(raw)
	}
	return text
}

// metadataOf is a record's metadata, with where it comes from under "source".
func (i *Import) metadataOf(rec *record) json.RawMessage {
	source := append([]jsontext.Member{member("format", string(i.Format))}, rec.source...)
	members := []jsontext.Member{}
	for _, m := range rec.metadata {
		if m.Key == "source" { // the name is taken
			source = append(source, m)
			continue
		}
		members = append(members, m)
	}
	kept, size := source[:0:0], 0
	for _, m := range source {
		if size += len(m.Key) + len(m.Value); size > maxSourceBytes {
			i.leave(rec.at, m.Key, "there is no room for it in the metadata")
			continue
		}
		kept = append(kept, m)
	}
	return jsontext.JoinMembers(append(members, jsontext.Member{Key: "source", Value: jsontext.JoinMembers(kept)}))
}

func member(key string, value any) jsontext.Member {
	return jsontext.Member{Key: key, Value: jsontext.MustEncode(value)}
}

// objectOf reads a record's object; nil if it was left out.
func (i *Import) objectOf(at string, raw json.RawMessage) []jsontext.Member {
	value, err := jsontext.Decode(raw)
	object, is := value.(map[string]any)
	switch {
	case err != nil:
		i.leave(at, string(raw), "%s", sdk.AsError(err).Message)
	case jsontext.InvalidText(raw) >= 0:
		i.leave(at, string(raw), "it isn't UTF-8 text at byte %d", jsontext.InvalidText(raw)+1)
	case !is:
		i.leave(at, string(raw), "it isn't a JSON object")
	case jsontext.RepeatedKey(raw) != "":
		i.leave(at, string(raw), "the key %q is there twice", core.Cut(jsontext.RepeatedKey(raw)))
	case len(object) == 0:
		i.leave(at, string(raw), "it is empty")
	default:
		return jsontext.Members(raw)
	}
	return nil
}

// split takes members by their names out of an object.
func split(object []jsontext.Member, names ...string) (named map[string]json.RawMessage, rest []jsontext.Member) {
	named = map[string]json.RawMessage{}
	for _, m := range object {
		if slices.Contains(names, m.Key) && string(m.Value) != "null" {
			named[m.Key] = m.Value
		} else {
			rest = append(rest, m)
		}
	}
	return named, rest
}
