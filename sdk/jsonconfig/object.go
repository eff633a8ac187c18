package jsonconfig

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/sdk"
)

// Object is one JSON object of a config. The objects inside it, from [Object.Object]
// and [Object.Each], add to the same problems. It is not safe for concurrent use.
type Object struct {
	path     string // what precedes a key in messages: "" or "llm."
	raw      map[string]json.RawMessage
	known    []string
	problems *[]string
}

// Read reads a config. If it isn't an object, this is its first problem; empty input is
// an empty config.
func Read(data json.RawMessage) *Object { return read(data, "", new([]string)) }

func read(raw json.RawMessage, path string, problems *[]string) *Object {
	o := &Object{path: path, problems: problems}
	if len(bytes.TrimSpace(raw)) == 0 {
		return o
	}
	if err := json.Unmarshal(raw, &o.raw); err != nil {
		what := strings.TrimSuffix(cmp.Or(path, "the config"), ".")
		if json.Valid(raw) {
			o.add("%s is %s, not an object", what, TypeName(raw))
		} else {
			o.add("%s is not JSON: %v", what, err)
		}
	}
	return o
}

func (o *Object) add(format string, args ...any) {
	*o.problems = append(*o.problems, fmt.Sprintf(format, args...))
}

// Report adds a problem of the object. Its text begins with the key.
func (o *Object) Report(format string, args ...any) {
	o.add("%s%s", o.path, fmt.Sprintf(format, args...))
}

// Has reports whether a key has a value; null counts as absent.
func (o *Object) Has(key string) bool {
	o.known = append(o.known, key)
	raw, ok := o.raw[key]
	return ok && TypeName(raw) != "null"
}

// Take decodes a key's value to the address in into, and reports whether it did. The
// parameter what is the type in the words of a message, such as "a number". An integer may be
// written as 5.0 or 5e0, which templates and YAML make of whole numbers.
func (o *Object) Take(key, what string, into any) bool {
	if !o.Has(key) {
		return false
	}
	err := json.Unmarshal(o.raw[key], into)
	if whole, is := sdk.WholeNumber(o.raw[key]); err != nil && is {
		err = json.Unmarshal(whole, into)
	}
	if err != nil {
		o.Report("%s is %s, not %s", key, TypeName(o.raw[key]), what)
		return false
	}
	return true
}

// OneOf decodes a key whose value is one of a few names. If the key is absent, the
// value in into is the default, which must be one of the names or "".
func (o *Object) OneOf(key string, into *string, names ...string) {
	if !o.Take(key, "text", into) || slices.Contains(names, *into) {
		return
	}
	hint := ""
	if near := sdk.Nearest(*into, names); near != "" {
		hint = fmt.Sprintf(" (did you mean %q?)", near)
	}
	o.Report("%s %.64q is not one of %s%s", key, *into, strings.Join(names, ", "), hint)
}

// Object reads the object under a key.
func (o *Object) Object(key string) *Object {
	if !o.Has(key) {
		return read(nil, o.path+key+".", o.problems)
	}
	return read(o.raw[key], o.path+key+".", o.problems)
}

// Each reads the objects of the list under a key, one after the other.
func (o *Object) Each(key string, take func(item *Object)) {
	var items []json.RawMessage
	o.Take(key, "a list", &items)
	for i, raw := range items {
		before := len(*o.problems)
		item := read(raw, fmt.Sprintf("%s%s[%d].", o.path, key, i), o.problems)
		if len(*o.problems) == before {
			take(item)
		}
	}
}

// Done reports the keys that no method asked for.
func (o *Object) Done() {
	slices.Sort(o.known)
	o.known = slices.Compact(o.known)
	for _, key := range slices.Sorted(maps.Keys(o.raw)) {
		if slices.Contains(o.known, key) {
			continue
		}
		if near := sdk.Nearest(key, o.known); near != "" {
			o.add("unknown key %s%.64s: did you mean %s?", o.path, key, near)
		} else {
			o.add("unknown key %s%.64s: known are %s", o.path, key, strings.Join(o.known, ", "))
		}
	}
}

// Err is all problems of the config as one [sdk.Invalid] error, reason
// "config_invalid", with the problems as its detail, or nil if there are none. The
// parameter what names the config in the message, and hint is what to do.
func (o *Object) Err(what, hint string) error {
	if len(*o.problems) == 0 {
		return nil
	}
	return sdk.Errorf(sdk.Invalid, "config_invalid", "%s: %s", what, strings.Join(*o.problems, "; ")).
		WithHint("%s", hint).
		WithDetail("problems", slices.Clone(*o.problems))
}

// TypeName names the type of a JSON value in a message, such as "a list".
func TypeName(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return "empty"
	}
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "text"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}
