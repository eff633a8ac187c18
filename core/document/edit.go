package document

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/sdk"
)

// Set gives a key of a YAML text a value, and leaves all else as it is, comments included. path
// are the keys that lead to it, of which the last ones may be missing; value is YAML on one line.
//
// The library would write the whole text in its own style, so only the value is replaced, or a
// line inserted. Where that is right is read off the positions and the indentation, and what comes
// of it is read again: a text that would say anything else than before is refused.
func Set(text string, limits Limits, path []string, value string) (string, error) {
	found := &Problems{}
	root := Read(text, limits, found)
	if err := found.Err("yaml_invalid"); err != nil {
		return "", err
	}
	e := editor{strings.TrimPrefix(text, byteOrderMark)}
	edited, ok := e.set(root, path, value)
	if after := Read(edited, limits, found); ok && found.Len() == 0 && same(root, after, path, value, limits) {
		return text[:len(text)-len(e.text)] + edited, nil
	}
	return "", sdk.Errorf(sdk.Invalid, "yaml_not_edited", "%s can't be set without changing more of the text", strings.Join(path, ".")).
		WithHint("write it yourself: %s", strings.Join(path, ": {")+": "+value+strings.Repeat("}", len(path)-1))
}

// same reports whether two trees only differ in a value.
func same(before, after *Node, path []string, value string, limits Limits) bool {
	want, got := map[string]any{}, map[string]any{}
	var set any
	if json.Unmarshal(before.JSON(nil), &want) != nil || json.Unmarshal(after.JSON(nil), &got) != nil ||
		json.Unmarshal(Read(value, limits, &Problems{}).JSON(nil), &set) != nil {
		return false
	}
	m := want
	for _, key := range path[:len(path)-1] {
		below, ok := m[key].(map[string]any)
		if !ok {
			below = map[string]any{}
			m[key] = below
		}
		m = below
	}
	m[path[len(path)-1]] = set
	return reflect.DeepEqual(want, got)
}

// editor changes a text without a byte order mark.
type editor struct{ text string }

// set sets a value below a node.
func (e editor) set(n *Node, path []string, value string) (edited string, ok bool) {
	flow := strings.Join(path, ": {") + ": " + value + strings.Repeat("}", len(path)-1)
	i := slices.IndexFunc(n.Entries, func(entry Entry) bool { return entry.Key == path[0] })
	if n.Kind != Mapping || i < 0 {
		return e.insert(n, flow)
	}
	entry := n.Entries[i]
	if len(path) > 1 && entry.Value.Kind == Mapping {
		return e.set(entry.Value, path[1:], value)
	}
	if len(path) > 1 && entry.Value.Kind != Null {
		return "", false
	}
	return e.replace(entry, strings.TrimPrefix(flow, path[0]+": "))
}

// insert adds an entry to a mapping.
func (e editor) insert(n *Node, entry string) (string, bool) {
	at := e.offset(n.At)
	switch {
	case strings.HasPrefix(e.text[at:], "{"):
		if len(n.Entries) > 0 {
			entry += ", "
		}
		return e.text[:at+1] + entry + e.text[at+1:], true
	case len(n.Entries) == 0: // the file has nothing but comments
		return strings.TrimSuffix(e.text, "\n") + strings.Repeat("\n", min(1, len(e.text))) + entry + "\n", true
	}
	end := e.end(n.FirstKey())
	return e.text[:end] + "\n" + strings.Repeat(" ", n.FirstKey().Column-1) + entry + e.text[end:], true
}

// replace puts another value in the place of an entry's.
func (e editor) replace(entry Entry, value string) (string, bool) {
	colon := e.offset(entry.At) + len(entry.Key)
	colon += strings.IndexByte(e.text[colon:], ':') + 1
	from, n := e.offset(entry.Value.At), entry.Value
	to := from
	switch rest := e.text[from:]; {
	case n.Kind == Null:
		from = colon
		to = from + len(e.text[from:]) - len(strings.TrimLeft(e.text[from:], " "))
		for _, word := range []string{"null", "Null", "NULL", "~"} {
			if strings.HasPrefix(e.text[to:], word) {
				to += len(word)
				break
			}
		}
	case strings.HasPrefix(rest, "{"), strings.HasPrefix(rest, "["):
		to += flowEnd(rest)
	case n.Kind == Mapping, n.Kind == List:
		to = e.end(n.At)
	case n.Kind == Text && strings.ContainsAny(rest[:1], `"'|>`):
		return "", false
	default:
		to += len(n.Text)
	}
	if strings.TrimSpace(e.text[colon:from]) == "" { // else there is a comment
		from, value = colon, " "+value
	}
	return e.text[:from] + value + e.text[to:], true
}

// offset is the byte at a position.
func (e editor) offset(at Pos) int {
	before := 0
	for range at.Line - 1 {
		before += len(lineAt(e.text[before:])) + 1
	}
	return before + len(lineAt(e.text[before:])) - len(newSource(e.text).from(at))
}

// lineAt is the first line of a text.
func lineAt(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// end is the end of the last line of a block that begins at a position: the last that is neither
// empty nor a comment, before one with less indentation.
func (e editor) end(first Pos) int {
	at := e.offset(first)
	end := at + len(strings.TrimSuffix(lineAt(e.text[at:]), "\r"))
	at += len(lineAt(e.text[at:])) + 1
	for at < len(e.text) {
		line := strings.TrimSuffix(lineAt(e.text[at:]), "\r")
		inside := strings.TrimLeft(line, " ")
		if inside != "" && inside[0] != '#' {
			if len(line)-len(inside) < first.Column-1 || line == "..." {
				break
			}
			end = at + len(line)
		}
		at += len(lineAt(e.text[at:])) + 1
	}
	return end
}

// flowEnd is the length of a mapping or list in brackets.
func flowEnd(text string) int {
	depth, quote := 0, byte(0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote == '"' && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"', c == '\'':
			quote = c
		case c == '#' && strings.ContainsAny(text[i-1:i], " \t\n"):
			i += len(lineAt(text[i:]))
		case c == '{', c == '[':
			depth++
		case c == '}', c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}
