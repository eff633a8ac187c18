package connect

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Settings in JSON, which may have comments and trailing commas, are changed as text: the parser only
// says where a value begins and ends. So every byte that isn't part of a change stays as it is. After
// each change the result is parsed again, and compared with what it should say.

// editJSON makes edits in a text, and returns them with what their undoing needs.
func editJSON(text []byte, edits []Edit) (_ []byte, done []Edit, err error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = append([]byte("{}"), text...)
		if len(text) == len("{}") {
			text = append(text, '\n')
		}
	}
	for _, e := range edits {
		before := text
		var changed bool
		if text, e, changed, err = editOne(text, e); err != nil {
			return nil, nil, err
		}
		if !changed {
			continue
		}
		if err := checkJSON(before, text, &e); err != nil {
			return nil, nil, err
		}
		done = append(done, e)
	}
	return text, done, nil
}

// parseJSON parses a text, and wants an object.
func parseJSON(text []byte) (*hujson.Value, *hujson.Object, error) {
	v, err := hujson.Parse(text)
	if err != nil {
		return nil, nil, sdk.Errorf(sdk.Invalid, "settings_unreadable", "it can't be parsed: %s", strings.TrimPrefix(err.Error(), "hujson: "))
	}
	root, is := v.Value.(*hujson.Object)
	if !is {
		return nil, nil, sdk.Errorf(sdk.Invalid, "settings_unreadable", "it has %s, not an object", kindName(v.Value))
	}
	return &v, root, nil
}

func kindName(v hujson.ValueTrimmed) string {
	return map[hujson.Kind]string{'{': "an object", '[': "a list", '"': "a text", '0': "a number", 't': "true", 'f': "false", 'n': "null"}[v.Kind()]
}

// memberOf is the place of a member; -1 if there is none.
func memberOf(object *hujson.Object, name string) (int, error) {
	at := -1
	for i := range object.Members {
		if object.Members[i].Name.Value.(hujson.Literal).String() != name {
			continue
		}
		if at >= 0 {
			return 0, sdk.Errorf(sdk.Invalid, "settings_unclear", "it has %q twice", core.Cut(name))
		}
		at = i
	}
	return at, nil
}

// editOne makes one edit. The returned edit says what was done.
func editOne(text []byte, e Edit) (_ []byte, _ Edit, changed bool, err error) {
	v, object, err := parseJSON(text)
	if err != nil {
		return nil, e, false, err
	}
	s := styleOf(text, v)
	at := *v
	for depth, name := range e.Path {
		i, err := memberOf(object, name)
		if err != nil {
			return nil, e, false, err
		}
		last := depth == len(e.Path)-1
		if i < 0 { // everything below is new
			value := e.Value
			if e.Append {
				value = slices.Concat([]byte("["), value, []byte("]"))
			}
			for _, inner := range slices.Backward(e.Path[depth+1:]) {
				value = slices.Concat([]byte("{"), quote(inner), []byte(":"), value, []byte("}"))
			}
			e.Made = e.Path[:depth+1]
			return s.insert(text, at, object.Members, object.AfterExtra, quote(name), value), e, true, nil
		}
		found := object.Members[i].Value
		switch {
		case last && e.Append:
			return s.appendTo(text, found, e)
		case last && (e.Missing || sameJSON(text[found.StartOffset:found.EndOffset], e.Value)):
			return text, e, false, nil
		case last:
			e.Old = slices.Clone(text[found.StartOffset:found.EndOffset])
			return slices.Concat(text[:found.StartOffset], s.format(e.Value, s.indentOf(text, found.StartOffset)), text[found.EndOffset:]), e, true, nil
		}
		inner, is := found.Value.(*hujson.Object)
		if !is {
			return nil, e, false, wrongType(e.Path[:depth+1], found.Value, "an object")
		}
		at, object = found, inner
	}
	return text, e, false, nil
}

func wrongType(path []string, found hujson.ValueTrimmed, want string) error {
	return sdk.Errorf(sdk.Invalid, "settings_unclear", "its %s is %s, not %s", strings.Join(path, "."), kindName(found), want)
}

func quote(name string) []byte { return hujson.String(name) }

// appendTo adds an element to a list, unless it is there.
func (s style) appendTo(text []byte, list hujson.Value, e Edit) ([]byte, Edit, bool, error) {
	array, is := list.Value.(*hujson.Array)
	if !is {
		return nil, e, false, wrongType(e.Path, list.Value, "a list")
	}
	members := make([]hujson.ObjectMember, len(array.Elements)) // a list is an object without names
	for i, el := range array.Elements {
		if sameJSON(text[el.StartOffset:el.EndOffset], e.Value) {
			return text, e, false, nil
		}
		members[i] = hujson.ObjectMember{Name: el, Value: el}
	}
	return s.insert(text, list, members, array.AfterExtra, nil, e.Value), e, true, nil
}

// sameJSON reports whether two texts are the same value.
func sameJSON(a, b []byte) bool {
	x, errX := decodeJSON(a)
	y, errY := decodeJSON(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

// decodeJSON decodes a text with comments. Numbers stay as they are written.
func decodeJSON(text []byte) (value any, err error) {
	plain, err := hujson.Standardize(slices.Clone(text))
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(plain))
	d.UseNumber()
	return value, d.Decode(&value)
}

// style is how a text is laid out.
type style struct {
	eol, unit string
	// lines is whether it has a member per line.
	lines bool
}

// styleOf finds a text's layout by its first member; new files have lines of two spaces.
func styleOf(text []byte, v *hujson.Value) style {
	s := style{eol: "\n", unit: "  ", lines: true}
	if bytes.Contains(text, []byte("\r\n")) {
		s.eol = "\r\n"
	}
	if root := v.Value.(*hujson.Object); len(root.Members) > 0 {
		extra := root.Members[0].Name.BeforeExtra
		s.lines = bytes.ContainsRune(extra, '\n')
		if indent := lastIndent(extra); indent != "" {
			s.unit = indent
		}
	}
	return s
}

// lastIndent is the white space after the last line break.
func lastIndent(extra []byte) string {
	line := extra[bytes.LastIndexByte(extra, '\n')+1:]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// indentOf is the indentation of the line on which a byte is.
func (s style) indentOf(text []byte, offset int) string {
	begin := bytes.LastIndexByte(text[:offset], '\n') + 1
	return lastIndent(append([]byte("\n"), text[begin:offset]...))
}

// format lays a value out below an indentation.
func (s style) format(value []byte, indent string) []byte {
	if !s.lines {
		return value
	}
	var out bytes.Buffer
	if json.Indent(&out, value, indent, s.unit) != nil {
		return value
	}
	return bytes.ReplaceAll(out.Bytes(), []byte("\n"), []byte(s.eol))
}

// insert adds a member, or an element without a name, at the end of a composite value.
func (s style) insert(text []byte, at hujson.Value, members []hujson.ObjectMember, after hujson.Extra, name, value []byte) []byte {
	closing := at.EndOffset - 1
	end := closing - len(after) + len(bytes.TrimRight(after, " \t\r\n")) // behind the last comment
	outer := s.indentOf(text, at.StartOffset)
	indent := outer + s.unit
	var last hujson.ObjectMember
	if n := len(members); n > 0 {
		last = members[n-1]
		own := bytes.ContainsRune(last.Name.BeforeExtra, '\n')
		if s.lines = own || bytes.ContainsRune(after, '\n'); own {
			indent = lastIndent(last.Name.BeforeExtra)
		}
	}
	trailing := len(members) > 0 && last.Value.AfterExtra != nil
	var entry []byte
	switch {
	case s.lines:
		entry = []byte(s.eol + indent)
	case len(members) > 0:
		entry = []byte(" ")
	}
	entry = slices.Concat(entry, nameOf(name), s.format(value, indent))
	if trailing {
		entry = append(entry, ',')
	}
	rest := text[end:]
	if s.lines && !bytes.ContainsRune(text[end:closing], '\n') {
		entry, rest = append(entry, s.eol+outer...), text[closing:]
	}
	if len(members) == 0 || trailing {
		return slices.Concat(text[:end], entry, rest)
	}
	comma := last.Value.EndOffset
	return slices.Concat(text[:comma], []byte(","), text[comma:end], entry, rest)
}

func nameOf(name []byte) []byte {
	if name == nil {
		return nil
	}
	return append(slices.Clone(name), ": "...)
}

// checkJSON compares a changed text with what the change should have made of it.
func checkJSON(before, after []byte, e *Edit) error {
	want, err := decodeJSON(before)
	if err != nil {
		return err
	}
	got, err := decodeJSON(after)
	if err == nil && !reflect.DeepEqual(applied(want, e, e.Path), got) {
		err = sdk.Errorf(sdk.Internal, "change_unsafe", "a change of its %s would change more", strings.Join(e.Path, "."))
	}
	return err
}

// applied is a decoded value after an edit.
func applied(value any, e *Edit, path []string) any {
	if len(path) == 0 {
		added, _ := decodeJSON(e.Value) // it was made here
		if list, _ := value.([]any); e.Append {
			return append(slices.Clip(list), added)
		}
		return added
	}
	object, _ := value.(map[string]any)
	if object == nil {
		object = map[string]any{}
	}
	object[path[0]] = applied(object[path[0]], e, path[1:])
	return object
}
