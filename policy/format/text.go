package format

import (
	"strings"
	"unicode"

	"github.com/goccy/go-yaml/ast"
)

// Text is a scalar of the file with the place of each of its characters.
type Text struct {
	Value string
	At    Pos
	// lines are the file's, for finding the characters again.
	lines []string
	// block is whether Value is lines of the file as they stand, from At on.
	block bool
}

// Source is an expression that stands in no file, with a list for its problems.
func Source(source string) (*Text, *Problems) {
	found := newProblems("", source)
	return &Text{Value: source, At: Pos{1, 1}, lines: found.lines, block: true}, found
}

// Place finds the place in the file of a place in the value, both from 1.
func (t *Text) Place(line, column int) Pos {
	if t.block {
		return Pos{t.At.Line + line - 1, column}
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

// find looks for a character of the value in the file from a place on. Quotes,
// backslashes and folded line ends lie between. Where it isn't found, such as
// one written as an escape, the place stays.
func (t *Text) find(r rune, from Pos) Pos {
	if unicode.IsSpace(r) {
		return from
	}
	at := from
	for range 2 { // this line, or else where the next one begins
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
		at = Pos{at.Line + 1, 1}
	}
	return from
}

// scalar reads a text, number or boolean as it is written. ok is false for
// anything else.
func scalar(n ast.Node, lines []string) (text *Text, ok bool) {
	at := position(n.GetToken())
	switch n := n.(type) {
	case *ast.LiteralNode:
		return blockText(n, at, lines), true
	case *ast.StringNode:
		return &Text{Value: n.Value, At: at, lines: lines}, true
	case *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode:
		return &Text{Value: n.GetToken().Value, At: at, lines: lines}, true
	}
	return &Text{At: at, lines: lines}, false
}

// blockText takes the lines of a block scalar as they stand in the file.
func blockText(n *ast.LiteralNode, at Pos, lines []string) *Text {
	first, indent := 0, 0
	last := at.Line
	for i := at.Line; i < len(lines); i++ {
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
	if first == 0 || strings.TrimSpace(n.Value.Value) == "" {
		return &Text{Value: n.Value.Value, At: at, lines: lines}
	}
	return &Text{Value: strings.Join(lines[first-1:last], "\n"), At: Pos{first, indent + 1}, lines: lines, block: true}
}
