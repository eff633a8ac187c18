package template

import (
	"github.com/nikolalohinski/gonja/v2/nodes"
)

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

// get looks up a key in a value. A missing value is undefined, with its own name or the
// name of the outermost missing part.
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
