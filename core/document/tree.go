package document

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/reflectory/reflectory/core"
)

// builder turns the library's tree into nodes.
type builder struct {
	found *Problems
	lines []string
	depth int
}

func (b *builder) node(n ast.Node, depth int) *Node {
	at := beginning(n)
	if depth > b.depth {
		tooDeep(at, b.depth, b.found)
		return &Node{Kind: Null, At: at}
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		return b.mapping(n.Values, at, depth)
	case *ast.MappingValueNode:
		return b.mapping([]*ast.MappingValueNode{n}, at, depth)
	case *ast.SequenceNode:
		list := &Node{Kind: List, At: at}
		for _, v := range n.Values {
			list.Items = append(list.Items, b.node(v, depth+1))
		}
		return list
	case *ast.LiteralNode:
		return b.block(n, at)
	case *ast.StringNode:
		return line(n, at)
	case *ast.NullNode:
		return &Node{Kind: Null, At: at}
	case *ast.BoolNode:
		return &Node{Kind: Bool, At: at, Text: n.Token.Value, json: string(core.MustJSON(n.Value))}
	case *ast.IntegerNode:
		return &Node{Kind: Number, At: at, Text: n.Token.Value, json: string(core.MustJSON(n.Value))}
	case *ast.FloatNode:
		if !math.IsInf(n.Value, 0) && !math.IsNaN(n.Value) {
			return &Node{Kind: Number, At: at, Text: n.Token.Value, json: float(n)}
		}
	}
	b.found.Add(at, "", "this value can't be used here: JSON has no such number or type")
	return &Node{Kind: Null, At: at}
}

// float is a number with a fraction, as it is written where JSON can write it so.
func float(n *ast.FloatNode) string {
	text := strings.ReplaceAll(n.Token.Value, "_", "")
	if json.Valid([]byte(text)) {
		return text
	}
	return string(core.MustJSON(n.Value))
}

func (b *builder) mapping(values []*ast.MappingValueNode, at Pos, depth int) *Node {
	m := &Node{Kind: Mapping, At: at}
	seen := map[string]bool{}
	for _, v := range values {
		keyToken := v.Key.GetToken()
		key, keyAt := keyToken.Value, position(keyToken)
		if _, complex := v.Key.(*ast.MappingKeyNode); complex {
			b.found.Add(keyAt, "", "a key must be a simple name")
			continue
		}
		if seen[key] {
			b.found.Add(keyAt, "remove one of them", "the key %q is there twice", core.Cut(key))
			continue
		}
		seen[key] = true
		m.Entries = append(m.Entries, Entry{Key: key, At: keyAt, Value: b.node(v.Value, depth+1)})
	}
	return m
}

// line reads a quoted or unquoted text.
func line(n *ast.StringNode, at Pos) *Node {
	text := &Node{Kind: Text, At: at, Text: n.Value}
	if strings.Contains(n.Token.Origin, n.Value) && !strings.Contains(n.Value, "\n") {
		text.first = at
		if n.Token.Type == token.DoubleQuoteType || n.Token.Type == token.SingleQuoteType {
			text.first.Column++
		}
	}
	return text
}

// block reads a block text. Where the lines are kept (|), bytes of it can be
// found again.
func (b *builder) block(n *ast.LiteralNode, at Pos) *Node {
	text := &Node{Kind: Text, At: at, Text: n.Value.Value, Block: true}
	if !strings.HasPrefix(n.Start.Value, "|") {
		return text
	}
	for _, line := range b.lines[min(at.Line, len(b.lines)):] {
		if strings.TrimSpace(line) != "" {
			text.indent = len(line) - len(strings.TrimLeft(line, " "))
			text.first = Pos{at.Line + 1, text.indent + 1}
			break
		}
	}
	return text
}
