package template

import (
	"fmt"
	"maps"
	"slices"

	"github.com/nikolalohinski/gonja/v2/nodes"
	"github.com/nikolalohinski/gonja/v2/parser"
	"github.com/nikolalohinski/gonja/v2/tokens"
)

// These can be called: range, a method of a value, which is the filter of that name or of
// another, and a macro. A macro may call macros that are defined before it, so none can
// call itself, and every chain of calls ends.

const rangeName = "range"

// methods are the names of methods of values, with their filters.
var methods = map[string]string{
	"items": "items", "keys": "keys", "values": "values", "get": "get",
	"split": "split", "strip": "trim", "upper": "upper", "lower": "lower", "title": "title",
	"capitalize": "capitalize", "replace": "replace",
}

// getMember is the method get, which isn't a filter.
var getMember = filter{params: []string{"key", "default"}, required: 1, apply: func(_ *render, in any, args []any) (any, error) {
	object, ok := in.(map[string]any)
	key, isText := args[0].(string)
	if !ok || !isText {
		return nil, failed("get needs an object, and a key that is text")
	}
	if v, ok := object[key]; ok {
		return v, nil
	}
	return args[1], nil
}}

func method(name string) filter {
	if name == "get" {
		return getMember
	}
	return filters[methods[name]]
}

func parseMacro(p, args *parser.Parser) (nodes.ControlStructure, error) {
	t := &macroTag{tag: tag{args.Current()}}
	name := args.Match(tokens.Name)
	if name == nil || args.Match(tokens.LeftParenthesis) == nil {
		return nil, tagProblem(t.at, "a macro tag is written {% macro name(a, b=1) %}")
	}
	t.name = name.Val
	for args.Match(tokens.RightParenthesis) == nil {
		if err := t.parameter(args); err != nil {
			return nil, err
		}
		if args.Match(tokens.Comma) == nil && args.Current() != nil && args.Current().Type != tokens.RightParenthesis {
			return nil, tagProblem(args.Current(), "a comma or ) must follow a macro's parameter")
		}
	}
	if !args.End() {
		return nil, tagProblem(args.Current(), "unexpected text in a macro tag")
	}
	body, _, err := p.WrapUntil("endmacro")
	if err != nil {
		return nil, err
	}
	t.body = body.Nodes
	return t, nil
}

func (t *macroTag) parameter(args *parser.Parser) error {
	name := args.Match(tokens.Name)
	if name == nil || slices.Contains(t.params, name.Val) {
		return tagProblem(t.at, "a macro's parameters are different names, as in {% macro name(a, b=1) %}")
	}
	var absent nodes.Expression
	if args.Match(tokens.Assign) != nil {
		var err error
		if absent, err = args.ParseExpression(); err != nil {
			return err
		}
		if absent == nil {
			return tagProblem(name, "expected a default")
		}
	}
	t.params = append(t.params, name.Val)
	t.defaults = append(t.defaults, absent)
	return nil
}

// call runs a call that check has accepted.
func (r *render) call(n *nodes.Call) (any, error) {
	switch f := n.Func.(type) {
	case *nodes.Name:
		if macro := r.macros[f.Name.Val]; macro != nil {
			return r.expand(macro, n)
		}
		return r.numbers(n)
	case *nodes.GetAttribute:
		of, err := r.value(f.Node)
		if err != nil {
			return nil, err
		}
		args, err := r.arguments(method(f.Attribute), n.Args, n.Kwargs)
		if err != nil {
			return nil, err
		}
		return r.apply(f.Attribute, method(f.Attribute), of, args)
	}
	return nil, failed("this can't be called")
}

// expand is a macro's text.
func (r *render) expand(macro *macroTag, n *nodes.Call) (any, error) {
	names := make(map[string]any, len(macro.params))
	inner := &render{given: r.given, vars: r.given, macros: r.macros, filters: r.filters}
	for i, name := range macro.params {
		from, expression := r, nodes.Node(nil)
		switch {
		case i < len(n.Args):
			expression = n.Args[i]
		case n.Kwargs[name] != nil:
			expression = n.Kwargs[name]
		default:
			from, expression = inner, macro.defaults[i]
		}
		inner.spent = r.spent
		v, err := from.value(expression)
		if err != nil {
			return nil, err
		}
		r.spent = max(r.spent, inner.spent)
		names[name] = v
	}
	inner.spent = r.spent
	err := inner.bind(names)
	if err == nil {
		err = inner.nodes(macro.body)
	}
	if r.spent = inner.spent; err != nil {
		return nil, err
	}
	return r.text(inner.out.String())
}

// numbers is range(stop), range(start, stop) or range(start, stop, step).
func (r *render) numbers(n *nodes.Call) (any, error) {
	bounds := make([]int64, len(n.Args))
	for i, arg := range n.Args {
		v, err := r.value(arg)
		if err != nil {
			return nil, err
		}
		var ok bool
		if bounds[i], ok = v.(int64); !ok {
			return nil, failed("range needs integers, not %s", typeName(v))
		}
	}
	start, stop, step := int64(0), bounds[0], int64(1)
	if len(bounds) > 1 {
		start, stop = bounds[0], bounds[1]
	}
	if len(bounds) > 2 {
		step = bounds[2]
	}
	if step == 0 {
		return nil, failed("range's step can't be 0")
	}
	list := []any{}
	for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
		if err := r.spend(1); err != nil {
			return nil, err
		}
		list = append(list, i)
		if step > 0 && i > stop-step || step < 0 && i < stop-step {
			break // the next one is past the end, or past what an integer holds
		}
	}
	return list, nil
}

// checkCall finds what is wrong with a call.
func (c *checker) checkCall(n *nodes.Call) {
	switch f := n.Func.(type) {
	case *nodes.Name:
		if macro := c.macros[f.Name.Val]; macro != nil {
			c.checkMacro(n, macro)
			return
		}
		if f.Name.Val == rangeName {
			if len(n.Args) < 1 || len(n.Args) > 3 || len(n.Kwargs) > 0 {
				c.add(f.Name, "range takes 1 to 3 arguments: start, stop, step", "")
			}
			return
		}
		c.unknown(f.Name, "there is no function or macro %q", f.Name.Val, append(slices.Sorted(maps.Keys(c.macros)), rangeName))
	case *nodes.GetAttribute:
		if methods[f.Attribute] == "" {
			c.unknown(n.Location, "there is no method %q", f.Attribute, slices.Sorted(maps.Keys(methods)))
			return
		}
		c.checkArguments(n.Location, fmt.Sprintf("the method %q", f.Attribute), method(f.Attribute), n.Args, n.Kwargs)
	default:
		c.add(n.Location, "this can't be called", "a filter is written {{ x | length }}")
	}
}

func (c *checker) checkMacro(n *nodes.Call, macro *macroTag) {
	if c.within != nil && macro.at.Pos >= c.within.at.Pos {
		c.add(n.Location, fmt.Sprintf("the macro %q can't call %q: a macro may call those that are defined before it", c.within.name, macro.name), "")
	}
	if len(n.Args) > len(macro.params) {
		c.add(n.Location, fmt.Sprintf("the macro %q takes %d arguments", macro.name, len(macro.params)), "")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(n.Kwargs)) {
		if i := slices.Index(macro.params, name); i < len(n.Args) {
			c.add(n.Location, fmt.Sprintf("the macro %q has no further argument %q", macro.name, name), "")
		}
	}
	for i, name := range macro.params {
		if i >= len(n.Args) && n.Kwargs[name] == nil && macro.defaults[i] == nil {
			c.add(n.Location, fmt.Sprintf("the macro %q needs its argument %q", macro.name, name), "")
		}
	}
}
