package connect

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// undoJSON takes edits back in a text that has been changed since, the last one first. What isn't there
// any more is no problem: somebody has removed it.
func undoJSON(text []byte, edits []Edit) ([]byte, error) {
	for _, e := range slices.Backward(edits) {
		object, i, err := locate(text, e.Path)
		if err != nil {
			return nil, err
		}
		if object == nil {
			continue
		}
		value, empty, inner := object.Members[i].Value, false, len(e.Path)-1
		array, isList := value.Value.(*hujson.Array)
		switch {
		case e.Append && isList:
			text, empty = removeElement(text, array, e.Value)
			inner++ // the list itself may have been made
		case e.Old != nil:
			text = slices.Concat(text[:value.StartOffset], e.Old, text[value.EndOffset:])
		case !e.Append && e.Made != nil:
			text, empty = remove(text, object.Members, i), len(object.Members) == 1
		}
		for n := inner; empty && e.Made != nil && n >= len(e.Made); n-- { // what was made for it, unless something else is in it by now
			if object, i, err = locate(text, e.Path[:n]); err != nil || object == nil {
				break
			}
			text, empty = remove(text, object.Members, i), len(object.Members) == 1
		}
	}
	return text, nil
}

// locate is the object that has a value, and the value's place in it; nil if there is none.
func locate(text []byte, path []string) (*hujson.Object, int, error) {
	_, object, err := parseJSON(text)
	for depth, name := range path {
		if err != nil {
			return nil, 0, err
		}
		i, twice := memberOf(object, name)
		if twice != nil || i < 0 {
			return nil, 0, twice
		}
		if depth == len(path)-1 {
			return object, i, nil
		}
		inner, is := object.Members[i].Value.Value.(*hujson.Object)
		if !is {
			return nil, 0, nil
		}
		object = inner
	}
	return nil, 0, err
}

// removeElement removes an element from a list, by its value.
func removeElement(text []byte, array *hujson.Array, element []byte) (_ []byte, empty bool) {
	members := make([]hujson.ObjectMember, len(array.Elements))
	found := -1
	for i, el := range array.Elements {
		members[i] = hujson.ObjectMember{Name: el, Value: el}
		if sameJSON(text[el.StartOffset:el.EndOffset], element) {
			found = i
		}
	}
	if found < 0 {
		return text, false
	}
	return remove(text, members, found), len(members) == 1
}

// remove removes a member with its comma and the white space before it. Comments stay.
func remove(text []byte, members []hujson.ObjectMember, i int) []byte {
	m := members[i]
	begin := len(bytes.TrimRight(text[:m.Name.StartOffset], " \t\r\n"))
	end := m.Value.EndOffset
	if last := i == len(members)-1; !last || m.Value.AfterExtra != nil {
		end += len(m.Value.AfterExtra) + 1
	} else if i > 0 { // the comma before it goes too
		before := members[i-1].Value
		comma := before.EndOffset + len(before.AfterExtra)
		return slices.Concat(text[:comma], text[comma+1:max(begin, comma+1)], text[end:])
	}
	return slices.Concat(text[:begin], text[end:])
}

// undoText takes texts out that were added to a file that has been changed since.
func undoText(text string, edits []Edit, eol string) (string, bool) {
	whole := true
	for _, e := range slices.Backward(edits) {
		added := regexp.QuoteMeta(strings.ReplaceAll(e.Text, "\n", eol))
		added = strings.ReplaceAll(added, regexp.QuoteMeta(hidden), `[^"\r\n]*`)
		at := regexp.MustCompile(added).FindStringIndex(text)
		if at == nil {
			whole = false
			continue
		}
		text = text[:at[0]] + string(e.Old) + text[at[1]:]
	}
	return text, whole
}
