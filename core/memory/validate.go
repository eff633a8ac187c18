package memory

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// The bounds of a memory.
const (
	maxTitleRunes    = 512
	maxContentBytes  = 65_536
	maxTags          = 50
	maxMetadataBytes = 65_536
	maxMetadataDepth = 32
	maxRelationBytes = 64
	minPriority      = 1
	maxPriority      = 10

	// derivedTitleRunes is how much of the content becomes a missing title.
	derivedTitleRunes = 80
)

// The defaults of a memory.
const (
	defaultPriority   = 5
	defaultImportance = 0.5
	defaultConfidence = 1.0
)

// purgedMark stands before the id of a purged memory, where a link led to it. No
// memory's id may begin with it.
const purgedMark = "purged:"

// validID reports whether id can name a memory: not the name of a purged one.
func validID(id string) bool { return core.ValidID(id) && !strings.HasPrefix(id, purgedMark) }

func (p *problems) id(field, id string) {
	if !validID(id) {
		p.add(field, "%q isn't 1 to %d of A-Z a-z 0-9 _ : . @ - without .. (and without %q at its start)", cut(id), core.MaxIDBytes, purgedMark)
	}
}

// text checks what titles and contents have in common.
func (p *problems) text(field, s string) {
	switch {
	case strings.TrimLeftFunc(s, unseen) == "":
		p.add(field, "is blank")
	case !utf8.ValidString(s):
		p.add(field, "isn't UTF-8")
	}
}

// unseen reports whether a character shows nothing.
func unseen(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

func (p *problems) title(title string) {
	p.text("title", title)
	p.over("title", utf8.RuneCountInString(title), maxTitleRunes, "characters")
	control := func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }
	if i := strings.IndexFunc(title, control); i >= 0 {
		r, _ := utf8.DecodeRuneInString(title[i:])
		p.add("title", "has control character %U at byte %d: only line breaks and tabs may be in it", r, i)
	}
}

func (p *problems) content(content string) {
	p.text("content", content)
	p.over("content", len(content), maxContentBytes, "bytes")
}

// maxWordBytes bounds agents' names, tags and idempotency keys.
const maxWordBytes = 128

// word checks a short text that becomes part of a key.
func (p *problems) word(field, s string) {
	p.over(field, len(s), maxWordBytes, "bytes")
	if !printable(s) {
		p.add(field, "%q has a control character or isn't UTF-8", cut(s))
	}
}

func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

func (p *problems) tags(tags []string) {
	p.over("tags", len(tags), maxTags, "tags")
	for i, tag := range tags[:min(len(tags), maxTags)] {
		blank := strings.TrimSpace(tag) == ""
		if !blank && len(tag) <= maxWordBytes && printable(tag) {
			continue
		}
		field := fmt.Sprintf("tags[%d]", i)
		if blank {
			p.add(field, "is blank")
		}
		p.word(field, tag)
	}
}

func (p *problems) unit(field string, f *float64) {
	if f != nil && !(*f >= 0 && *f <= 1) {
		p.add(field, "is %v, not a number from 0 to 1", *f)
	}
}

// occurred reads when something happened; nil where it isn't said.
func (p *problems) occurred(text string, now time.Time) *time.Time {
	if text == "" {
		return nil
	}
	at, err := time.Parse(time.RFC3339, text)
	switch {
	case err != nil:
		p.add("occurred_at", "is %q, not RFC 3339 with an offset, such as 2026-03-01T09:30:00+01:00", cut(text))
	case at.After(now):
		p.add("occurred_at", "is %s, which is in the future", cut(text))
	}
	return &at
}

func (p *problems) priority(n *int) {
	if n != nil && (*n < minPriority || *n > maxPriority) {
		p.add("priority", "is %d, not from %d to %d", *n, minPriority, maxPriority)
	}
}

// metadata checks a JSON object and returns it without white space; nil where
// there is none.
func (p *problems) metadata(data json.RawMessage) json.RawMessage {
	if trimmed := bytes.TrimSpace(data); len(trimmed) == 0 || string(trimmed) == "null" {
		return nil
	}
	p.over("metadata", len(data), maxMetadataBytes, "bytes")
	if len(data) > maxMetadataBytes {
		return nil
	}
	value, err := core.DecodeJSON(data)
	object, isObject := value.(map[string]any)
	switch {
	case err != nil:
		p.add("metadata", "can't be used: %s", sdk.AsError(err).Message)
	case !isObject:
		p.add("metadata", "isn't a JSON object")
	case !utf8.Valid(data):
		p.add("metadata", "isn't UTF-8")
	default:
		p.over("metadata", levels(object), maxMetadataDepth, "levels")
		var b bytes.Buffer
		if json.Compact(&b, data) == nil { // it was decoded, so it can
			return b.Bytes()
		}
	}
	return nil
}

// levels is how deep a decoded value is nested: 0 for what isn't an object or an
// array.
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

func validRelation(relation string) bool {
	if relation == "" || len(relation) > maxRelationBytes {
		return false
	}
	for _, c := range []byte(relation) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return true
}

// derivedTitle is a title for a memory that came without one: the beginning of
// its content, with spaces for what a title can't hold.
func derivedTitle(content string) string {
	runes := []rune(strings.TrimLeftFunc(content[:min(len(content), maxContentBytes)], unseen))
	runes = runes[:min(len(runes), derivedTitleRunes)]
	for i, r := range runes {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			runes[i] = ' '
		}
	}
	return strings.TrimSpace(string(runes))
}

// distinct returns the tags without repetitions, in their order.
func distinct(tags []string) []string {
	var list []string
	for _, tag := range tags {
		if !slices.Contains(list, tag) {
			list = append(list, tag)
		}
	}
	return list
}

// orDefault is what a pointer points to, or a default for nil.
func orDefault[T int | float64](p *T, value T) T {
	if p == nil {
		return value
	}
	return *p
}
