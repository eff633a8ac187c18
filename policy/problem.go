package policy

import (
	"fmt"
	"strings"

	"github.com/reflectory/reflectory/sdk"
)

// problem is one thing wrong with an expression. Line and column count from 1,
// columns in characters.
type problem struct {
	line, column  int
	message, hint string
}

// invalid makes the one error that reports every problem, each with the line
// it stands on and a caret below.
func invalid(source string, problems []problem) error {
	if len(problems) == 0 {
		problems = []problem{{line: 1, column: 1, message: "the expression doesn't compile"}}
	}
	var text strings.Builder
	list := make([]map[string]any, 0, len(problems))
	for i, p := range problems {
		if i > 0 {
			text.WriteByte('\n')
		}
		fmt.Fprintf(&text, "%d:%d: %s", p.line, p.column, p.message)
		if p.hint != "" {
			fmt.Fprintf(&text, " (%s)", p.hint)
		}
		text.WriteString(excerpt(source, p))
		entry := map[string]any{"line": p.line, "column": p.column, "message": p.message}
		if p.hint != "" {
			entry["hint"] = p.hint
		}
		list = append(list, entry)
	}
	err := sdk.Errorf(sdk.Invalid, "expression_invalid", "%s", text.String())
	err.Hint = problems[0].hint
	return err.WithDetail("line", problems[0].line).
		WithDetail("column", problems[0].column).
		WithDetail("problems", list)
}

// maxExcerpt is the longest line that is shown, in characters: what a wide
// terminal holds.
const maxExcerpt = 160

func excerpt(source string, p problem) string {
	lines := strings.Split(source, "\n")
	if p.line < 1 || p.line > len(lines) {
		return ""
	}
	line := []rune(strings.ReplaceAll(strings.TrimRight(lines[p.line-1], "\r"), "\t", " "))
	if len(line) > maxExcerpt || p.column < 1 {
		return ""
	}
	return "\n  | " + string(line) + "\n  | " + strings.Repeat(" ", p.column-1) + "^"
}
