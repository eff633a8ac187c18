package workflow

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/reflectory/reflectory/core"
)

const (
	// maxYAMLDepth bounds the nesting of mappings and lists.
	maxYAMLDepth = 100
	// maxYAMLTokens bounds the words and signs of a file: the YAML library's time
	// grows with their square, to some 0.5 s here.
	maxYAMLTokens = 50_000
)

// kind is what a node of the file is.
type kind string

const (
	kindNull    kind = "null"
	kindBool    kind = "a boolean"
	kindNumber  kind = "a number"
	kindText    kind = "text"
	kindMapping kind = "a mapping"
	kindList    kind = "a list"
)

// node is a value of a YAML file with its place. YAML's types beyond JSON's,
// such as timestamps, are text.
type node struct {
	kind    kind
	at      pos
	text    string // of text; of a number or boolean, its JSON
	first   pos    // where text begins, if its characters stand there one by one
	indent  int    // columns before each line of a literal block
	entries []entry
	items   []*node
}

// entry is one key of a mapping.
type entry struct {
	key   string
	at    pos
	value *node
}

// place finds an offset of the text in the file, or where the text begins.
func (n *node) place(offset int) pos {
	if n.first.line == 0 || offset > len(n.text) {
		return n.at
	}
	before := n.text[:offset]
	lines := strings.Count(before, "\n")
	if lines == 0 {
		return pos{n.first.line, n.first.column + utf8.RuneCountInString(before)}
	}
	last := before[strings.LastIndexByte(before, '\n')+1:]
	return pos{n.first.line + lines, n.indent + 1 + utf8.RuneCountInString(last)}
}

// parseYAML reads one YAML document. The YAML library panics on some malformed
// input; that is a problem of the file too.
func parseYAML(text string, found *problems) (root *node) {
	defer func() {
		if p := recover(); p != nil {
			found.add(pos{1, 1}, "", "the YAML is malformed")
			root = nil
		}
	}()
	text = strings.TrimPrefix(text, "\ufeff") // some editors begin a file with it
	if !checkCharacters(text, found) {
		return nil
	}
	tokens := lexer.Tokenize(text)
	if !checkTokens(tokens, found) {
		return nil
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		var syntax interface {
			error
			GetToken() *token.Token
			GetMessage() string
		}
		if errors.As(err, &syntax) {
			found.add(position(syntax.GetToken()), "", "%s", syntax.GetMessage())
		} else {
			found.add(pos{1, 1}, "", "%v", err)
		}
		return nil
	}
	var bodies []ast.Node
	for _, doc := range file.Docs {
		if doc.Body != nil && doc.Body.Type() != ast.CommentType {
			bodies = append(bodies, doc.Body)
		}
	}
	switch {
	case len(bodies) == 0:
		found.add(pos{1, 1}, "", "the file is empty")
		return nil
	case len(bodies) > 1:
		found.add(position(bodies[1].GetToken()), "put it into a file of its own", "the file has a second document")
		return nil
	}
	r := &reader{found: found, lines: strings.Split(text, "\n")}
	return r.node(bodies[0], 0)
}

// checkCharacters refuses what YAML doesn't allow in a file, the control
// characters that could steer a terminal among it.
func checkCharacters(text string, found *problems) bool {
	at := pos{1, 1}
	for i, r := range text {
		switch {
		case r == '\n':
			at = pos{at.line + 1, 1}
			continue
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)):
			found.add(at, "save the file as UTF-8", "the file isn't UTF-8 text")
			return false
		case r < ' ' && r != '\t' && r != '\r', r >= 0x7f && r <= 0x9f && r != 0x85:
			found.add(at, `write it as an escape in double quotes, such as "\e"`, "the control character U+%04X can't stand in YAML", r)
			return false
		}
		at.column++
	}
	return true
}

// checkTokens refuses what the parser would recurse on without bound, and what
// lets a small file stand for a huge one.
func checkTokens(tokens token.Tokens, found *problems) bool {
	if len(tokens) > maxYAMLTokens {
		found.add(position(tokens[maxYAMLTokens]), "put large data into a file of its own: --state-file or --input take JSON",
			"the YAML has more than %d words and signs", maxYAMLTokens)
		return false
	}
	flow, line, entries, good := 0, 0, 0, true
	for _, t := range tokens {
		switch t.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType, token.TagType, token.DirectiveType:
			found.add(position(t), "write the value out, or quote it", "anchors, aliases, merge keys, tags and directives aren't supported")
			good = false
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		case token.SequenceEntryType, token.MappingKeyType:
			if t.Position.Line != line {
				line, entries = t.Position.Line, 0
			}
			entries++
		}
		if flow > maxYAMLDepth || entries > maxYAMLDepth {
			found.add(position(t), "", "the YAML is nested deeper than %d levels", maxYAMLDepth)
			return false
		}
	}
	return good
}

func position(t *token.Token) pos {
	if t == nil || t.Position == nil {
		return pos{1, 1}
	}
	return pos{t.Position.Line, t.Position.Column}
}

// reader turns the library's tree into nodes.
type reader struct {
	found *problems
	lines []string
}

func (r *reader) node(n ast.Node, depth int) *node {
	at := position(n.GetToken())
	if depth > maxYAMLDepth {
		r.found.add(at, "", "the YAML is nested deeper than %d levels", maxYAMLDepth)
		return &node{kind: kindNull, at: at}
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		return r.mapping(n.Values, at, depth)
	case *ast.MappingValueNode:
		return r.mapping([]*ast.MappingValueNode{n}, at, depth)
	case *ast.SequenceNode:
		list := &node{kind: kindList, at: at}
		for _, v := range n.Values {
			list.items = append(list.items, r.node(v, depth+1))
		}
		return list
	case *ast.LiteralNode:
		return r.literal(n, at)
	case *ast.NullNode:
		return &node{kind: kindNull, at: at}
	case *ast.BoolNode:
		return &node{kind: kindBool, at: at, text: string(core.MustJSON(n.Value))}
	case *ast.IntegerNode:
		return &node{kind: kindNumber, at: at, text: string(core.MustJSON(n.Value))}
	case *ast.FloatNode:
		if math.IsInf(n.Value, 0) || math.IsNaN(n.Value) {
			break
		}
		text := strings.ReplaceAll(n.Token.Value, "_", "")
		if !json.Valid([]byte(text)) {
			text = string(core.MustJSON(n.Value))
		}
		return &node{kind: kindNumber, at: at, text: text}
	case *ast.StringNode:
		return r.plain(n, at)
	}
	r.found.add(at, "", "this value can't be used here: JSON has no such number or type")
	return &node{kind: kindNull, at: at}
}

func (r *reader) mapping(values []*ast.MappingValueNode, at pos, depth int) *node {
	m := &node{kind: kindMapping, at: at}
	seen := map[string]bool{}
	for i, v := range values {
		keyToken := v.Key.GetToken()
		key := keyToken.Value
		keyAt := position(keyToken)
		if i == 0 && keyAt.line > 0 {
			m.at = keyAt
		}
		if _, complex := v.Key.(*ast.MappingKeyNode); complex {
			r.found.add(keyAt, "", "a key must be a simple name")
			continue
		}
		if seen[key] {
			r.found.add(keyAt, "remove one of them", "the key %q is there twice", key)
			continue
		}
		seen[key] = true
		m.entries = append(m.entries, entry{key: key, at: keyAt, value: r.node(v.Value, depth+1)})
	}
	return m
}

// plain reads a quoted or unquoted text on one line.
func (r *reader) plain(n *ast.StringNode, at pos) *node {
	text := &node{kind: kindText, at: at, text: n.Value}
	quoted := n.Token.Type == token.DoubleQuoteType || n.Token.Type == token.SingleQuoteType
	if strings.Contains(n.Token.Origin, n.Value) && !strings.Contains(n.Value, "\n") {
		text.first = at
		if quoted {
			text.first.column++
		}
	}
	return text
}

// literal reads a block text. Where the lines are kept (|), offsets into it can
// be found again.
func (r *reader) literal(n *ast.LiteralNode, at pos) *node {
	text := &node{kind: kindText, at: at, text: n.Value.Value}
	if !strings.HasPrefix(n.Start.Value, "|") {
		return text
	}
	for _, line := range r.lines[min(at.line, len(r.lines)):] {
		if strings.TrimSpace(line) != "" {
			text.indent = len(line) - len(strings.TrimLeft(line, " "))
			text.first = pos{at.line + 1, text.indent + 1}
			break
		}
	}
	return text
}

// json writes the node as JSON, with keys in the file's order.
func (n *node) json(out []byte) []byte {
	switch n.kind {
	case kindNull:
		return append(out, "null"...)
	case kindText:
		return append(out, core.MustJSON(n.text)...)
	case kindMapping:
		out = append(out, '{')
		for _, e := range n.entries {
			out = e.value.json(append(separate(out), append(core.MustJSON(e.key), ':')...))
		}
		return append(out, '}')
	case kindList:
		out = append(out, '[')
		for _, item := range n.items {
			out = item.json(separate(out))
		}
		return append(out, ']')
	}
	return append(out, n.text...)
}

// separate adds the comma before another element.
func separate(out []byte) []byte {
	if last := out[len(out)-1]; last != '{' && last != '[' && last != ':' {
		return append(out, ',')
	}
	return out
}

// get returns the value of a mapping's key, or nil.
func (n *node) get(key string) *node {
	if n != nil {
		for _, e := range n.entries {
			if e.key == key {
				return e.value
			}
		}
	}
	return nil
}
