package template

import (
	"slices"
	"unicode/utf8"
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
	if text, ok := in.(string); ok {
		runes := []rune(text)
		slices.Reverse(runes)
		return string(runes), r.spend(len(runes) / 8)
	}
	list, err := aList(r, in)
	list = slices.Clone(list)
	slices.Reverse(list)
	return list, err
}

// toList makes a list from a text's characters, an object's keys, or a list.
func toList(r *render, in any, _ []any) (any, error) {
	switch in := in.(type) {
	case string:
		if err := r.spend(len(in)); err != nil {
			return nil, err
		}
		list := make([]any, 0, utf8.RuneCountInString(in))
		for _, c := range in {
			list = append(list, string(c))
		}
		return list, nil
	case map[string]any:
		return keys(r, in, nil)
	}
	list, err := aList(r, in)
	return slices.Clone(list), err
}

// batch splits a list into lists of equal length, and fills up the last one.
func batch(r *render, in any, args []any) (any, error) {
	list, err := aList(r, in)
	if err != nil {
		return nil, err
	}
	n, err := integerArg("batch's linecount", args[0], 1, 1, maxWork)
	if err != nil {
		return nil, err
	}
	batches := []any{}
	for part := range slices.Chunk(list, n) {
		if missing := n - len(part); missing > 0 && args[1] != nil {
			if err := r.spend(missing); err != nil {
				return nil, err
			}
			part = append(slices.Clip(part), slices.Repeat([]any{args[1]}, missing)...)
		}
		batches = append(batches, part)
	}
	return batches, nil
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

// items are the pairs of an object's keys and values, in the order of the keys.
func items(r *render, in any, _ []any) (any, error) {
	object, err := anObject(r, in)
	list := []any{}
	for _, k := range sortedKeys(object) {
		list = append(list, []any{k, object[k]})
	}
	return list, err
}
