package checkseval

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/reflectory/reflectory/plugins/internal/schema"
)

// maxPath limits the JSON Pointer of a finding, in bytes: a hostile output may have names of megabytes.
const maxPath = 4 << 10

// lookUp returns the value that a JSON Pointer selects, or what is wrong.
func lookUp(v any, at string) (any, string) {
	if at == "" {
		return v, ""
	}
	for token := range strings.SplitSeq(at[1:], "/") {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch parent := v.(type) {
		case map[string]any:
			member, ok := parent[token]
			if !ok {
				return nil, fmt.Sprintf("there is nothing to check: %.64q is missing", token)
			}
			v = member
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(parent) || strconv.Itoa(i) != token {
				return nil, fmt.Sprintf("there is nothing to check: a list of %d has no item %.64q", len(parent), token)
			}
			v = parent[i]
		default:
			return nil, fmt.Sprintf("there is nothing to check: %s has no %.64q", typeName(v), token)
		}
	}
	return v, ""
}

// typeName names the type of a decoded value in a message.
func typeName(v any) string {
	switch v.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return "a text"
	case bool:
		return "a boolean"
	case nil:
		return "null"
	}
	return "a number"
}

// scalarText is a text, or the JSON of a number, a boolean or null. An object or a list has none.
func scalarText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		return strconv.FormatBool(v), true
	case nil:
		return "null", true
	}
	return "", false
}

// visitor sees a text and where it is, and returns whether to go on. What it keeps of at must be
// copied.
type visitor func(at []string, text string) bool

// walk visits the texts of a value: itself, unless it is an object or a list; else the texts in it, in
// the order of their paths, with the names of members if names is set. It returns whether it
// visited all.
func walk(v any, at []string, names bool, visit visitor) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			inner := append(at, name)
			if names && !visit(inner, name) || !walk(v[name], inner, names, visit) {
				return false
			}
		}
		return true
	case []any:
		for i, e := range v {
			if !walk(e, append(at, strconv.Itoa(i)), names, visit) {
				return false
			}
		}
		return true
	}
	text, _ := scalarText(v)
	return visit(at, text)
}

// pathTo is the JSON Pointer to a part of the checked value: of the value itself if it would be too
// long.
func (in *input) pathTo(at []string) string {
	size := 0
	for _, token := range at {
		size += len(token) + 1
	}
	if size > maxPath {
		return in.path
	}
	return in.path + schema.PointerTo(at)
}

// place is a position in a text, in the words of a message.
func place(text string, offset int) string {
	before := text[:offset]
	line := 1 + strings.Count(before, "\n")
	column := 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	return fmt.Sprintf("line %d, column %d", line, column)
}

// excerpt quotes a text from an offset on.
func excerpt(text string, offset int) string {
	const most = 60
	end := min(len(text), offset+most)
	for end < len(text) && !utf8.RuneStart(text[end]) {
		end--
	}
	quoted := schema.Show(text[offset:end])
	if end < len(text) {
		return strings.TrimSuffix(quoted, `"`) + `…"`
	}
	return quoted
}
