package modeltext

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/sdk"
)

// A text that a model read may contain what looks like the model's answer, such as a verdict
// on itself. A model that quotes it doesn't say it. So an object that also lies in what the
// model read, as the same value, is a quotation, unless it is all that the model answers.

const (
	// reasonQuoted is the reason for a text whose only fitting objects are quotations.
	reasonQuoted = "json_quoted"
	// maxOwnBytes limits an object that is compared with what the model read. As values, JSON
	// takes up to 280 times its size.
	maxOwnBytes = 256 << 10
	// maxEscapes is how often a text may be escaped as a JSON string: a string in an object in
	// the text of a prompt.
	maxEscapes = 3
	// quoteBudget is how often each byte of what the model read is read on average, at most.
	// JSON rarely nests deeper. If it isn't enough, everything counts as quoted.
	quoteBudget = 32
)

// Own is like [Value] for an object that has one of the members at its top. Sources are the
// texts that the model read: an object that also lies in one of them doesn't count, unless it
// is the whole answer. If the answer has one of the members anywhere else, outside of a
// quotation, no object counts.
func Own(text string, members []string, sources ...string) (value json.RawMessage, note string, err error) {
	value, note, err = own(text, members, sources)
	if err == nil && len(value) > maxOwnBytes {
		return nil, "", sdk.Errorf(sdk.Invalid, "json_too_large", "the JSON value has %d bytes (limit %d)", len(value), maxOwnBytes)
	}
	return value, note, err
}

// Own is [Own] of the reply's content.
func (r *Reply) Own(members []string, sources ...string) (value json.RawMessage, note string, err error) {
	return Own(r.content, members, sources...)
}

func own(text string, members, sources []string) (json.RawMessage, string, error) {
	read := sourceTexts(sources)
	rest := answer(strings.TrimPrefix(text, byteOrderMark))
	value, note, err := Value(rest, nil)
	if err == nil && (note == "" || note == NoteFence) {
		// All that the model answers, if it was the model that ended the thought.
		if rest == strings.TrimPrefix(text, byteOrderMark) || !read.haveTags() || !read.contain(value) {
			return value, note, nil
		}
		return nil, "", quoted()
	}
	named := membersIn(members)
	if named.FindStringIndex(rest) == nil {
		return value, note, err
	}
	found, wrong := valuesIn(rest)
	if wrong != nil {
		return nil, "", wrong.in(rest)
	}
	var candidates, quotations []span
	for _, v := range found {
		switch raw := v.of(rest); {
		case !named.Match(raw) || !hasMember(raw, members):
		case read.contain(raw):
			quotations = append(quotations, v)
		default:
			candidates = append(candidates, v)
		}
		if len(candidates) > 1 {
			return nil, "", ambiguous(rest, candidates, "write one JSON object")
		}
	}
	if len(candidates) == 0 && len(quotations) > 0 {
		return nil, "", quoted()
	}
	if len(candidates) == 0 {
		return value, note, err
	}
	if again := named.FindString(blanked(rest, merged(quotations, candidates))); again != "" {
		return nil, "", sdk.Errorf(sdk.Invalid, reasonAmbiguous, "more than one %s in the text", strings.TrimRight(again, ": \t\r\n"))
	}
	return candidates[0].of(rest), proseNote(rest, candidates[0]), nil
}

func quoted() error {
	return sdk.Errorf(sdk.Invalid, reasonQuoted, "its JSON object is quoted from what the model read")
}

// membersIn matches a member's name and colon, in letters or JSON's escapes.
func membersIn(members []string) *regexp.Regexp {
	var names []string
	for _, m := range members {
		var b strings.Builder
		for _, c := range []byte(m) {
			fmt.Fprintf(&b, `(?:%s|\\u00(?i:%02x))`, regexp.QuoteMeta(string(c)), c)
		}
		names = append(names, b.String())
	}
	return regexp.MustCompile(`"(?:` + strings.Join(names, "|") + `)"\s*:`)
}

// hasMember reports whether a value is an object with one of the members.
func hasMember(raw json.RawMessage, members []string) bool {
	if raw[0] != '{' {
		return false
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		return false
	}
	for _, m := range members {
		if _, has := object[m]; has {
			return true
		}
	}
	return false
}

// sources are the texts that a model read, each also as it is without one or more levels of
// escapes.
type sources []string

func sourceTexts(texts []string) (list sources) {
	for _, text := range texts {
		if strings.Contains(text, "&") {
			list = append(list, html.UnescapeString(text))
		}
		for range maxEscapes + 1 {
			list = append(list, text)
			if !strings.Contains(text, `\`) {
				break
			}
			text = unescaped(text)
		}
	}
	return list
}

// unescaped resolves JSON's escapes in a text, wherever they are.
func unescaped(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for {
		i := strings.IndexByte(text, '\\')
		if i < 0 || i+1 == len(text) {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:i])
		text = text[i+1:]
		n := 1
		switch c := text[0]; c {
		case 'n', 'r', 't', 'b', 'f':
			b.WriteByte(' ')
		case 'u':
			if code, err := strconv.ParseUint(text[1:min(5, len(text))], 16, 16); err == nil && len(text) >= 5 {
				b.WriteRune(rune(code))
				n = 5
			}
		default:
			b.WriteByte(c)
		}
		text = text[n:]
	}
}

// haveTags reports whether a text has what ends a thought.
func (list sources) haveTags() bool {
	for _, text := range list {
		if len(tagsIn(text)) > 0 || strings.Contains(text, channelToken) || strings.Contains(text, bareFinal) {
			return true
		}
	}
	return false
}

// contain reports whether a value lies in one of the texts, written in any way.
func (list sources) contain(value json.RawMessage) bool {
	if len(value) > maxOwnBytes {
		return true
	}
	want, err := canonical(value)
	if err != nil {
		return true
	}
	for _, text := range list {
		if contains(text, want) {
			return true
		}
	}
	return false
}

// contains looks for a value in a text, at each brace or bracket: it may lie in another value,
// or in a broken one.
func contains(text, want string) bool {
	budget := quoteBudget * len(text)
	// Written with escapes for each character it is six times as long.
	limit := 6*len(want) + 1024
	for at := 0; budget >= 0; at++ {
		i := strings.IndexByte(text[at:], want[0])
		if i < 0 {
			return false
		}
		at += i
		s := scanner{text: text, pos: at}
		wrong := s.value(0)
		budget -= s.pos - at + 1
		if wrong != nil {
			continue
		}
		var b bytes.Buffer
		if json.Compact(&b, []byte(text[at:s.pos])) != nil || b.Len() > limit {
			continue
		}
		if have, err := canonical(b.Bytes()); err == nil && have == want {
			return true
		}
	}
	return true
}

// canonical writes a value so that equal values are written equally: members in order, and
// numbers by their value.
func canonical(raw []byte) (string, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return "", err
	}
	text, err := json.Marshal(plainNumbers(v))
	if err != nil || len(text) == 0 {
		return "", errors.Join(err, errors.New("no value"))
	}
	return string(text), nil
}

// plainNumbers replaces the numbers in a value by the nearest float64: a quotation may round.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if f, err := v.Float64(); err == nil {
			return f
		}
		return v.String()
	case map[string]any:
		for name, member := range v {
			v[name] = plainNumbers(member)
		}
	case []any:
		for i, element := range v {
			v[i] = plainNumbers(element)
		}
	}
	return v
}
