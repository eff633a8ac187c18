package template

import (
	"fmt"
	"slices"
)

func aList(r *render, in any) ([]any, error) {
	list, ok := in.([]any)
	if !ok {
		return nil, failed("this filter needs a list, not %s", typeName(in))
	}
	return list, r.spend(len(list))
}

func anObject(r *render, in any) (map[string]any, error) {
	object, ok := in.(map[string]any)
	if !ok {
		return nil, failed("this filter needs an object, not %s", typeName(in))
	}
	return object, r.spend(len(object))
}

func edge(at int64) func(*render, any, []any) (any, error) {
	return func(r *render, in any, _ []any) (any, error) {
		list, err := aList(r, in)
		if err != nil {
			return nil, err
		}
		return get(list, at, func() string { return "an element of the empty list" }), nil
	}
}

func reverse(r *render, in any, _ []any) (any, error) {
	list, err := aList(r, in)
	list = slices.Clone(list)
	slices.Reverse(list)
	return list, err
}

func sorted(r *render, in any, _ []any) (any, error) {
	list, err := aList(r, in)
	if err == nil {
		err = r.spend(16 * len(list)) // some n log n comparisons
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b any) int {
		order, e := compare(a, b)
		if err == nil {
			err = e
		}
		return order
	})
	return list, err
}

func extreme(sign int) func(*render, any, []any) (any, error) {
	return func(r *render, in any, _ []any) (any, error) {
		list, err := aList(r, in)
		if err != nil {
			return nil, err
		}
		if len(list) == 0 {
			return nil, failed("an empty list has no least or greatest element")
		}
		best := list[0]
		for _, e := range list[1:] {
			order, err := compare(e, best)
			if err != nil {
				return nil, err
			}
			if order*sign > 0 {
				best = e
			}
		}
		return best, nil
	}
}

func unique(r *render, in any, _ []any) (any, error) {
	list, err := aList(r, in)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	out := []any{}
	for _, e := range list {
		key, err := r.encode(nil, e, 0)
		if err != nil {
			return nil, err
		}
		if !seen[string(key)] {
			seen[string(key)] = true
			out = append(out, e)
		}
	}
	return out, nil
}

func keys(r *render, in any, _ []any) (any, error) {
	object, err := anObject(r, in)
	list := []any{}
	for _, k := range sortedKeys(object) {
		list = append(list, k)
	}
	return list, err
}

func values(r *render, in any, _ []any) (any, error) {
	object, err := anObject(r, in)
	list := []any{}
	for _, k := range sortedKeys(object) {
		list = append(list, object[k])
	}
	return list, err
}

func attributeOf(r *render, in any, args []any) (any, error) {
	list, err := aList(r, in)
	if err != nil {
		return nil, err
	}
	name, err := textArg(args[0], "")
	if err != nil {
		return nil, err
	}
	out := make([]any, len(list))
	for i, e := range list {
		v := get(e, name, func() string { return fmt.Sprintf("element %d's %s", i, name) })
		if u, ok := v.(undefined); ok {
			return nil, u.err()
		}
		out[i] = v
	}
	return out, nil
}
