// Package jsontext finds the one JSON value in a text that a language model or
// a person wrote: bare, in a code fence, or with prose around it.
//
// It never guesses. A text with several values, or with a broken value, is an error
// that names the place, so a wrong value is never taken as the answer.
package jsontext

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/reflectory/reflectory/sdk"
)

// Limits of [Extract].
const (
	// MaxBytes limits a text: the limit of one plugin message.
	MaxBytes = 8 << 20
	// MaxDepth limits nesting, as everywhere in Reflectory.
	MaxDepth = 256
)

// Notes of [Extract]: what was removed to get the value.
const (
	NoteFence = "removed code fence"
	NoteProse = "removed the text around the JSON value"
	NoteBoth  = "removed code fence and the text around it"
)

// Extract returns the one JSON value in text exactly as it is written, and a note that
// describes what was removed to get it ("" for a text that contains only JSON). It
// looks for, in this order:
//
//  1. the whole text as one JSON value of any type;
//  2. the one value in a code fence marked json, whatever else there is;
//  3. the one object or array outside of any other.
//
// A leading <think>…</think> is removed first, see [AfterThought]. Fences without a
// mark count as prose. An error is [sdk.Invalid] with the details "line" and "column"
// (characters, both from 1), which its message names too. Its reason is json_not_found,
// json_invalid, json_ambiguous, json_too_deep or json_too_large. The time is linear in
// the length of the text.
func Extract(text string) (value json.RawMessage, note string, err error) {
	return extract(text, func(found []span) []span { return found })
}

// ExtractObject is like [Extract] for an object: if there is an object, lists in the
// prose that contain no object, such as the "[1]" of a citation, don't count.
func ExtractObject(text string) (value json.RawMessage, note string, err error) {
	return extract(text, func(found []span) []span { return besideLists(text, found) })
}

// besideLists removes the lists without an object, unless all values are such lists.
func besideLists(text string, found []span) []span {
	holding := slices.DeleteFunc(slices.Clone(found), func(v span) bool {
		return text[v.start] == '[' && !strings.Contains(text[v.start:v.end], "{")
	})
	if len(holding) == 0 {
		return found
	}
	return holding
}

// extract finds the value. Of the values in prose, only those that choose returns
// count.
func extract(text string, choose func([]span) []span) (value json.RawMessage, note string, err error) {
	if len(text) > MaxBytes {
		return nil, "", sdk.Errorf(sdk.Invalid, "json_too_large", "the text has %d bytes (limit %d)", len(text), MaxBytes)
	}
	text = strings.TrimPrefix(text, "\ufeff")
	whole, wholeErr := scanWhole(text)
	if wholeErr == nil {
		return whole.of(text), "", nil
	}
	if n := thought(text); n > 0 {
		text = blank(text[:n]) + text[n:]
		if whole, wholeErr = scanWhole(text); wholeErr == nil {
			return whole.of(text), NoteProse, nil
		}
	}
	if fences := fencesIn(text); len(fences) > 0 {
		return fromFences(text, fences)
	}
	return fromProse(text, wholeErr, choose)
}

// AfterThought removes what a reasoning model thought before its answer, as a leading
// <think>…</think>, because drafts in there aren't the answer.
func AfterThought(text string) string { return text[thought(text):] }

// thought is the length of the thought at the start of a text, or 0.
func thought(text string) int {
	const open, end = "<think>", "</think>"
	if !strings.HasPrefix(strings.TrimSpace(text), open) {
		return 0
	}
	i := strings.LastIndex(text, end)
	if i < 0 {
		return 0
	}
	return i + len(end)
}

// blank is an empty text with the same number of lines and characters, so that
// positions after it don't change.
func blank(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r != '\n' {
			r = ' '
		}
		b.WriteRune(r)
	}
	return b.String()
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

// fromProse takes the one object or array in a text. After a failed attempt, scanning
// continues where the attempt ended, never inside it: a part of a broken value isn't
// the intended value, and the text is read once.
func fromProse(text string, wholeErr *fault, choose func([]span) []span) (json.RawMessage, string, error) {
	var found []span
	s := scanner{text: text}
	for s.seek("{[") {
		start := s.pos
		err := s.value(0)
		switch {
		case err == nil:
			found = append(found, span{start, s.pos})
		case err.reason == reasonTooDeep || s.members > 0:
			return nil, "", err.in(text)
		}
	}
	switch found = choose(found); len(found) {
	case 0:
		return nil, "", notFound(text, wholeErr)
	case 1:
		return fromSurroundings(text, found[0])
	}
	return nil, "", ambiguous(text, found, "write one JSON object or array, or mark the one that counts with ```json")
}

// fromSurroundings distinguishes a value in a fence without a mark from one in prose.
func fromSurroundings(text string, v span) (json.RawMessage, string, error) {
	before, after := strings.TrimSpace(text[:v.start]), strings.TrimSpace(text[v.end:])
	if strings.HasPrefix(before, fenceMark) && !strings.ContainsAny(before, " \n") && after == fenceMark {
		return v.of(text), NoteFence, nil
	}
	return v.of(text), NoteProse, nil
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
