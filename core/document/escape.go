package document

import (
	"strconv"
	"strings"
	"unicode/utf16"

	"go.yaml.in/yaml/v3"

	"github.com/reflectory/reflectory/core"
)

// escapes handles escapes in double quotes that the library can't read, though YAML 1.2
// and JSON have them: \/ and the two halves of a character beyond U+FFFF. Their backslash
// is replaced by a character that isn't in the text, so that every position keeps its
// line and column, and the texts in the tree are restored.
type escapes struct {
	mark string // "" if the text has no such escape
}

var (
	// lacking finds them, together with the backslashes before them: of \\/ only the
	// second backslash is an escape.
	lacking = core.Pattern(`\\(?:\\|/|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})`)
)

// hide replaces the backslashes.
func hide(text string) (string, escapes) {
	found := false
	for _, at := range lacking().FindAllStringIndex(text, -1) {
		found = found || text[at[0]+1] != '\\'
	}
	if !found {
		return text, escapes{}
	}
	used := map[rune]bool{}
	for _, r := range text {
		used[r] = true
	}
	mark := '\ue000' // private use: more characters than a file has bytes
	for used[mark] {
		if mark++; mark == '\uf900' {
			mark = '\U000f0000'
		}
	}
	e := escapes{string(mark)}
	return lacking().ReplaceAllStringFunc(text, func(escape string) string {
		if escape == `\\` {
			return escape
		}
		return strings.ReplaceAll(escape, `\`, e.mark)
	}), e
}

// restore restores the texts in a tree.
func (e escapes) restore(n *yaml.Node) {
	if e.mark == "" {
		return
	}
	if strings.Contains(n.Value, e.mark) {
		n.Value = e.text(n.Value, n.Style&yaml.DoubleQuotedStyle != 0)
	}
	for _, inner := range n.Content {
		e.restore(inner)
	}
}

func (e escapes) text(hidden string, double bool) string {
	if !double {
		return strings.ReplaceAll(hidden, e.mark, `\`)
	}
	parts := strings.Split(hidden, e.mark)
	var text strings.Builder
	text.WriteString(parts[0])
	for i := 1; i < len(parts); i++ {
		if parts[i][0] == '/' {
			text.WriteString(parts[i])
			continue
		}
		high, low := half(parts[i]), half(parts[i+1])
		text.WriteRune(utf16.DecodeRune(high, low))
		i++
		text.WriteString(parts[i][len("udc00"):])
	}
	return text.String()
}

// half reads one of the halves of a character, as in ud83d.
func half(escape string) rune {
	n, _ := strconv.ParseUint(escape[1:len("udc00")], 16, 16) // four digits
	return rune(n)
}
