package install

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Bounds of a file in YAML: nobody writes more by hand.
const (
	maxYAMLBytes  = 64 << 10
	maxYAMLTokens = 5_000 // the YAML library's time grows with their square
	maxYAMLDepth  = 20
)

// Problem is one thing wrong with a file. Line and column count from 1.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

func (p Problem) String() string {
	text := fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
	if p.Hint != "" {
		text += " (" + p.Hint + ")"
	}
	return text
}

// document collects what is wrong with one file.
type document struct {
	file     string
	problems []Problem
}

func (d *document) add(n *node, hint, format string, args ...any) {
	d.problems = append(d.problems, Problem{
		File: d.file, Line: max(1, n.line), Column: max(1, n.column), Message: fmt.Sprintf(format, args...), Hint: hint,
	})
}

// err is the one error that lists every problem in the file's order, or nil.
func (d *document) err(reason string) error {
	if len(d.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(d.problems, func(a, b Problem) int {
		return cmp.Or(a.Line-b.Line, a.Column-b.Column)
	})
	lines := make([]string, len(d.problems))
	for i, p := range d.problems {
		lines[i] = p.String()
	}
	return sdk.Errorf(sdk.Invalid, reason, "%s", strings.Join(lines, "\n")).WithDetail("problems", d.problems)
}

// kind is what a node of a file is.
type kind string

const (
	kindScalar  kind = "a single value"
	kindMapping kind = "a mapping"
	kindList    kind = "a list"
)

// node is a value of a file with its place. A scalar's text is as it was
// written; null is an empty one.
type node struct {
	line, column int
	kind         kind
	text         string
	keys         []*node // of a mapping, beside items
	items        []*node
}

// get returns the value of a mapping's key, or nil.
func (n *node) get(key string) *node {
	for i, k := range n.keys {
		if k.text == key {
			return n.items[i]
		}
	}
	return nil
}

// known reports every key of a mapping that isn't among the names.
func (d *document) known(n *node, what string, names ...string) {
	for _, key := range n.keys {
		if near := core.Nearest(key.text, names); near == "" {
			d.add(key, "there are "+strings.Join(names, ", "), "%s has no key %q", what, cut(key.text))
		} else if near != key.text {
			d.add(key, fmt.Sprintf("did you mean %q?", near), "%s has no key %q", what, cut(key.text))
		}
	}
}

// cut keeps a name from outside short and on one line.
func cut(text string) string {
	if len(text) <= 64 {
		return text
	}
	return strings.ToValidUTF8(text[:61], "") + "..."
}

// parse reads one YAML document whose root is a mapping. Without one it returns
// nil and has noted why. The YAML library panics on some malformed input; that
// is a problem of the file too.
func (d *document) parse(text []byte) (root *node) {
	defer func() {
		if recover() != nil {
			d.add(&node{}, "", "the YAML is malformed")
			root = nil
		}
	}()
	if len(text) > maxYAMLBytes {
		d.add(&node{}, "", "the file has more than %d bytes", maxYAMLBytes)
		return nil
	}
	if !d.characters(string(text)) {
		return nil
	}
	tokens := lexer.Tokenize(string(text))
	if !d.tokens(tokens) {
		return nil
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		d.syntax(err)
		return nil
	}
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType {
			continue
		}
		if root != nil {
			d.add(at(doc.Body), "", "the file has a second document")
			return nil
		}
		root = d.node(doc.Body, 0)
	}
	switch {
	case root == nil:
		d.add(&node{}, "", "the file is empty")
	case root.kind != kindMapping:
		d.add(root, "", "the file must be a mapping of keys to values")
		root = nil
	}
	return root
}

func (d *document) syntax(err error) {
	var syntax interface {
		error
		GetToken() *token.Token
		GetMessage() string
	}
	if errors.As(err, &syntax) {
		d.add(atToken(syntax.GetToken()), "", "%s", syntax.GetMessage())
		return
	}
	d.add(&node{}, "", "%v", err)
}

// characters refuses what YAML doesn't allow in a file, and what steers a terminal.
func (d *document) characters(text string) bool {
	if !utf8.ValidString(text) {
		d.add(&node{}, "save the file as UTF-8", "the file isn't UTF-8 text")
		return false
	}
	for i, line := range strings.Split(text, "\n") {
		steers := func(r rune) bool { return r < ' ' && r != '\t' && r != '\r' || r >= 0x7f && r <= 0x9f }
		if c := strings.IndexFunc(line, steers); c >= 0 {
			d.add(&node{line: i + 1, column: c + 1}, "", "a control character can't stand in YAML")
			return false
		}
	}
	return true
}

// tokens refuses what the parser would recurse on without bound, and what lets a
// small file stand for a huge one.
func (d *document) tokens(tokens token.Tokens) bool {
	if len(tokens) > maxYAMLTokens {
		d.add(atToken(tokens[maxYAMLTokens]), "", "the YAML has more than %d words and signs", maxYAMLTokens)
		return false
	}
	flow, line, entries := 0, 0, 0
	for _, t := range tokens {
		switch t.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType, token.TagType, token.DirectiveType:
			d.add(atToken(t), "write the value out, or quote it", "anchors, aliases, merge keys, tags and directives aren't supported")
			return false
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
			d.add(atToken(t), "", "the YAML is nested deeper than %d levels", maxYAMLDepth)
			return false
		}
	}
	return true
}

func at(n ast.Node) *node { return atToken(n.GetToken()) }

func atToken(t *token.Token) *node {
	if t == nil || t.Position == nil {
		return &node{}
	}
	return &node{line: t.Position.Line, column: t.Position.Column}
}

func (d *document) node(n ast.Node, depth int) *node {
	made := at(n)
	made.kind = kindScalar
	if depth > maxYAMLDepth {
		d.add(made, "", "the YAML is nested deeper than %d levels", maxYAMLDepth)
		return made
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		d.mapping(made, n.Values, depth)
	case *ast.MappingValueNode:
		d.mapping(made, []*ast.MappingValueNode{n}, depth)
	case *ast.SequenceNode:
		made.kind = kindList
		for _, v := range n.Values {
			made.items = append(made.items, d.node(v, depth+1))
		}
	case *ast.NullNode:
	case *ast.LiteralNode:
		made.text = n.Value.Value
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		made.text = n.GetToken().Value
	default:
		d.add(made, "", "this value can't be used here")
	}
	return made
}

func (d *document) mapping(made *node, values []*ast.MappingValueNode, depth int) {
	made.kind = kindMapping
	for i, v := range values {
		key := at(v.Key)
		key.kind, key.text = kindScalar, v.Key.GetToken().Value
		if i == 0 {
			made.line, made.column = key.line, key.column
		}
		if made.get(key.text) != nil {
			d.add(key, "remove one of them", "the key %q is there twice", cut(key.text))
			continue
		}
		made.keys = append(made.keys, key)
		made.items = append(made.items, d.node(v.Value, depth+1))
	}
}
