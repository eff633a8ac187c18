package template

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nikolalohinski/gonja/v2/nodes"
	"github.com/nikolalohinski/gonja/v2/tokens"

	"github.com/reflectory/reflectory/sdk"
)

// check finds names, filters, tests, functions, methods and macros that a template uses
// but that don't exist, and returns the macros. A name that a tag binds counts as defined
// in the whole template; if it isn't bound yet, rendering reports it. It finds at most
// maxProblems.
func check(tree []nodes.Node, names []string) (map[string]*macroTag, []Problem) {
	c := &checker{names: map[string]bool{}, macros: map[string]*macroTag{}}
	for _, name := range names {
		c.names[name] = true
	}
	for _, n := range tree {
		if macro := macroOf(n); macro != nil {
			c.define(macro, names)
		}
	}
	walk(tree, func(n nodes.Node) {
		switch n := n.(type) {
		case *forTag:
			c.names["loop"], c.names[n.key] = true, true
			if n.value != "" {
				c.names[n.value] = true
			}
		case *setTag:
			c.names[n.name] = true
		case *macroTag:
			for _, name := range n.params {
				c.names[name] = true
			}
			if c.macros[n.name] == nil {
				c.add(n.at, fmt.Sprintf("the macro %q is within another tag", n.name), "define it at the template's top level")
			}
		}
	})
	for _, n := range tree {
		c.within = macroOf(n)
		walk([]nodes.Node{n}, c.node)
	}
	return c.macros, c.problems
}

func macroOf(n nodes.Node) *macroTag {
	if block, ok := n.(*nodes.ControlStructureBlock); ok {
		macro, _ := block.ControlStructure.(*macroTag)
		return macro
	}
	return nil
}

type checker struct {
	names    map[string]bool
	macros   map[string]*macroTag
	within   *macroTag // the macro being checked; nil outside of macros
	problems []Problem
}

func (c *checker) define(macro *macroTag, names []string) {
	if c.macros[macro.name] != nil || macro.name == rangeName || slices.Contains(names, macro.name) {
		c.add(macro.at, fmt.Sprintf("there is another %q", macro.name), "give the macro another name")
	}
	c.macros[macro.name] = macro
}

func (c *checker) node(n nodes.Node) {
	if len(c.problems) >= maxProblems {
		return
	}
	switch n := n.(type) {
	case *nodes.Name:
		if name := n.Name.Val; !c.names[name] && name != "none" && name != "null" {
			c.unknown(n.Name, "nothing here is named %q", name, slices.Sorted(maps.Keys(c.names)))
		}
	case *nodes.FilteredExpression:
		for _, call := range n.Filters {
			c.filter(call)
		}
	case *nodes.TestExpression:
		if t, ok := tests[n.Test.Name]; !ok {
			c.unknown(n.Test.Token, "there is no test %q", n.Test.Name, slices.Sorted(maps.Keys(tests)))
		} else if len(n.Test.Args) != t.args {
			c.add(n.Test.Token, fmt.Sprintf("the test %q takes %d arguments", n.Test.Name, t.args), "")
		}
	case *nodes.Call:
		c.checkCall(n)
	case malformed:
		c.add(nil, "the template is malformed: an expression is missing", "")
	}
}

func (c *checker) filter(call *nodes.FilterCall) {
	f, ok := filters[call.Name]
	if !ok {
		c.unknown(call.Token, "there is no filter %q", call.Name, slices.Sorted(maps.Keys(filters)))
		return
	}
	c.checkArguments(call.Token, fmt.Sprintf("the filter %q", call.Name), f, call.Args, call.Kwargs)
}

func (c *checker) checkArguments(at *tokens.Token, what string, f filter, args []nodes.Expression, named map[string]nodes.Expression) {
	if n := len(args) + len(named); !f.rest && (n < f.required || n > len(f.params)) {
		c.add(at, fmt.Sprintf("%s takes %s", what, f.signature()), "")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if i := slices.Index(f.params, name); i < 0 || !f.rest && i < len(args) {
			c.add(at, fmt.Sprintf("%s has no further argument %q: it takes %s", what, name, f.signature()), "")
		}
	}
}

func (c *checker) unknown(at *tokens.Token, format, name string, known []string) {
	all := ""
	if len(known) > 0 && len(known) <= 40 {
		all = "there are " + strings.Join(known, ", ")
	}
	c.add(at, fmt.Sprintf(format, name), sdk.DidYouMean(name, known, all))
}

func (c *checker) add(at *tokens.Token, message, hint string) {
	p := Problem{Message: message, Hint: hint}
	if at != nil {
		p.Offset = at.Pos
	}
	c.problems = append(c.problems, p)
}

// malformed replaces an expression that the parser left out without an error.
type malformed struct{ nodes.Node }

// walk calls visit for each node and everything below it.
func walk(tree []nodes.Node, visit func(nodes.Node)) {
	for _, n := range tree {
		if isNil(n) {
			visit(malformed{})
			continue
		}
		visit(n)
		walk(children(n), visit)
	}
}

func isNil(n nodes.Node) bool {
	switch n := n.(type) {
	case nil:
		return true
	case *nodes.Output:
		return n == nil
	}
	return false
}

// children are the direct children of a node.
func children(n nodes.Node) []nodes.Node {
	switch n := n.(type) {
	case *nodes.Output:
		return append([]nodes.Node{n.Expression}, present(n.Condition, n.Alternative)...)
	case *nodes.ControlStructureBlock:
		return []nodes.Node{n.ControlStructure}
	case *nodes.FilteredExpression:
		list := []nodes.Node{n.Expression}
		for _, f := range n.Filters {
			list = append(list, arguments(f.Args, f.Kwargs)...)
		}
		return list
	case *nodes.TestExpression:
		return append(arguments(n.Test.Args, n.Test.Kwargs), n.Expression)
	case *nodes.Call:
		list := arguments(n.Args, n.Kwargs)
		if f, ok := n.Func.(*nodes.GetAttribute); ok {
			list = append(list, f.Node)
		}
		return list
	case *nodes.List:
		return asNodes(n.Val)
	case *nodes.Tuple:
		return asNodes(n.Val)
	case *nodes.Dict:
		var list []nodes.Node
		for _, p := range n.Pairs {
			list = append(list, p.Key, p.Value)
		}
		return list
	case *nodes.GetAttribute:
		return []nodes.Node{n.Node}
	case *nodes.GetItem:
		return []nodes.Node{n.Node, n.Arg}
	case *nodes.GetSlice:
		return append([]nodes.Node{n.Node}, present(n.Start, n.End, n.Step)...)
	case *nodes.Negation:
		return []nodes.Node{n.Term}
	case *nodes.UnaryExpression:
		return []nodes.Node{n.Term}
	case *nodes.BinaryExpression:
		return []nodes.Node{n.Left, n.Right}
	case *ifTag:
		list := asNodes(n.conditions)
		for _, body := range n.bodies {
			list = append(list, body...)
		}
		return list
	case *forTag:
		list := append([]nodes.Node{n.over}, present(n.condition)...)
		return append(append(list, n.body...), n.empty...)
	case *setTag:
		return []nodes.Node{n.value}
	case *macroTag:
		list := []nodes.Node{}
		for _, e := range n.defaults {
			if e != nil {
				list = append(list, e)
			}
		}
		return append(list, n.body...)
	}
	return nil
}

func asNodes(expressions []nodes.Expression) []nodes.Node {
	list := make([]nodes.Node, len(expressions))
	for i, e := range expressions {
		list[i] = e
	}
	return list
}

func present(list ...nodes.Node) []nodes.Node {
	return slices.DeleteFunc(list, func(n nodes.Node) bool { return n == nil })
}

func arguments(args []nodes.Expression, kwargs map[string]nodes.Expression) []nodes.Node {
	list := asNodes(args)
	for _, name := range slices.Sorted(maps.Keys(kwargs)) {
		list = append(list, kwargs[name])
	}
	return list
}
