package template

import (
	"math"
	"strings"

	"github.com/nikolalohinski/gonja/v2/nodes"
	"github.com/nikolalohinski/gonja/v2/tokens"
)

// value evaluates an expression whose value is used, so it must be defined.
func (r *render) value(n nodes.Node) (any, error) {
	v, err := r.eval(n)
	if u, ok := v.(undefined); ok && err == nil {
		return nil, u.err()
	}
	return v, err
}

func (r *render) truth(n nodes.Node) (bool, error) {
	v, err := r.value(n)
	return truthy(v), err
}

// eval evaluates an expression. The value may be undefined.
func (r *render) eval(n nodes.Node) (any, error) {
	if err := r.spend(1); err != nil {
		return nil, err
	}
	switch n := n.(type) {
	case *nodes.String:
		return n.Val, nil
	case *nodes.Integer:
		return int64(n.Val), nil
	case *nodes.Float:
		return n.Val, nil
	case *nodes.Bool:
		return n.Val, nil
	case *nodes.None:
		return nil, nil
	case *nodes.Name:
		return r.name(n.Name.Val), nil
	case *nodes.List:
		return r.list(n.Val)
	case *nodes.Tuple:
		return r.list(n.Val)
	case *nodes.Dict:
		return r.dict(n)
	case *nodes.GetAttribute:
		return r.attribute(n)
	case *nodes.GetItem:
		return r.item(n)
	case *nodes.GetSlice:
		return r.slice(n)
	case *nodes.Negation:
		yes, err := r.truth(n.Term)
		return !yes, err
	case *nodes.UnaryExpression:
		return r.unary(n)
	case *nodes.BinaryExpression:
		return r.binary(n)
	case *nodes.FilteredExpression:
		return r.filtered(n)
	case *nodes.TestExpression:
		return r.test(n)
	}
	return nil, failed("the template has an expression that isn't supported")
}

func (r *render) name(name string) any {
	if v, ok := r.vars[name]; ok {
		return v
	}
	if name == "none" || name == "null" {
		return nil
	}
	return undefined{name: func() string { return name }, key: name, among: r.vars}
}

func (r *render) list(elements []nodes.Expression) (any, error) {
	list := make([]any, len(elements))
	for i, e := range elements {
		var err error
		if list[i], err = r.value(e); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (r *render) dict(n *nodes.Dict) (any, error) {
	object := map[string]any{}
	for _, p := range n.Pairs {
		key, err := r.value(p.Key)
		if err != nil {
			return nil, err
		}
		name, ok := key.(string)
		if !ok {
			return nil, failed("an object's key must be text, not %s", typeName(key))
		}
		if object[name], err = r.value(p.Value); err != nil {
			return nil, err
		}
	}
	return object, nil
}

func (r *render) attribute(n *nodes.GetAttribute) (any, error) {
	of, err := r.eval(n.Node)
	if err != nil {
		return nil, err
	}
	name := func() string { return path(n) }
	if n.Attribute == "" {
		return get(of, int64(n.Index), name), nil
	}
	return get(of, n.Attribute, name), nil
}

func (r *render) item(n *nodes.GetItem) (any, error) {
	of, err := r.eval(n.Node)
	if err != nil {
		return nil, err
	}
	key, err := r.value(n.Arg)
	if err != nil {
		return nil, err
	}
	name := func() string { return path(n.Node) + "[" + literal(key) + "]" }
	switch key.(type) {
	case string, int64:
		return get(of, key, name), nil
	}
	return nil, failed("%s: an index must be text or an integer, not %s", name(), typeName(key))
}

// get looks into a value. What isn't there is undefined, by its own name or by
// that of the outermost part that isn't.
func get(of, key any, name func() string) any {
	switch of := of.(type) {
	case undefined:
		return of
	case map[string]any:
		k, ok := key.(string)
		if !ok {
			k = literal(key)
		}
		if v, ok := of[k]; ok {
			return v
		}
		return undefined{name: name, key: k, among: of}
	case []any:
		i, ok := key.(int64)
		if ok && i < 0 {
			i += int64(len(of))
		}
		if ok && i >= 0 && i < int64(len(of)) {
			return of[i]
		}
	}
	return undefined{name: name}
}

// maxPath bounds the links of a name in messages.
const maxPath = 32

// path writes an expression as a name for messages.
func path(n nodes.Node) string { return pathOf(n, maxPath) }

func pathOf(n nodes.Node, links int) string {
	if links == 0 {
		return "…"
	}
	links--
	switch n := n.(type) {
	case *nodes.Name:
		return n.Name.Val
	case *nodes.GetAttribute:
		if n.Attribute == "" {
			return pathOf(n.Node, links) + "." + literal(int64(n.Index))
		}
		return pathOf(n.Node, links) + "." + n.Attribute
	case *nodes.GetItem:
		switch arg := n.Arg.(type) {
		case *nodes.String:
			return pathOf(n.Node, links) + "[" + literal(arg.Val) + "]"
		case *nodes.Integer:
			return pathOf(n.Node, links) + "[" + literal(int64(arg.Val)) + "]"
		}
		return pathOf(n.Node, links) + "[…]"
	}
	return "(…)"
}

func (r *render) slice(n *nodes.GetSlice) (any, error) {
	of, err := r.value(n.Node)
	if err != nil {
		return nil, err
	}
	if n.Step != nil {
		return nil, failed("%s: a slice takes no step", path(n.Node))
	}
	var runes []rune
	length := 0
	switch of := of.(type) {
	case string:
		runes = []rune(of)
		length = len(runes)
	case []any:
		length = len(of)
	default:
		return nil, failed("%s is %s: only text and lists can be sliced", path(n.Node), typeName(of))
	}
	if err := r.spend(length / 64); err != nil {
		return nil, err
	}
	from, err := r.bound(n.Start, 0, length)
	if err != nil {
		return nil, err
	}
	to, err := r.bound(n.End, length, length)
	if err != nil {
		return nil, err
	}
	from = min(from, to)
	if list, ok := of.([]any); ok {
		return list[from:to], nil
	}
	return string(runes[from:to]), nil
}

func (r *render) bound(n nodes.Node, absent, length int) (int, error) {
	if n == nil {
		return absent, nil
	}
	v, err := r.value(n)
	if err != nil {
		return 0, err
	}
	i, ok := v.(int64)
	if !ok {
		return 0, failed("the bound of a slice must be an integer, not %s", typeName(v))
	}
	if i < 0 {
		i += int64(length)
	}
	return int(min(max(i, 0), int64(length))), nil
}

func (r *render) unary(n *nodes.UnaryExpression) (any, error) {
	v, err := r.value(n.Term)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case int64:
		if !n.Negative || v == math.MinInt64 {
			return v, nil
		}
		return -v, nil
	case float64:
		if !n.Negative {
			return v, nil
		}
		return -v, nil
	}
	return nil, failed("a sign needs a number, not %s", typeName(v))
}

func (r *render) binary(n *nodes.BinaryExpression) (any, error) {
	left, err := r.value(n.Left)
	if err != nil {
		return nil, err
	}
	switch n.Operator.Token.Type {
	case tokens.And:
		if !truthy(left) {
			return left, nil
		}
		return r.value(n.Right)
	case tokens.Or:
		if truthy(left) {
			return left, nil
		}
		return r.value(n.Right)
	}
	right, err := r.value(n.Right)
	if err != nil {
		return nil, err
	}
	return r.operate(n.Operator.Token, left, right)
}

func (r *render) operate(operator *tokens.Token, left, right any) (any, error) {
	switch operator.Type {
	case tokens.Equals:
		return r.equal(left, right, 0)
	case tokens.Ne:
		same, err := r.equal(left, right, 0)
		return !same, err
	case tokens.LowerThan, tokens.LowerThanOrEqual, tokens.GreaterThan, tokens.GreaterThanOrEqual:
		order, err := compare(left, right)
		if err == nil {
			err = r.read(left)
		}
		if err != nil {
			return nil, err
		}
		switch operator.Type {
		case tokens.LowerThan:
			return order < 0, nil
		case tokens.LowerThanOrEqual:
			return order <= 0, nil
		case tokens.GreaterThan:
			return order > 0, nil
		}
		return order >= 0, nil
	case tokens.Tilde:
		a, err := r.show(left)
		if err != nil {
			return nil, err
		}
		b, err := r.show(right)
		if err != nil {
			return nil, err
		}
		return r.text(a + b)
	case tokens.Addition:
		if a, ok := left.(string); ok {
			if b, ok := right.(string); ok {
				return r.text(a + b)
			}
		}
		if a, ok := left.([]any); ok {
			if b, ok := right.([]any); ok {
				return append(append([]any{}, a...), b...), r.spend(len(a) + len(b))
			}
		}
	}
	return arithmetic(operator, left, right)
}

func (r *render) filtered(n *nodes.FilteredExpression) (any, error) {
	v, err := r.eval(n.Expression)
	for _, call := range n.Filters {
		if err != nil {
			return nil, err
		}
		v, err = r.filter(call, v)
	}
	return v, err
}

func (r *render) filter(call *nodes.FilterCall, in any) (any, error) {
	f := filters[call.Name]
	if u, ok := in.(undefined); ok && call.Name != "default" && call.Name != "d" {
		return nil, u.err()
	}
	args := make([]any, len(f.params))
	for i := range args {
		var n nodes.Node
		if i < len(call.Args) {
			n = call.Args[i]
		} else if n = call.Kwargs[f.params[i]]; n == nil {
			continue
		}
		var err error
		if args[i], err = r.value(n); err != nil {
			return nil, err
		}
	}
	if err := r.read(in); err != nil {
		return nil, err
	}
	out, err := f.apply(r, in, args)
	if err != nil {
		return nil, err
	}
	if text, ok := out.(string); ok {
		return r.text(text)
	}
	return out, nil
}

func (r *render) test(n *nodes.TestExpression) (any, error) {
	v, err := r.eval(n.Expression)
	if err != nil {
		return nil, err
	}
	if u, ok := v.(undefined); ok && !strings.HasSuffix(n.Test.Name, "defined") {
		return nil, u.err()
	}
	var args []any
	for _, arg := range n.Test.Args {
		a, err := r.value(arg)
		if err != nil {
			return nil, err
		}
		args = append(args, a)
	}
	return tests[n.Test.Name].apply(r, v, args)
}
