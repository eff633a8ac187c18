package format

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

const (
	// MaxFileBytes bounds a file: room for some 5,000 lines.
	MaxFileBytes = 256 << 10
	// maxDepth bounds the nesting of mappings and lists: 20 nested rules take 60.
	maxDepth = 64
	// maxTokens bounds the words and signs of a file: the YAML library's time
	// grows with their square, to some 0.5 s here.
	maxTokens = 50_000
)

// tree reads one YAML document, or nil with the problems noted. The YAML
// library panics on some malformed input; that is a problem of the file too.
func tree(text string, found *Problems) (root ast.Node) {
	defer func() {
		if p := recover(); p != nil {
			found.Add(Pos{1, 1}, "", "the YAML is malformed")
			root = nil
		}
	}()
	if len(text) > MaxFileBytes {
		found.Add(Pos{1, 1}, "split it", "the file has %d bytes, more than %d", len(text), MaxFileBytes)
		return nil
	}
	if !checkCharacters(text, found) {
		return nil
	}
	tokens := lexer.Tokenize(text)
	if !checkTokens(tokens, found) {
		return nil
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		syntaxProblem(err, found)
		return nil
	}
	return single(file, found)
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

// single returns the file's one document.
func single(file *ast.File, found *Problems) ast.Node {
	var bodies []ast.Node
	for _, doc := range file.Docs {
		if doc.Body != nil && doc.Body.Type() != ast.CommentType {
			bodies = append(bodies, doc.Body)
		}
	}
	switch {
	case len(bodies) == 0:
		found.Add(Pos{1, 1}, "", "the file is empty")
		return nil
	case len(bodies) > 1:
		found.Add(beginning(bodies[1]), "put it into a file of its own", "the file has a second document")
		return nil
	}
	return bodies[0]
}

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
		case r < ' ' && r != '\t' && r != '\r', r >= 0x7f && r <= 0x9f && r != 0x85:
			found.Add(at, `write it as an escape in double quotes, such as "\e"`, "the control character U+%04X can't stand in YAML", r)
			return false
		}
		at.Column++
	}
	return true
}

// checkTokens refuses what the parser would recurse on without bound, and what
// lets a small file stand for a huge one.
func checkTokens(tokens token.Tokens, found *Problems) bool {
	if len(tokens) > maxTokens {
		found.Add(position(tokens[maxTokens]), "split the file", "the YAML has more than %d words and signs", maxTokens)
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
		if flow > maxDepth || entries > maxDepth {
			found.Add(position(t), "", "the YAML is nested deeper than %d levels", maxDepth)
			return false
		}
	}
	return good
}

// beginning is where a node begins: a mapping's own token is its first colon.
func beginning(n ast.Node) Pos {
	if m, ok := n.(*ast.MappingValueNode); ok {
		return position(m.Key.GetToken())
	}
	return position(n.GetToken())
}

func position(t *token.Token) Pos {
	if t == nil || t.Position == nil {
		return Pos{1, 1}
	}
	return Pos{t.Position.Line, t.Position.Column}
}
