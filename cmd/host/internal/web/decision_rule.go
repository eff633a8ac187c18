package web

import (
	"strings"

	"github.com/reflectory/reflectory/core/host/operation"
)

// ruleLine is a line of a policy with what it saw in a decision.
type ruleLine struct {
	Number int
	Text   string
	// Note is the values that the line names and, on the first line of a match, how the match
	// ended. Class is a colour for the match; the note has the same information in words.
	Note, Class string
}

// matchWords describe how a match ended, and matchClasses are its colours.
var (
	matchWords = map[string]string{
		"decided": "decided", "failed": "failed", "held": "holds", "not_held": "doesn’t hold", "not_reached": "not reached", "unknown": "not recorded",
	}
	matchClasses = map[string]string{"decided": "hit", "failed": "hit fail", "not_reached": "miss"}
)

// ruleLines are the lines of a decision's policy, as far as the page has room for them.
func (v *visit) ruleLines(d *operation.Decision) (lines []ruleLine) {
	indent := indentOf(d)
	for _, m := range d.Matches {
		for i, l := range m.Lines {
			one := ruleLine{Number: l.Line, Text: l.Text[min(indent, len(l.Text)):], Class: matchClasses[m.Result]}
			var notes []string
			if i == 0 {
				notes = append(notes, matchWords[m.Result])
			}
			for _, value := range l.Values {
				notes = append(notes, value.Name+" "+line(plain(value.Value), maxNote))
			}
			one.Note = strings.Join(notes, " · ")
			if !v.useRoom(one.Text + one.Note) {
				return lines
			}
			lines = append(lines, one)
		}
	}
	return lines
}

// maxNote is how much of a value is shown next to a line, in characters.
const maxNote = 60

// indentOf is the indentation that all lines have.
func indentOf(d *operation.Decision) int {
	least := -1
	for _, m := range d.Matches {
		for _, l := range m.Lines {
			if in := len(l.Text) - len(strings.TrimLeft(l.Text, " ")); l.Text != "" && (least < 0 || in < least) {
				least = in
			}
		}
	}
	return max(least, 0)
}
