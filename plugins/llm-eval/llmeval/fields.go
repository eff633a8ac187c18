package llmeval

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// fields reads the keys of one JSON object of a config strictly. Problems add
// up, so that all are reported at once; they name keys and types but never
// values, since a key might stand where its variable's name belongs.
type fields struct {
	path     string // what precedes a key in messages: "" or "llm."
	raw      map[string]json.RawMessage
	known    []string
	problems *[]string
}

// readFields reads an object. Anything else is a problem.
func readFields(raw json.RawMessage, path string, problems *[]string) *fields {
	f := &fields{path: path, problems: problems}
	if len(bytes.TrimSpace(raw)) == 0 {
		return f
	}
	if err := json.Unmarshal(raw, &f.raw); err != nil {
		f.report("%s is %s, not an object", strings.TrimSuffix(cmp.Or(path, "the config"), "."), typeName(raw))
	}
	return f
}

func (f *fields) report(format string, args ...any) {
	*f.problems = append(*f.problems, fmt.Sprintf(format, args...))
}

// has reports whether a key is there with a value; null counts as absent.
func (f *fields) has(key string) bool {
	f.known = append(f.known, key)
	raw, ok := f.raw[key]
	return ok && typeName(raw) != "null"
}

// take decodes a key into what it points to. It reports whether it did; what
// is the type in the words of a message.
func (f *fields) take(key, what string, into any) bool {
	if !f.has(key) {
		return false
	}
	if err := json.Unmarshal(f.raw[key], into); err != nil {
		f.report("%s%s is %s, not %s", f.path, key, typeName(f.raw[key]), what)
		return false
	}
	return true
}

// object reads the object under a key.
func (f *fields) object(key string) *fields {
	if !f.has(key) {
		return readFields(nil, f.path+key+".", f.problems)
	}
	return readFields(f.raw[key], f.path+key+".", f.problems)
}

// each reads the objects of the array under a key, one after the other.
func (f *fields) each(key string, read func(item *fields)) {
	var items []json.RawMessage
	f.take(key, "a list", &items)
	for i, raw := range items {
		before := len(*f.problems)
		item := readFields(raw, fmt.Sprintf("%s%s[%d].", f.path, key, i), f.problems)
		if len(*f.problems) == before {
			read(item)
		}
	}
}

// done reports the keys that nobody asked for.
func (f *fields) done() {
	slices.Sort(f.known)
	f.known = slices.Compact(f.known)
	for _, key := range slices.Sorted(maps.Keys(f.raw)) {
		if slices.Contains(f.known, key) {
			continue
		}
		if near := nearest(key, f.known); near != "" {
			f.report("unknown key %s%s: did you mean %s?", f.path, key, near)
		} else {
			f.report("unknown key %s%s: known are %s", f.path, key, strings.Join(f.known, ", "))
		}
	}
}

// typeName names the type of a JSON value in a message.
func typeName(raw json.RawMessage) string {
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

// nearest returns the name that begins with the key, or is at most a third of
// the key's letters away, or "".
func nearest(key string, names []string) string {
	best, bound := "", max(1, len(key)/3)+1
	for _, name := range names {
		if len(key) > 2 && strings.HasPrefix(name, key) {
			return name
		}
		if d := distance(key, name); d < bound {
			best, bound = name, d
		}
	}
	return best
}

// distance is the Levenshtein distance of two short names, in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
