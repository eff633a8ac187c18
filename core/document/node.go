package document

import (
	"strings"
	"unicode/utf8"

	"github.com/reflectory/reflectory/core/jsontext"
)

// Kind is the kind of a node. Its text fits into "must be …, not …".
type Kind string

// The kinds of nodes.
const (
	Null    Kind = "null"
	Bool    Kind = "a boolean"
	Number  Kind = "a number"
	Text    Kind = "text"
	Mapping Kind = "a mapping"
	List    Kind = "a list"
)

// Node is a value in a file, with its position. YAML's types beyond JSON's, such as
// timestamps, are text.
type Node struct {
	Kind Kind
	// At is where it begins: a mapping or list at its { or [, if it has one, else
	// with its first key or dash, a block text at its | or >.
	At Pos
	// Text is the content of a text, or a number or boolean as it is written.
	Text string
	// Block is whether a text is written as a block, below | or >.
	Block bool
	// Entries are the entries of a mapping, Items the items of a list, in the file's
	// order.
	Entries []Entry
	Items   []*Node

	json   string // JSON of a number or boolean
	first  Pos    // where a text begins whose characters are in the file unchanged; zero otherwise
	indent int    // columns before each line of a block text
}

// Entry is one key of a mapping.
type Entry struct {
	Key   string
	At    Pos
	Value *Node
}

// Get returns the value of a mapping's key, or nil.
func (n *Node) Get(key string) *Node {
	if n != nil {
		for _, e := range n.Entries {
			if e.Key == key {
				return e.Value
			}
		}
	}
	return nil
}

// Keys are the keys of a mapping, in the file's order.
func (n *Node) Keys() []string {
	keys := make([]string, len(n.Entries))
	for i, e := range n.Entries {
		keys[i] = e.Key
	}
	return keys
}

// FirstKey is the position of a mapping's first key; errors about the whole mapping
// use it. Without keys, it is At.
func (n *Node) FirstKey() Pos {
	if len(n.Entries) == 0 {
		return n.At
	}
	return n.Entries[0].At
}

// Place returns the position of a byte of a text in the file, or where the text
// begins if its characters aren't in the file unchanged.
func (n *Node) Place(offset int) Pos {
	if n.first.Line == 0 || offset > len(n.Text) {
		return n.At
	}
	before := n.Text[:offset]
	lines := strings.Count(before, "\n")
	if lines == 0 {
		return Pos{n.first.Line, n.first.Column + utf8.RuneCountInString(before)}
	}
	last := before[strings.LastIndexByte(before, '\n')+1:]
	return Pos{n.first.Line + lines, n.indent + 1 + utf8.RuneCountInString(last)}
}

// AsText is a boolean or number as text, as it is written.
func (n *Node) AsText() *Node {
	return &Node{Kind: Text, At: n.At, Text: n.Text, first: n.At}
}

// JSON appends the node as JSON, with keys in the file's order. A number keeps
// its digits.
func (n *Node) JSON(out []byte) []byte {
	switch n.Kind {
	case Null:
		return append(out, "null"...)
	case Text:
		return append(out, jsontext.MustEncode(n.Text)...)
	case Mapping:
		out = append(out, '{')
		for i, e := range n.Entries {
			if i > 0 {
				out = append(out, ',')
			}
			out = e.Value.JSON(append(append(out, jsontext.MustEncode(e.Key)...), ':'))
		}
		return append(out, '}')
	case List:
		out = append(out, '[')
		for i, item := range n.Items {
			if i > 0 {
				out = append(out, ',')
			}
			out = item.JSON(out)
		}
		return append(out, ']')
	}
	return append(out, n.json...)
}
