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
	case *nodes.Call:
		return r.call(n)
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
	args, err := r.arguments(f, call.Args, call.Kwargs)
	if err != nil {
		return nil, err
	}
	return r.apply(call.Name, f, in, args)
}

// arguments evaluates the arguments of a filter or method: the named parameters in their
// order, then any further arguments.
func (r *render) arguments(f filter, list []nodes.Expression, named map[string]nodes.Expression) ([]any, error) {
	args := make([]any, len(f.params), len(f.params)+len(list))
	for i, n := range list {
		v, err := r.value(n)
		switch {
		case err != nil:
			return nil, err
		case f.rest || i >= len(args):
			args = append(args, v)
		default:
			args[i] = v
		}
	}
	for i, name := range f.params {
		if n := named[name]; n != nil {
			var err error
			if args[i], err = r.value(n); err != nil {
				return nil, err
			}
		}
	}
	return args, nil
}

// apply runs a filter, and counts what it reads and produces.
func (r *render) apply(name string, f filter, in any, args []any) (any, error) {
	if u, ok := in.(undefined); ok && name != "default" && name != "d" {
		return nil, u.err()
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
	var args []any
	for _, arg := range n.Test.Args {
		a, err := r.value(arg)
		if err != nil {
			return nil, err
		}
		args = append(args, a)
	}
	return r.passes(n.Test.Name, tests[n.Test.Name], v, args)
}

// passes runs a test. Only two tests accept undefined values.
func (r *render) passes(name string, t test, v any, args []any) (bool, error) {
	if u, ok := v.(undefined); ok && !strings.HasSuffix(name, "defined") {
		return false, u.err()
	}
	if err := r.spend(1); err != nil {
		return false, err
	}
	return t.apply(r, v, args)
}
