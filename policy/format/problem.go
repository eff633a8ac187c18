package format

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/sdk"
)

// maxProblems bounds what one error lists: more than anybody reads.
const maxProblems = 100

// maxExcerpt is the longest line that is shown, in characters: what a wide
// terminal holds.
const maxExcerpt = 160

// Pos is a place in a file. Line and column count from 1, columns in characters.
type Pos struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

// Problem is one thing wrong with a file, or with an expression by itself. Its line
// is 0 where a file or folder as such is wrong.
type Problem struct {
	// File is "" for an expression by itself.
	File string `json:"file"`
	Pos
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	// Source is the line that it stands on, "" if that is too long to show.
	Source string `json:"source,omitempty"`
}

// Place is where it is: file:line:column.
func (p Problem) Place() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// String renders "file:line:column: message (hint)", the line and a caret.
func (p Problem) String() string {
	var text strings.Builder
	if p.File != "" {
		text.WriteString(p.File + ":")
	}
	if p.Line > 0 {
		fmt.Fprintf(&text, "%d:%d:", p.Line, p.Column)
	}
	text.WriteString(" " + p.Message)
	if p.Hint != "" {
		fmt.Fprintf(&text, " (%s)", p.Hint)
	}
	if p.Source != "" {
		fmt.Fprintf(&text, "\n  | %s\n  | %s^", p.Source, strings.Repeat(" ", p.Column-1))
	}
	return text.String()
}

// Problems collects what is wrong with one file.
type Problems struct {
	file  string
	lines []string
	list  []Problem
}

// Add notes a problem. The same message at the same place is noted once.
func (p *Problems) Add(at Pos, hint, message string, args ...any) {
	found := Problem{File: p.file, Pos: Pos{max(1, at.Line), max(1, at.Column)}, Message: fmt.Sprintf(message, args...), Hint: hint}
	found.Source = p.excerpt(found.Pos)
	if !slices.Contains(p.list, found) {
		p.list = append(p.list, found)
	}
}

// excerpt is a line as it is shown: tabs become spaces, so that the caret fits.
func (p *Problems) excerpt(at Pos) string {
	if at.Line > len(p.lines) {
		return ""
	}
	line := strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r <= 0x9f {
			return ' '
		}
		return r
	}, strings.TrimRight(p.lines[at.Line-1], "\r"))
	if n := len([]rune(line)); n > maxExcerpt || at.Column > n+1 {
		return ""
	}
	return line
}

// Len is how many problems were found.
func (p *Problems) Len() int { return len(p.list) }

// List returns the problems in the file's order.
func (p *Problems) List() []Problem {
	list := slices.Clone(p.list)
	slices.SortStableFunc(list, func(a, b Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return list
}

// Err is the one error that lists every problem, or nil. It is sdk.Invalid with
// the reason "policy_invalid"; its detail "problems" is a []Problem.
func (p *Problems) Err() error { return Invalid(p.List()) }

// Invalid is the one error of the problems of one or several files, or nil for
// none.
func Invalid(list []Problem) error {
	if len(list) == 0 {
		return nil
	}
	shown := list[:min(len(list), maxProblems)]
	lines := make([]string, len(shown))
	for i, problem := range shown {
		lines[i] = problem.String()
	}
	if more := len(list) - len(shown); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	err := sdk.Errorf(sdk.Invalid, "policy_invalid", "%s", strings.Join(lines, "\n"))
	return err.WithHint("mend what is listed; nothing of these files is in use").WithDetail("problems", shown)
}
