package document

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/reflectory/reflectory/core"
)

// unsupported is the message for features that would let a small file expand to a huge
// one, or make a value of a type that JSON doesn't have. Merge keys need aliases.
const (
	unsupported     = "anchors, aliases, merge keys, tags and directives aren't supported"
	unsupportedHint = "write the value out, or quote it"
)

// builder turns the library's tree into nodes. It visits the positions of a file in
// order.
type builder struct {
	found  *Problems
	source *source
	depth  int
	// refused is whether the tree has unsupported features, so that it doesn't have the
	// meaning that was intended.
	refused bool
}

func (b *builder) refuse(at Pos) {
	b.found.Add(at, unsupportedHint, unsupported)
	b.refused = true
}

func (b *builder) node(n *yaml.Node, depth int) *Node {
	at := position(n)
	rest := b.source.from(at)
	if n.Anchor != "" || strings.HasPrefix(rest, "!") || strings.HasPrefix(rest, "&") {
		b.refuse(at)
	}
	switch {
	case n.Kind == yaml.AliasNode:
		b.refuse(at)
		return &Node{Kind: Null, At: at}
	case n.Kind != yaml.ScalarNode && depth > b.depth:
		tooDeep(at, b.depth, b.found)
		return &Node{Kind: Null, At: at}
	case n.Kind == yaml.MappingNode && strings.HasPrefix(rest, "{{"):
		b.found.Add(at, templateHint, templateInYAML)
		return &Node{Kind: Null, At: at}
	}
	switch n.Kind {
	case yaml.MappingNode:
		return b.mapping(n, at, depth)
	case yaml.SequenceNode:
		list := &Node{Kind: List, At: at, Items: make([]*Node, len(n.Content))}
		for i, item := range n.Content {
			list.Items[i] = b.node(item, depth+1)
		}
		return list
	}
	if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return b.block(n, at)
	}
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
		return line(n, rest[min(1, len(rest)):], Pos{at.Line, at.Column + 1})
	}
	return b.plain(n, rest)
}

// plain resolves a text without quotes.
func (b *builder) plain(n *yaml.Node, rest string) *Node {
	at := position(n)
	kind, json, refused := resolve(n.Value)
	switch {
	case refused != "":
		b.found.Add(at, "quote it if it is text", "%s: %s", core.Cut(n.Value), refused)
		return &Node{Kind: Null, At: at}
	case kind == Text:
		return line(n, rest, at)
	case kind == Null:
		return &Node{Kind: Null, At: at}
	}
	return &Node{Kind: kind, At: at, Text: n.Value, json: json}
}

func (b *builder) mapping(n *yaml.Node, at Pos, depth int) *Node {
	m := &Node{Kind: Mapping, At: at, Entries: make([]Entry, 0, len(n.Content)/2)}
	seen := make(map[string]bool, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, keyAt := n.Content[i], position(n.Content[i])
		switch {
		case key.Kind != yaml.ScalarNode && key.Kind != yaml.AliasNode || isEmpty(key):
			b.found.Add(keyAt, "", "a key must be a simple name")
			continue
		case key.Kind == yaml.AliasNode, key.Anchor != "", key.Tag == "!!merge", strings.HasPrefix(b.source.from(keyAt), "!"):
			b.refuse(keyAt)
			b.node(n.Content[i+1], depth+1) // reports its problems
			continue
		case seen[key.Value]:
			b.found.Add(keyAt, "remove one of them", "the key %q is there twice", core.Cut(key.Value))
			continue
		}
		seen[key.Value] = true
		m.Entries = append(m.Entries, Entry{Key: key.Value, At: keyAt, Value: b.node(n.Content[i+1], depth+1)})
	}
	return m
}

// line makes a text. first is where rest begins in the file; if the text's first
// character is there unchanged, the text gets its position.
func line(n *yaml.Node, rest string, first Pos) *Node {
	text := &Node{Kind: Text, At: position(n), Text: n.Value}
	if strings.HasPrefix(rest, n.Value) && !strings.Contains(n.Value, "\n") {
		text.first = first
	}
	return text
}

// block reads a block text. If its lines are kept (|), the positions of its bytes are
// known.
func (b *builder) block(n *yaml.Node, at Pos) *Node {
	text := &Node{Kind: Text, At: at, Text: n.Value, Block: true}
	if n.Style&yaml.LiteralStyle == 0 {
		return text
	}
	for _, line := range b.source.lines[min(at.Line, len(b.source.lines)):] {
		if strings.TrimSpace(line) != "" {
			text.indent = len(line) - len(strings.TrimLeft(line, " "))
			text.first = Pos{at.Line + 1, text.indent + 1}
			break
		}
	}
	return text
}

// source finds positions in a text. It is quick if positions are in order: it continues
// from the last one.
type source struct {
	lines []string
	at    Pos
	byte  int // the offset of at in its line
}

func newSource(text string) *source {
	return &source{lines: strings.Split(text, "\n"), at: Pos{1, 1}}
}

// from returns the rest of a line from a position on.
func (s *source) from(at Pos) string {
	if at.Line > len(s.lines) {
		return ""
	}
	if at.Line != s.at.Line || at.Column < s.at.Column {
		s.at, s.byte = Pos{at.Line, 1}, 0
	}
	line := s.lines[at.Line-1]
	for s.at.Column < at.Column && s.byte < len(line) {
		_, size := utf8.DecodeRuneInString(line[s.byte:])
		s.byte += size
		s.at.Column++
	}
	return line[s.byte:]
}
