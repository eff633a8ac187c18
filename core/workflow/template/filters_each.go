package template

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/sdk"
)

// keyText is an attribute as text: 0 is the first element of a list.
func keyText(v any) any {
	if i, ok := v.(int64); ok {
		return strconv.FormatInt(i, 10)
	}
	return v
}

// lookUp finds an attribute of a value, which may be a path: a.b.0. A missing attribute
// is undefined.
func (r *render) lookUp(of any, path string) (any, error) {
	if err := r.spend(1 + len(path)/8); err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(path, ".") {
		var key any = name
		if _, ok := of.([]any); ok {
			if i, err := strconv.ParseInt(name, 10, 64); err == nil {
				key = i
			}
		}
		of = get(of, key, func() string { return fmt.Sprintf("the attribute %q of an element", cutPath(path)) })
		if isUndefined(of) {
			break
		}
		if err := r.spend(1); err != nil {
			return nil, err
		}
	}
	return of, nil
}

func cutPath(path string) string { return path[:min(len(path), 100)] }

// member is lookUp for a required attribute.
func (r *render) member(of any, path string) (any, error) { return r.memberOr(of, path, nil) }

// memberOr is member with a value to use if the attribute is missing.
func (r *render) memberOr(of, path, absent any) (any, error) {
	name, err := textArg(path, "")
	if err != nil {
		return nil, err
	}
	v, err := r.lookUp(of, name)
	if u, ok := v.(undefined); ok && err == nil {
		if absent == nil {
			return nil, u.err()
		}
		return absent, nil
	}
	return v, err
}

// mapped is map(attribute="a.b", default=…), or map("filter", arguments…).
func mapped(r *render, in any, args []any) (any, error) {
	list, err := aList(r, in)
	if err != nil {
		return nil, err
	}
	each := func(e any) (any, error) { return r.memberOr(e, keyText(args[0]), args[1]) }
	switch {
	case len(args) > 2 && args[0] == nil:
		name, err := textArg(args[2], "")
		if err != nil {
			return nil, err
		}
		f, ok := r.filters[name]
		if !ok {
			return nil, failed("map: there is no filter %q (an attribute is named: map(attribute=%q))", cutPath(name), cutPath(name))
		}
		given := args[3:]
		if len(given) > len(f.params) && !f.rest || len(given) < f.required {
			return nil, failed("map: the filter %q takes %s", name, f.signature())
		}
		filled := make([]any, len(f.params), len(f.params)+len(given))
		if f.rest {
			filled = append(filled, given...)
		}
		if !f.rest {
			copy(filled, given)
		}
		each = func(e any) (any, error) { return r.apply(name, f, e, filled) }
	case args[0] == nil:
		return nil, failed("map needs an attribute, as in map(attribute=\"name\"), or a filter, as in map(\"upper\")")
	}
	out := make([]any, len(list))
	for i, e := range list {
		if out[i], err = each(e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// selected is select, reject, selectattr or rejectattr: the elements that pass a test or
// don't, by themselves or by an attribute. Without a test, true values pass.
func selected(byAttribute, keep bool) func(*render, any, []any) (any, error) {
	return func(r *render, in any, args []any) (any, error) {
		list, err := aList(r, in)
		if err != nil {
			return nil, err
		}
		attribute := ""
		if byAttribute {
			if len(args) == 0 {
				return nil, failed("selectattr and rejectattr need an attribute, as in selectattr(\"name\")")
			}
			if attribute, err = textArg(keyText(args[0]), ""); err != nil {
				return nil, err
			}
			args = args[1:]
		}
		passes, err := predicate(r, args)
		if err != nil {
			return nil, err
		}
		out := []any{}
		for _, e := range list {
			v := e
			if byAttribute {
				if v, err = r.lookUp(e, attribute); err != nil {
					return nil, err
				}
			}
			yes, err := passes(v)
			if err != nil {
				return nil, err
			}
			if yes == keep {
				out = append(out, e)
			}
		}
		return out, nil
	}
}

// predicate is a test with its arguments.
func predicate(r *render, args []any) (func(any) (bool, error), error) {
	if len(args) == 0 {
		return func(v any) (bool, error) { return !isUndefined(v) && truthy(v), r.spend(1) }, nil
	}
	name, err := textArg(args[0], "")
	if err != nil {
		return nil, err
	}
	t, ok := tests[name]
	if !ok {
		return nil, failed("there is no test %q", cutPath(name)).WithHint("%s",
			sdk.DidYouMean(name, slices.Sorted(maps.Keys(tests)), ""))
	}
	if len(args)-1 != t.args {
		return nil, failed("the test %q takes %d arguments", name, t.args)
	}
	return func(v any) (bool, error) { return r.passes(name, t, v, args[1:]) }, nil
}
