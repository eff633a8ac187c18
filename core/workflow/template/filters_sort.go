package template

import (
	"cmp"
	"slices"
	"strings"
)

// keyed is an element with its sort key.
type keyed struct{ key, value any }

// sortKeyed sorts stably; texts are compared without case unless exactly is set. The work
// for a text is counted as often as it may be compared.
func (r *render) sortKeyed(list []keyed, exactly, backwards bool) error {
	for i, e := range list {
		work := 16 // some n log n comparisons
		if text, ok := e.key.(string); ok {
			if work += len(text) / 4; !exactly {
				list[i].key = strings.ToLower(text)
			}
		}
		if err := r.spend(work); err != nil {
			return err
		}
	}
	var failure error
	slices.SortStableFunc(list, func(a, b keyed) int {
		order, err := compare(a.key, b.key)
		failure = cmp.Or(failure, err)
		if backwards {
			return -order
		}
		return order
	})
	return failure
}

func valuesOf(list []keyed) []any {
	out := make([]any, len(list))
	for i, e := range list {
		out[i] = e.value
	}
	return out
}

// sorted sorts a list by its elements, or by an attribute of them: with several
// attributes, separated by commas, the first that differs decides.
func sorted(r *render, in any, args []any) (any, error) {
	list, err := aList(r, in)
	if err != nil {
		return nil, err
	}
	attributes := []string{""}
	if args[2] != nil {
		name, err := textArg(keyText(args[2]), "")
		if err != nil {
			return nil, err
		}
		attributes = strings.Split(name, ",")
	}
	list = slices.Clone(list)
	slices.Reverse(attributes)
	for _, name := range attributes { // the last first, since sorting is stable
		by := make([]keyed, len(list))
		for i, e := range list {
			if by[i] = (keyed{e, e}); name != "" {
				if by[i].key, err = r.member(e, strings.TrimSpace(name)); err != nil {
					return nil, err
				}
			}
		}
		if err := r.sortKeyed(by, truthy(args[1]), truthy(args[0])); err != nil {
			return nil, err
		}
		list = valuesOf(by)
	}
	return list, nil
}

// dictSort are the pairs of an object, sorted by key or value.
func dictSort(r *render, in any, args []any) (any, error) {
	object, err := anObject(r, in)
	if err != nil {
		return nil, err
	}
	by, err := textArg(args[1], "key")
	if err != nil || by != "key" && by != "value" {
		return nil, failed("dictsort sorts by \"key\" or \"value\"")
	}
	pairs := make([]keyed, 0, len(object))
	for _, k := range sortedKeys(object) {
		pair := keyed{k, []any{k, object[k]}}
		if by == "value" {
			pair.key = object[k]
		}
		pairs = append(pairs, pair)
	}
	if err := r.sortKeyed(pairs, truthy(args[0]), truthy(args[2])); err != nil {
		return nil, err
	}
	return valuesOf(pairs), nil
}

// groupBy groups a list's elements by an attribute: {grouper, list}, in the order of
// grouper. A for tag with two names separates the two.
func groupBy(r *render, in any, args []any) (any, error) {
	list, err := aList(r, in)
	if err != nil {
		return nil, err
	}
	by := make([]keyed, len(list))
	for i, e := range list {
		if by[i].key, err = r.memberOr(e, keyText(args[0]), args[1]); err != nil {
			return nil, err
		}
		by[i].value = []any{by[i].key, e}
	}
	if err := r.sortKeyed(by, false, false); err != nil {
		return nil, err
	}
	groups, last := []any{}, map[string]any(nil)
	for i, e := range by {
		pair := e.value.([]any)
		if i > 0 {
			same, err := r.equal(by[i-1].key, e.key, 0)
			if err != nil {
				return nil, err
			}
			if same {
				last["list"] = append(last["list"].([]any), pair[1])
				continue
			}
		}
		last = map[string]any{"grouper": pair[0], "list": []any{pair[1]}}
		groups = append(groups, last)
	}
	return groups, nil
}

// isGroup reports whether a value was made by groupby.
func isGroup(v any) bool {
	group, _ := v.(map[string]any)
	if len(group) != 2 || group["grouper"] == nil {
		return false
	}
	_, ok := group["list"].([]any)
	return ok
}
