package template

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nikolalohinski/gonja/v2/config"
	"github.com/nikolalohinski/gonja/v2/nodes"
	"github.com/nikolalohinski/gonja/v2/parser"
	"github.com/nikolalohinski/gonja/v2/tokens"

	"github.com/reflectory/reflectory/sdk"
)

// parse reads a template's syntax. gonja's parser panics on some malformed
// input; that is a syntax error too.
func parse(source string) (tree []nodes.Node, problem *Problem) {
	defer func() {
		if p := recover(); p != nil {
			tree, problem = nil, &Problem{Message: "the template is malformed"}
		}
	}()
	if strings.Contains(source, "\r") {
		source = strings.ReplaceAll(strings.ReplaceAll(source, "\r\n", "\n"), "\r", "\n")
	}
	cfg := config.New()
	cfg.KeepTrailingNewline = true
	list, problem := lex(source, cfg)
	if problem != nil {
		return nil, problem
	}
	p := parser.NewParser("template", tokens.NewStream(list), cfg, nil, structures{})
	parsed, err := p.Parse()
	if err != nil {
		return nil, syntaxProblem(source, err)
	}
	return parsed.Nodes, nil
}

// lex splits the source into tokens and bounds their nesting.
func lex(source string, cfg *config.Config) ([]*tokens.Token, *Problem) {
	stream := tokens.LexAll(source, cfg)
	var list []*tokens.Token
	brackets, blocks := 0, 0
	for ; ; stream.Next() {
		t := stream.Current()
		if t.Type == tokens.EOF {
			return append(list, &tokens.Token{Type: tokens.EOF, Pos: len(source)}), nil
		}
		switch t.Type {
		case tokens.Error:
			return nil, &Problem{Offset: min(t.Pos, len(source)), Message: fmt.Sprintf("can't read the template from here (%q)", strings.ToLower(t.Val))}
		case tokens.LeftBrace, tokens.LeftBracket, tokens.LeftParenthesis:
			brackets++
		case tokens.RightBrace, tokens.RightBracket, tokens.RightParenthesis:
			brackets--
		case tokens.VariableBegin, tokens.BlockBegin:
			brackets = 0
		case tokens.Name:
			blocks += nesting(list, t)
		}
		if brackets > maxBrackets || blocks > maxBlocks {
			return nil, &Problem{Offset: t.Pos, Message: "the template is nested too deeply"}
		}
		list = append(list, t)
	}
}

// nesting is 1 for the name of a tag that opens a block, -1 for one that closes it.
func nesting(before []*tokens.Token, name *tokens.Token) int {
	if len(before) == 0 || before[len(before)-1].Type != tokens.BlockBegin {
		return 0
	}
	switch name.Val {
	case "if", "for", "raw", "macro":
		return 1
	case "endif", "endfor", "endraw", "endmacro":
		return -1
	}
	return 0
}

// tagError is a problem that a tag's own parser found.
type tagError struct{ Problem }

func (e *tagError) Error() string { return e.Message }

func tagProblem(at *tokens.Token, message string) error {
	e := &tagError{Problem{Message: message}}
	if at != nil {
		e.Offset = at.Pos
	}
	return e
}

func syntaxProblem(source string, err error) *Problem {
	var tag *tagError
	if errors.As(err, &tag) {
		return &tag.Problem
	}
	var syntax *parser.SyntaxError
	if !errors.As(err, &syntax) {
		return &Problem{Message: err.Error()}
	}
	p := &Problem{Offset: offset(source, syntax.Line, syntax.Column), Message: strings.ToLower(strings.TrimSuffix(syntax.Message, "."))}
	if syntax.Raw != "" {
		p.Message += fmt.Sprintf(" near %q", syntax.Raw)
	}
	return p
}

// offset converts a line and column, both from 1; 0 means unknown and gives the end.
func offset(source string, line, column int) int {
	if line < 1 {
		return len(source)
	}
	at := 0
	for range line - 1 {
		i := strings.IndexByte(source[at:], '\n')
		if i < 0 {
			return len(source)
		}
		at += i + 1
	}
	return min(at+max(0, column-1), len(source))
}

// structures are the tags that a template may use.
type structures struct{}

// Get returns a tag's parser. For an unknown tag it returns one that reports it, because
// gonja's own message names its types.
func (structures) Get(name string) (parser.ControlStructureParser, bool) {
	switch name {
	case "if":
		return parseIf, true
	case "for":
		return parseFor, true
	case "set":
		return parseSet, true
	case "raw":
		return parseRaw, true
	case "macro":
		return parseMacro, true
	}
	return func(p, args *parser.Parser) (nodes.ControlStructure, error) {
		e := &tagError{Problem{
			Message: fmt.Sprintf("there is no tag {%% %s %%} here", name),
			Hint: sdk.DidYouMean(name, []string{"if", "for", "set", "raw", "macro", "elif", "else", "endif", "endfor", "endmacro"},
				"the tags are if, for, set, raw and macro"),
		}}
		if at := args.Current(); at != nil && at.Type != tokens.EOF {
			e.Offset = at.Pos
		}
		return nil, e
	}, true
}
