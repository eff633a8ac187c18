package abi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/reflectory/reflectory/sdk"
)

// Evaluated is an evaluator's response as JSON. Only in JSON can a response leave out
// whether a verdict is valid. A zero value would then count as "no", and something that
// isn't a verdict, such as {}, would count as one.
type Evaluated struct {
	sdk.EvaluateResponse
	// Instead is what arrived if a verdict, or one of its children, doesn't have the field
	// valid: its JSON, or "nothing". It is "" if all of them have it; otherwise nothing else
	// was decoded.
	Instead string `json:"-"`
}

// maxElements is how many findings and children the verdicts of one response may have
// together, as in package wire: enough for any real verdict. Eight megabytes of empty
// findings, which would decode into a gigabyte, exceed it.
const maxElements = 100_000

// UnmarshalJSON reads a response, and finds out what it leaves out. It looks at the verdict
// before it decodes it, so that what it takes stays in proportion to its size.
func (e *Evaluated) UnmarshalJSON(b []byte) error {
	var response struct {
		Verdict json.RawMessage `json:"verdict"`
	}
	if json.Unmarshal(b, &response) != nil { // it is no object
		e.Instead = string(b)
		return nil
	}
	elements := 0
	e.Instead = instead(response.Verdict, &elements)
	switch {
	case elements > maxElements:
		return fmt.Errorf("the verdict has more than %d findings and children", maxElements)
	case e.Instead != "":
		return nil // it may be of another type, which only a Go programmer would understand
	}
	return json.Unmarshal(b, &e.EvaluateResponse)
}

// instead is [Evaluated.Instead] of a verdict. It adds the verdict's findings and children to
// elements, and stops when there are too many.
func instead(verdict json.RawMessage, elements *int) string {
	var v struct {
		Valid    *bool `json:"valid"`
		Errors   list  `json:"errors"`
		Children list  `json:"children"`
	}
	switch {
	case len(verdict) == 0:
		return "nothing"
	case json.Unmarshal(verdict, &v) != nil || v.Valid == nil:
		return string(verdict)
	}
	if *elements += v.Errors.length + v.Children.length; *elements > maxElements {
		return ""
	}
	var children map[string]json.RawMessage
	_ = json.Unmarshal(v.Children.json, &children) // what isn't an object has no children
	for _, name := range slices.Sorted(maps.Keys(children)) {
		if text := instead(children[name], elements); text != "" {
			return text
		}
	}
	return ""
}

// list is a JSON list or object that isn't decoded, and about how many entries it has: an
// empty one counts as one.
type list struct {
	json   json.RawMessage
	length int
}

// UnmarshalJSON counts the commas between the entries: b is valid.
func (l *list) UnmarshalJSON(b []byte) error {
	l.json, l.length = bytes.Clone(b), 1
	depth, inString := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		case c == ',' && depth == 1:
			l.length++
		}
	}
	return nil
}
