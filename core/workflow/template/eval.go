package template

import (
	"strings"

	"github.com/nikolalohinski/gonja/v2/nodes"
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
