package document

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// byteOrderMark is what some editors begin a file with.
const byteOrderMark = "\ufeff"

// Limits bound a file. Each must be above 0.
type Limits struct {
	// Bytes bounds the text.
	Bytes int
	// Words bounds the words and signs of the text, as the YAML library counts
	// them: its time grows with their square, to some 0.5 s for 50,000.
	Words int
	// Depth bounds the nesting of mappings and lists.
	Depth int
	// Hint says what to do with a file that has too many bytes or words.
	Hint string
	// MayBeEmpty lets a file hold nothing: it is read as a mapping without keys.
	MayBeEmpty bool
}

// Read reads one YAML document, or returns nil with the problems noted. JSON is
// read as well. A tree that it returns may be incomplete where problems were
// noted; what is there is well-formed.
func Read(text string, limits Limits, found *Problems) (root *Node) {
	defer func() {
		if recover() != nil { // the library's, on some malformed input
			found.Add(Pos{1, 1}, "", "the YAML is malformed")
			root = nil
		}
	}()
	if len(text) > limits.Bytes {
		found.Add(Pos{1, 1}, limits.Hint, "the file has more than %d bytes", limits.Bytes)
		return nil
	}
	text = strings.TrimPrefix(text, byteOrderMark)
	if !checkCharacters(text, found) {
		return nil
	}
	tokens := lexer.Tokenize(text)
	if !checkTokens(tokens, limits, found) {
		return nil
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		syntaxProblem(err, found)
		return nil
	}
	bodies := documents(file)
	switch {
	case len(bodies) == 0 && limits.MayBeEmpty:
		return &Node{Kind: Mapping, At: Pos{1, 1}}
	case len(bodies) == 0:
		found.Add(Pos{1, 1}, "", "the file is empty")
		return nil
	case len(bodies) > 1:
		found.Add(beginning(bodies[1]), "put it into a file of its own", "the file has a second document")
		return nil
	}
	b := &builder{found: found, lines: strings.Split(text, "\n"), depth: limits.Depth}
	return b.node(bodies[0], 0)
}

func isControl(r rune) bool { return r < ' ' || r >= 0x7f && r <= 0x9f }

// checkCharacters refuses what YAML doesn't allow in a file, the control
// characters that could steer a terminal among it.
func checkCharacters(text string, found *Problems) bool {
	at := Pos{1, 1}
	for i, r := range text {
		switch {
		case r == '\n':
			at = Pos{at.Line + 1, 1}
			continue
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)):
			found.Add(at, "save the file as UTF-8", "the file isn't UTF-8 text")
			return false
		case r == '\r' && !strings.HasPrefix(text[i+1:], "\n"):
			found.Add(at, "end lines as Unix or Windows does", "a carriage return stands within a line")
			return false
		case isControl(r) && r != '\t' && r != '\r' && r != 0x85: // the last is YAML's next line
			found.Add(at, `write it as an escape in double quotes, such as "\e"`, "the control character U+%04X can't stand in YAML", r)
			return false
		}
		at.Column++
	}
	return true
}

// checkTokens refuses what the parser would recurse on without bound, and what
// lets a small file stand for a huge one.
func checkTokens(tokens token.Tokens, limits Limits, found *Problems) bool {
	if len(tokens) > limits.Words {
		found.Add(position(tokens[limits.Words]), limits.Hint, "the YAML has more than %d words and signs", limits.Words)
		return false
	}
	flow, line, entries, good := 0, 0, 0, true
	for _, t := range tokens {
		switch t.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType, token.TagType, token.DirectiveType:
			found.Add(position(t), "write the value out, or quote it", "anchors, aliases, merge keys, tags and directives aren't supported")
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
		if flow > limits.Depth || entries > limits.Depth {
			tooDeep(position(t), limits.Depth, found)
			return false
		}
	}
	return good
}

func tooDeep(at Pos, depth int, found *Problems) {
	found.Add(at, "", "the YAML is nested deeper than %d levels", depth)
}

func syntaxProblem(err error, found *Problems) {
	var syntax interface {
		error
		GetToken() *token.Token
		GetMessage() string
	}
	if errors.As(err, &syntax) {
		found.Add(position(syntax.GetToken()), "", "%s", syntax.GetMessage())
		return
	}
	found.Add(Pos{1, 1}, "", "%v", err)
}

// documents are those of the file that hold more than comments.
func documents(file *ast.File) []ast.Node {
	var bodies []ast.Node
	for _, doc := range file.Docs {
		if doc.Body != nil && doc.Body.Type() != ast.CommentType {
			bodies = append(bodies, doc.Body)
		}
	}
	return bodies
}

// beginning is where a node begins: the own token of a mapping without braces is
// its first colon.
func beginning(n ast.Node) Pos {
	switch n := n.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return position(n.Values[0].Key.GetToken())
		}
	case *ast.MappingValueNode:
		return position(n.Key.GetToken())
	}
	return position(n.GetToken())
}

func position(t *token.Token) Pos {
	if t == nil || t.Position == nil {
		return Pos{1, 1}
	}
	return Pos{t.Position.Line, t.Position.Column}
}
