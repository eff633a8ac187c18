package connect

import (
	"bytes"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/reflectory/reflectory/sdk"
)

// No library edits TOML in place and keeps its comments. What is added here is whole tables, at the end
// of the file, and at most one key, at its beginning. The result is parsed, and compared with what it
// should say: a file in which that can't be done is left alone.

// firstTable is the first line of a table.
var firstTable = regexp.MustCompile(`(?m)^[ \t]*\[`)

// editTOML makes edits in a text, and returns them with what their undoing needs.
func editTOML(text []byte, edits []Edit) (_ []byte, done []Edit, err error) {
	before, err := decodeTOML(text)
	if err != nil {
		return nil, nil, err
	}
	eol := "\n"
	if bytes.Contains(text, []byte("\r\n")) {
		eol = "\r\n"
	}
	for _, e := range edits {
		added, err := decodeTOML([]byte(e.Text))
		if err != nil {
			return nil, nil, err
		}
		want := lookup(added, e.Path)
		if found := lookup(before, e.Path); found != nil && reflect.DeepEqual(found, want) {
			continue
		} else if found != nil && len(e.Path) > 1 {
			return nil, nil, sdk.Errorf(sdk.Conflict, "settings_taken", "it already has a table [%s]", strings.Join(e.Path, ".")).
				WithHint("remove that table first")
		}
		if len(e.Path) == 1 {
			text = topKey(text, &e, eol)
		} else {
			if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
				e.Text = "\n" + e.Text
			}
			if len(bytes.TrimSpace(text)) > 0 {
				e.Text = "\n" + e.Text
			}
			text = slices.Concat(text, []byte(strings.ReplaceAll(e.Text, "\n", eol)))
		}
		put(before, e.Path, want)
		done = append(done, e)
	}
	after, err := decodeTOML(text)
	if err == nil && !reflect.DeepEqual(before, after) {
		err = sdk.Errorf(sdk.Invalid, "settings_unclear", "its tables are written in a way in which none can be added")
	}
	if err != nil {
		return nil, nil, sdk.AsError(err).WithHint("add to it by hand: %s", describe(edits))
	}
	return text, done, nil
}

func describe(edits []Edit) string {
	var texts []string
	for _, e := range edits {
		texts = append(texts, strings.ReplaceAll(strings.TrimSpace(e.Text), "\n", "; "))
	}
	return strings.Join(texts, "; ")
}

// topKey sets a key that is in no table: in place of its line, or at the beginning.
func topKey(text []byte, e *Edit, eol string) []byte {
	top := text
	if at := firstTable.FindIndex(text); at != nil {
		top = text[:at[0]]
	}
	line := regexp.MustCompile(`(?m)^[ \t]*` + regexp.QuoteMeta(e.Path[0]) + `[ \t]*=[^\r\n]*`)
	if at := line.FindIndex(top); at != nil {
		e.Old, e.Text = slices.Clone(text[at[0]:at[1]]), strings.TrimSuffix(e.Text, "\n")
		return slices.Concat(text[:at[0]], []byte(e.Text), text[at[1]:])
	}
	return append([]byte(strings.ReplaceAll(e.Text, "\n", eol)), text...)
}

func decodeTOML(text []byte) (map[string]any, error) {
	value := map[string]any{}
	if err := toml.Unmarshal(text, &value); err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "settings_unreadable", "it can't be parsed: %s", strings.TrimPrefix(err.Error(), "toml: "))
	}
	return value, nil
}

// lookup is a value by its path; nil if there is none.
func lookup(value map[string]any, path []string) any {
	if len(path) == 1 {
		return value[path[0]]
	}
	inner, _ := value[path[0]].(map[string]any)
	if inner == nil {
		return nil
	}
	return lookup(inner, path[1:])
}

func put(value map[string]any, path []string, into any) {
	if len(path) == 1 {
		value[path[0]] = into
		return
	}
	inner, _ := value[path[0]].(map[string]any)
	if inner == nil {
		inner = map[string]any{}
		value[path[0]] = inner
	}
	put(inner, path[1:], into)
}

// undoTOML takes edits back in a text that has been changed since.
func undoTOML(text []byte, edits []Edit) ([]byte, error) {
	eol := "\n"
	if bytes.Contains(text, []byte("\r\n")) {
		eol = "\r\n"
	}
	undone, whole := undoText(string(text), edits, eol)
	if !whole {
		return nil, sdk.Errorf(sdk.Conflict, "settings_changed", "its tables of reflectory were changed since").WithHint("remove them by hand")
	}
	_, err := decodeTOML([]byte(undone))
	return []byte(undone), err
}
