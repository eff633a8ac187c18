package document

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/reflectory/reflectory/sdk"
)

// maxProblems bounds how many problems one error lists: more than anybody reads.
const maxProblems = 100

// maxNoted bounds how many problems of one file are kept, since each word may be wrong.
const maxNoted = 10_000

// maxExcerpt is the longest line that is shown, in characters: the width of a wide
// terminal.
const maxExcerpt = 160

// Pos is a position in a file. Line and column count from 1, columns in characters.
type Pos struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

// Problem is one thing wrong with a file, or with a text that isn't in a file. Its line
// is 0 if the file or folder itself is wrong, or a value from elsewhere.
type Problem struct {
	// File is "" for a text that isn't in a file.
	File string `json:"file"`
	Pos
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	// Source is the line with the problem; "" if lines aren't shown, or it is too long to
	// show.
	Source string `json:"source,omitempty"`
}

// String returns "file:line:column: message (hint)", followed by the line with a caret if
// there is a Source.
func (p Problem) String() string {
	var text strings.Builder
	if p.File != "" {
		text.WriteString(p.File + ":")
	}
	if p.Line > 0 {
		fmt.Fprintf(&text, "%d:%d:", p.Line, p.Column)
	}
	if text.Len() > 0 {
		text.WriteByte(' ')
	}
	text.WriteString(p.Message)
	if p.Hint != "" {
		fmt.Fprintf(&text, " (%s)", p.Hint)
	}
	if p.Source != "" {
		fmt.Fprintf(&text, "\n  | %s\n  | %s^", p.Source, strings.Repeat(" ", p.Column-1))
	}
	return text.String()
}

// Place is the problem's position: file:line:column, or the file alone.
func (p Problem) Place() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Problems collects what is wrong with one file. It isn't safe for concurrent use.
type Problems struct {
	// File is the file's name in messages.
	File string
	// Lines are the file's lines, if each problem is to show its line.
	Lines []string

	list []Problem
	seen map[Problem]bool
}

// Lines splits a text into its lines as editors count them.
func Lines(text string) []string {
	lines := strings.Split(strings.TrimPrefix(text, byteOrderMark), "\n")
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], "\r")
	}
	return lines
}

// Add notes a problem; hint may be "". The same problem at the same position is noted
// once, and at most 10,000 are noted for a file.
func (p *Problems) Add(at Pos, hint, format string, args ...any) {
	found := Problem{File: p.File, Pos: Pos{max(1, at.Line), max(1, at.Column)}, Message: fmt.Sprintf(format, args...), Hint: hint}
	found.Source = p.excerpt(found.Pos)
	if p.seen[found] || len(p.list) == maxNoted {
		return
	}
	if p.seen == nil {
		p.seen = map[Problem]bool{}
	}
	p.seen[found] = true
	p.list = append(p.list, found)
}

// excerpt is a line as it is shown: tabs become spaces, so that the caret is below the
// right character.
func (p *Problems) excerpt(at Pos) string {
	if at.Line > len(p.Lines) {
		return ""
	}
	if len(p.Lines[at.Line-1]) > maxExcerpt*utf8.UTFMax {
		return "" // without a look at it: a long line may have a problem in each word
	}
	line := strings.Map(func(r rune) rune {
		if isControl(r) {
			return ' '
		}
		return r
	}, strings.TrimRight(p.Lines[at.Line-1], "\r"))
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

// Err is the one error that lists every problem, or nil; see [Invalid].
func (p *Problems) Err(reason string) error { return Invalid(reason, p.List()) }

// Invalid is the one error with the problems of one or several files, or nil if there are
// none: sdk.Invalid with the given reason, a line for each problem, and the detail
// "problems", a []Problem. It lists 100 and says how many more there are.
func Invalid(reason string, list []Problem) error {
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
	return sdk.Errorf(sdk.Invalid, reason, "%s", strings.Join(lines, "\n")).WithDetail("problems", shown)
}
