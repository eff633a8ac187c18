package bounds

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// The bounds of a memory.
const (
	MaxTitleRunes    = 512
	MaxContentBytes  = 65_536
	MaxTags          = 50
	maxMetadataBytes = 65_536
	maxMetadataDepth = 32
	MaxRelationBytes = 64
	MinPriority      = 1
	MaxPriority      = 10

	// derivedTitleRunes is how many characters of the content become the title if none is
	// given.
	derivedTitleRunes = 80
)

// PurgedMark is the prefix of a purged memory's id in a link that ended at it. No memory's
// id may begin with it.
const PurgedMark = "purged:"

// ValidID reports whether id can name a memory: not the name of a purged one.
func ValidID(id string) bool { return core.ValidID(id) && !strings.HasPrefix(id, PurgedMark) }

// ID checks the id of a memory or the name of a session.
func (p *Problems) ID(field, id string) {
	if !ValidID(id) {
		p.Add(field, "%q isn't 1 to %d of A-Z a-z 0-9 _ : . @ - without .. (and may not start with %q)", Shorten(id), core.MaxIDBytes, PurgedMark)
	}
}

// text checks the rules that titles and contents share.
func (p *Problems) text(field, s string) {
	switch {
	case strings.TrimLeftFunc(s, unseen) == "":
		p.Add(field, "is blank")
	case !utf8.ValidString(s):
		p.Add(field, "isn't UTF-8")
	}
}

// unseen reports whether a character is invisible: a text of nothing else is blank.
func unseen(r rune) bool {
	const emptyBraille = '\u2800'
	return unicode.IsSpace(r) || unicode.IsControl(r) || r == emptyBraille || core.Invisible(r)
}

// Title checks the title of a memory.
func (p *Problems) Title(title string) {
	p.text("title", title)
	p.Over("title", utf8.RuneCountInString(title), MaxTitleRunes, "characters")
	control := func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }
	if i := strings.IndexFunc(title, control); i >= 0 {
		r, _ := utf8.DecodeRuneInString(title[i:])
		p.Add("title", "has control character %U at byte %d: only line breaks and tabs may be in it", r, i)
	}
}

// Content checks the content of a memory.
func (p *Problems) Content(content string) {
	p.text("content", content)
	p.Over("content", len(content), MaxContentBytes, "bytes")
}

// MaxNoteRunes bounds what feedback says about its turn.
const MaxNoteRunes = 2000

// Note checks a text about a turn; "" is none.
func (p *Problems) Note(field, s string) {
	if s == "" {
		return
	}
	p.text(field, s)
	p.Over(field, utf8.RuneCountInString(s), MaxNoteRunes, "characters")
}

// maxWordBytes bounds the names of agents, tags and idempotency keys.
const maxWordBytes = 128

// Word checks a short text that becomes part of a key.
func (p *Problems) Word(field, s string) {
	p.Over(field, len(s), maxWordBytes, "bytes")
	if !printable(s) {
		p.Add(field, "%q has a control character or isn't UTF-8", Shorten(s))
	}
}

func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// Tags checks the tags of a memory or of a filter.
func (p *Problems) Tags(tags []string) {
	p.Over("tags", len(tags), MaxTags, "tags")
	for i, tag := range tags[:min(len(tags), MaxTags)] {
		blank := strings.TrimLeftFunc(tag, unseen) == ""
		if !blank && len(tag) <= maxWordBytes && printable(tag) {
			continue
		}
		field := fmt.Sprintf("tags[%d]", i)
		if blank {
			p.Add(field, "is blank")
		}
		p.Word(field, tag)
	}
}

// Unit checks a number from 0 to 1; nil is none.
func (p *Problems) Unit(field string, f *float64) {
	if f != nil && !(*f >= 0 && *f <= 1) {
		p.Add(field, "is %v, not a number from 0 to 1", *f)
	}
}

// Occurred parses the time at which something happened; nil if it isn't given.
func (p *Problems) Occurred(text string, now time.Time) *time.Time {
	if text == "" {
		return nil
	}
	at, err := time.Parse(time.RFC3339, text)
	switch {
	case err != nil:
		p.Add("occurred_at", "is %q, not RFC 3339 with an offset, such as 2026-03-01T09:30:00+01:00", Shorten(text))
	case at.After(now):
		p.Add("occurred_at", "is %s, which is in the future", Shorten(text))
	}
	return &at
}

// Priority checks the priority of a memory; nil is none.
func (p *Problems) Priority(n *int) {
	if n != nil && (*n < MinPriority || *n > MaxPriority) {
		p.Add("priority", "is %d, not from %d to %d", *n, MinPriority, MaxPriority)
	}
}

// Metadata checks a JSON object and returns it without white space; nil if there is none.
func (p *Problems) Metadata(data json.RawMessage) json.RawMessage {
	if trimmed := bytes.TrimSpace(data); len(trimmed) == 0 || string(trimmed) == "null" {
		return nil
	}
	p.Over("metadata", len(data), maxMetadataBytes, "bytes")
	if len(data) > maxMetadataBytes {
		return nil
	}
	value, err := jsontext.Decode(data)
	object, isObject := value.(map[string]any)
	switch {
	case err != nil:
		p.Add("metadata", "can't be decoded: %s", sdk.AsError(err).Message)
	case !isObject:
		p.Add("metadata", "isn't a JSON object")
	case jsontext.InvalidText(data) >= 0:
		p.Add("metadata", "isn't UTF-8 at byte %d", jsontext.InvalidText(data)+1)
	default:
		p.Over("metadata", levels(object), maxMetadataDepth, "levels")
		var b bytes.Buffer
		if json.Compact(&b, data) == nil { // it was decoded, so it can be compacted
			return b.Bytes()
		}
	}
	return nil
}

// levels is how deep a decoded value is nested: 0 if it isn't an object or an array.
func levels(value any) int {
	deepest := -1
	switch v := value.(type) {
	case map[string]any:
		for _, e := range v {
			deepest = max(deepest, levels(e))
		}
		return max(deepest, 0) + 1
	case []any:
		for _, e := range v {
			deepest = max(deepest, levels(e))
		}
		return max(deepest, 0) + 1
	}
	return 0
}

// ValidRelation reports whether a link may have that relation: 1 to [MaxRelationBytes] of a-z
// 0-9 _.
func ValidRelation(relation string) bool {
	if relation == "" || len(relation) > MaxRelationBytes {
		return false
	}
	for _, c := range []byte(relation) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return true
}

// DerivedTitle is a title for a memory that was given none: the start of its content,
// with spaces for characters that a title can't have.
func DerivedTitle(content string) string {
	runes := []rune(strings.TrimLeftFunc(content[:min(len(content), MaxContentBytes)], unseen))
	runes = runes[:min(len(runes), derivedTitleRunes)]
	for i, r := range runes {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			runes[i] = ' '
		}
	}
	return strings.TrimSpace(string(runes))
}

// Kinds checks the kinds of a filter.
func (p *Problems) Kinds(kinds []core.MemoryKind) {
	all := []core.MemoryKind{core.KindObservation, core.KindReflection, core.KindSemantic, core.KindProcedural, core.KindNotification}
	for _, kind := range kinds {
		if !slices.Contains(all, kind) {
			p.Add("kinds", "has %q, not one of %s", Shorten(string(kind)), Words(all))
		}
	}
}

// Query checks the fields that recalls of memories and of knowledge share.
func (p *Problems) Query(query string, limit int, minScore float64) {
	switch {
	case strings.TrimSpace(query) == "":
		p.Add("query", "is blank")
	case !utf8.ValidString(query):
		p.Add("query", "isn't UTF-8")
	}
	p.Over("query", len(query), maxQueryBytes, "bytes")
	if limit < 0 || limit > MaxRecall {
		p.Add("limit", "is %d, not from 0 to %d", limit, MaxRecall)
	}
	if math.IsNaN(minScore) || math.IsInf(minScore, 0) {
		p.Add("min_score", "is %v, not a finite number", minScore)
	}
}

const (
	// MaxRecall is how many memories one recall returns at most.
	MaxRecall = 100
	// maxQueryBytes bounds a query, which may be a whole content.
	maxQueryBytes = MaxContentBytes
	// MaxNamed is how many ids an error message lists.
	MaxNamed = 10
)

// Turn checks a session's name and a turn's number.
func (p *Problems) Turn(session string, turn int64) {
	p.ID("session", session)
	if turn < 0 {
		p.Add("turn", "is %d: turns count from 1", turn)
	}
}
