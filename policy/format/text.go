package format

import (
	"strings"
	"unicode"

	"github.com/reflectory/reflectory/core/document"
)

// Text is a scalar of the file, with the position of each of its characters.
type Text struct {
	Value string
	At    Pos
	// lines are the lines of the file, for finding the characters.
	lines []string
	// block is whether Value is unchanged lines of the file, from At on.
	block bool
}

// Source is an expression that isn't in a file, with a list for its problems.
func Source(source string) (*Text, *Problems) {
	found := newProblems("", source)
	return &Text{Value: source, At: Pos{Line: 1, Column: 1}, lines: found.Lines, block: true}, found
}

// Place converts a position in the value to a position in the file, both from 1.
func (t *Text) Place(line, column int) Pos {
	if t.block {
		return Pos{Line: t.At.Line + line - 1, Column: column}
	}
	target := offset(t.Value, line, column)
	at := t.At
	for i, r := range []rune(t.Value) {
		at = t.find(r, at)
		if i == target {
			return at
		}
		at.Column++
	}
	return at
}

// offset is the index of a character by its line and column.
func offset(text string, line, column int) int {
	index := 0
	for _, r := range text {
		if line == 1 && column <= 1 {
			return index
		}
		if r == '\n' {
			line--
		} else if line == 1 {
			column--
		}
		index++
	}
	return index
}

// find looks for a character of the value in the file, from a position on. It skips
// quotes, backslashes and folded line ends. If the character isn't found, for example
// because it is written as an escape, the position is unchanged.
func (t *Text) find(r rune, from Pos) Pos {
	if unicode.IsSpace(r) {
		return from
	}
	at := from
	for range 2 { // this line, or else the start of the next one
		if at.Line > len(t.lines) {
			return from
		}
		line := []rune(t.lines[at.Line-1])
		for ; at.Column <= len(line); at.Column++ {
			c := line[at.Column-1]
			if c == r {
				return at
			}
			if !unicode.IsSpace(c) && !strings.ContainsRune(`"'\`, c) {
				return from
			}
		}
		at = Pos{Line: at.Line + 1, Column: 1}
	}
	return from
}

// scalar reads a text, number or boolean as it is written. ok is false for
// anything else.
func scalar(n *document.Node, lines []string) (text *Text, ok bool) {
	switch {
	case n.Block:
		return blockText(n, lines), true
	case n.Kind == document.Text || n.Kind == document.Bool || n.Kind == document.Number:
		return &Text{Value: n.Text, At: n.At, lines: lines}, true
	}
	return &Text{At: n.At, lines: lines}, false
}

// blockText returns the lines of a block scalar unchanged.
func blockText(n *document.Node, lines []string) *Text {
	first, indent := 0, 0
	last := n.At.Line
	for i := n.At.Line; i < len(lines); i++ {
		line := strings.TrimRight(lines[i], " \t\r")
		if line == "" {
			continue
		}
		depth := len(line) - len(strings.TrimLeft(line, " "))
		if first == 0 {
			first, indent = i+1, depth
		}
		if depth < indent || depth == 0 {
			break
		}
		last = i + 1
	}
	if first == 0 || strings.TrimSpace(n.Text) == "" {
		return &Text{Value: n.Text, At: n.At, lines: lines}
	}
	return &Text{Value: strings.Join(lines[first-1:last], "\n"), At: Pos{Line: first, Column: indent + 1}, lines: lines, block: true}
}
