package modeltext

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/reflectory/reflectory/sdk"
)

// Limits of [Value].
const (
	// MaxBytes limits a text: the limit of one plugin message.
	MaxBytes = 8 << 20
	// MaxDepth limits nesting, as everywhere in Reflectory.
	MaxDepth = 256
)

// Notes of [Value]: what was removed to get the value.
const (
	NoteFence = "removed code fence"
	NoteProse = "removed the text around the JSON value"
	NoteBoth  = "removed code fence and the text around it"
)

// Value returns the one JSON value in the answer that a text contains, exactly as it is
// written, and a note that describes what was removed to get it ("" for a text that contains
// only JSON). Thoughts are removed first, see [Split]. It looks for, in this order:
//
//  1. the whole text as one JSON value of any type;
//  2. the one value that fits, if fits isn't nil, in or outside of code fences;
//  3. the one value in a code fence marked json, whatever else there is;
//  4. the one object or array outside of any other; next to others, a list of whole numbers,
//     such as the "[1]" of a citation, doesn't count.
//
// Fences without a mark count as prose. An error is [sdk.Invalid] with the details "line" and
// "column" (characters, both from 1), which its message names too. Its reason is
// json_not_found, json_invalid, json_ambiguous, json_too_deep or json_too_large. The time is
// linear in the length of the text.
func Value(text string, fits func(json.RawMessage) bool) (value json.RawMessage, note string, err error) {
	if len(text) > MaxBytes {
		return nil, "", sdk.Errorf(sdk.Invalid, "json_too_large", "the text has %d bytes (limit %d)", len(text), MaxBytes)
	}
	text = strings.TrimPrefix(text, byteOrderMark)
	whole, wholeErr := scanWhole(text)
	if wholeErr == nil {
		return whole.of(text), "", nil
	}
	if rest := answer(text); rest != text {
		text = rest
		if whole, wholeErr = scanWhole(text); wholeErr == nil {
			return whole.of(text), NoteProse, nil
		}
	}
	fences := fencesIn(text)
	if fits != nil {
		if v, found := fitting(text, fences, fits); found {
			return v.of(text), surroundings(text, v, fences), nil
		}
	}
	if len(fences) > 0 {
		return fromFences(text, fences)
	}
	return fromProse(text, wholeErr)
}

// byteOrderMark starts a text that some programs write.
const byteOrderMark = "\ufeff"

// isWhole reports whether a text is one JSON value.
func isWhole(text string) bool {
	_, wrong := scanWhole(strings.TrimPrefix(text, byteOrderMark))
	return wrong == nil
}

// fitting is the one value that fits: of several, the one in a fence.
func fitting(text string, fences []fence, fits func(json.RawMessage) bool) (span, bool) {
	var fenced, all []span
	for _, f := range fences {
		if f.fault == nil && fits(f.value.of(text)) {
			fenced = append(fenced, f.value)
		}
	}
	if len(fenced) == 1 {
		return fenced[0], true
	}
	found, wrong := valuesIn(text)
	if wrong != nil {
		return span{}, false
	}
	for _, v := range found {
		if fits(v.of(text)) {
			all = append(all, v)
		}
	}
	if len(all) != 1 {
		return span{}, false
	}
	return all[0], true
}

// surroundings is the note for a value.
func surroundings(text string, v span, fences []fence) string {
	for _, f := range fences {
		if f.value == v {
			return fenceNote(text, f)
		}
	}
	return proseNote(text, v)
}

// span is a half-open range of bytes.
type span struct{ start, end int }

func (s span) of(text string) json.RawMessage { return json.RawMessage(text[s.start:s.end]) }

// scanWhole scans a text that contains only one value and white space.
func scanWhole(text string) (span, *fault) {
	s := scanner{text: text}
	s.space()
	start := s.pos
	if err := s.value(0); err != nil {
		return span{}, err
	}
	end := s.pos
	if s.space(); s.pos < len(text) {
		return span{}, s.fault("more text after the JSON value")
	}
	return span{start, end}, nil
}

// fromProse takes the one object or array in a text.
func fromProse(text string, wholeErr *fault) (json.RawMessage, string, error) {
	found, wrong := valuesIn(text)
	if wrong != nil {
		return nil, "", wrong.in(text)
	}
	switch found = withoutCitations(text, found); len(found) {
	case 0:
		return nil, "", notFound(text, wholeErr)
	case 1:
		return found[0].of(text), proseNote(text, found[0]), nil
	}
	return nil, "", ambiguous(text, found, "write one JSON object or array, or mark the one that counts with ```json")
}

// valuesIn lists the objects and arrays in a text, without those inside of others. A broken
// object is a fault. After a failed attempt, scanning continues where the attempt ended, never
// inside it: a part of a broken value isn't the intended value, and the text is read once.
func valuesIn(text string) (found []span, wrong *fault) {
	s := scanner{text: text}
	for s.seek("{[") {
		start := s.pos
		err := s.value(0)
		switch {
		case err == nil:
			found = append(found, span{start, s.pos})
		case err.reason == reasonTooDeep || s.members > 0:
			return nil, err
		}
	}
	return found, nil
}

// withoutCitations removes the lists of whole numbers, unless all values are such lists.
func withoutCitations(text string, found []span) []span {
	rest := slices.DeleteFunc(slices.Clone(found), func(v span) bool { return isCitation(text[v.start:v.end]) })
	if len(rest) == 0 {
		return found
	}
	return rest
}

// isCitation reports whether a list has only whole numbers, such as [1] and [2, 3].
func isCitation(list string) bool {
	return list[0] == '[' && strings.Trim(list, "[]0123456789, ") == "" && len(list) > len("[]")
}

// proseNote distinguishes a value in a fence without a mark from one in prose.
func proseNote(text string, v span) string {
	before, after := strings.TrimSpace(text[:v.start]), strings.TrimSpace(text[v.end:])
	if strings.HasPrefix(before, fenceMark) && !strings.ContainsAny(before, " \n") && after == fenceMark {
		return NoteFence
	}
	return NoteProse
}

// notFound reports a text without object or array. A text that starts like a JSON value
// was meant as one, so the fault in it is more informative.
func notFound(text string, wholeErr *fault) error {
	trimmed := strings.TrimSpace(text)
	if trimmed != "" && strings.ContainsRune(`{["`, rune(trimmed[0])) {
		return wholeErr.in(text)
	}
	return (&fault{reason: reasonNotFound, text: "no JSON value in the text"}).in(text)
}

func ambiguous(text string, found []span, hint string) error {
	f := fault{reason: reasonAmbiguous, pos: found[1].start, text: "a second JSON value"}
	e := f.in(text)
	return e.WithDetail("values", len(found)).WithHint("%s", hint)
}

// Reasons of errors.
const (
	reasonNotFound  = "json_not_found"
	reasonInvalid   = "json_invalid"
	reasonAmbiguous = "json_ambiguous"
	reasonTooDeep   = "json_too_deep"
)

// fault is something wrong at an offset of a text.
type fault struct {
	reason string
	pos    int
	text   string // what is wrong, or else
	wanted string // what was expected there
}

// in turns the fault into an error with its line and column.
func (f *fault) in(text string) *sdk.Error {
	line, column := position(text, f.pos)
	return sdk.Errorf(sdk.Invalid, f.reason, "line %d, column %d: %s", line, column, f.words(text)).
		WithDetail("line", line).WithDetail("column", column)
}

func (f *fault) words(text string) string {
	if f.wanted == "" {
		return f.text
	}
	if f.pos >= len(text) {
		return "the text ends where " + f.wanted + " is expected"
	}
	r, _ := utf8.DecodeRuneInString(text[f.pos:])
	return fmt.Sprintf("found %q where %s is expected", r, f.wanted)
}

// position is the line of an offset, and its column in characters, both from 1.
func position(text string, pos int) (line, column int) {
	before := text[:min(pos, len(text))]
	start := strings.LastIndexByte(before, '\n') + 1
	return strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[start:]) + 1
}
