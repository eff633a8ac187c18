package template

import (
	"github.com/nikolalohinski/gonja/v2/nodes"
	"github.com/nikolalohinski/gonja/v2/parser"
	"github.com/nikolalohinski/gonja/v2/tokens"
)

// tag is what the tags below share: their position.
type tag struct{ at *tokens.Token }

func (t tag) Position() *tokens.Token { return t.at }
func (t tag) String() string          { return "tag" }

// ifTag has one body per condition, and one more for else.
type ifTag struct {
	tag
	conditions []nodes.Expression
	bodies     [][]nodes.Node
}

// forTag iterates over a list's elements, or over an object's keys, sorted, and values.
type forTag struct {
	tag
	key, value string // value is "" if only one name is given
	over       nodes.Expression
	condition  nodes.Expression // may be nil
	body       []nodes.Node
	empty      []nodes.Node
}

// setTag binds a name for the rest of the same body.
type setTag struct {
	tag
	name  string
	value nodes.Expression
}

// rawTag is text that is written unchanged.
type rawTag struct {
	tag
	text string
}

// macroTag is a text with parameters. The default of a required parameter is nil.
type macroTag struct {
	tag
	name     string
	params   []string
	defaults []nodes.Expression
	body     []nodes.Node
}

func parseIf(p, args *parser.Parser) (nodes.ControlStructure, error) {
	t := &ifTag{tag: tag{args.Current()}}
	for {
		condition, err := expression(args, "a condition")
		if err != nil {
			return nil, err
		}
		t.conditions = append(t.conditions, condition)
		body, end, err := p.WrapUntil("elif", "else", "endif")
		if err != nil {
			return nil, err
		}
		t.bodies = append(t.bodies, body.Nodes)
		if body.EndTag == "elif" {
			args = end
			continue
		}
		if body.EndTag == "else" {
			if body, _, err = p.WrapUntil("endif"); err != nil {
				return nil, err
			}
			t.bodies = append(t.bodies, body.Nodes)
		}
		return t, nil
	}
}

func parseFor(p, args *parser.Parser) (nodes.ControlStructure, error) {
	t := &forTag{tag: tag{args.Current()}}
	err := t.names(args)
	if err != nil {
		return nil, err
	}
	if t.over, err = args.ParseExpression(); err != nil {
		return nil, err
	}
	if args.MatchName("if") != nil {
		if t.condition, err = args.ParseExpression(); err != nil {
			return nil, err
		}
	}
	if !args.End() {
		return nil, tagProblem(args.Current(), "unexpected text in a for tag")
	}
	body, _, err := p.WrapUntil("else", "endfor")
	if err != nil {
		return nil, err
	}
	t.body = body.Nodes
	if body.EndTag == "else" {
		if body, _, err = p.WrapUntil("endfor"); err != nil {
			return nil, err
		}
		t.empty = body.Nodes
	}
	return t, nil
}

// names parses what the tag binds, up to its "in".
func (t *forTag) names(args *parser.Parser) error {
	key := args.Match(tokens.Name)
	if key == nil {
		return tagProblem(t.at, "a for tag is written {% for x in list %} or {% for k, v in object %}")
	}
	t.key = key.Val
	if args.Match(tokens.Comma) != nil {
		value := args.Match(tokens.Name)
		if value == nil {
			return tagProblem(t.at, "a second name must follow the comma, as in {% for k, v in object %}")
		}
		t.value = value.Val
	}
	if args.Match(tokens.In) == nil {
		return tagProblem(t.at, "a for tag needs \"in\", as in {% for x in list %}")
	}
	return nil
}

func parseSet(_, args *parser.Parser) (nodes.ControlStructure, error) {
	t := &setTag{tag: tag{args.Current()}}
	name := args.Match(tokens.Name)
	if name == nil || args.Match(tokens.Assign) == nil {
		return nil, tagProblem(t.at, "a set tag is written {% set name = value %}")
	}
	t.name = name.Val
	var err error
	t.value, err = expression(args, "a value")
	return t, err
}

func parseRaw(p, args *parser.Parser) (nodes.ControlStructure, error) {
	t := &rawTag{tag: tag{args.Current()}}
	body, _, err := p.WrapUntil("endraw")
	if err != nil {
		return nil, err
	}
	for _, n := range body.Nodes {
		if data, ok := n.(*nodes.Data); ok {
			t.text += data.Data.Val
		}
	}
	return t, nil
}

// expression parses the rest of a tag.
func expression(args *parser.Parser, what string) (nodes.Expression, error) {
	at := args.Current()
	e, err := args.ParseExpression()
	if err != nil {
		return nil, err
	}
	if e == nil {
		return nil, tagProblem(at, "expected "+what)
	}
	if !args.End() {
		return nil, tagProblem(args.Current(), "unexpected text after "+what)
	}
	return e, nil
}
