package template

import "strings"

// test is what stands behind "is", and in.
type test struct {
	args  int
	apply func(r *render, v any, args []any) (bool, error)
}

// tests is the whole set.
var tests = map[string]test{
	"boolean":   {apply: ofType("a boolean")},
	"defined":   {apply: func(_ *render, v any, _ []any) (bool, error) { return !isUndefined(v), nil }},
	"even":      {apply: parity(0)},
	"in":        {args: 1, apply: contains},
	"integer":   {apply: isInteger},
	"mapping":   {apply: ofType("an object")},
	"none":      {apply: ofType("null")},
	"null":      {apply: ofType("null")},
	"number":    {apply: ofType("a number")},
	"odd":       {apply: parity(1)},
	"sequence":  {apply: ofType("a list")},
	"string":    {apply: ofType("text")},
	"undefined": {apply: func(_ *render, v any, _ []any) (bool, error) { return isUndefined(v), nil }},
}

func isUndefined(v any) bool {
	_, ok := v.(undefined)
	return ok
}

func ofType(name string) func(*render, any, []any) (bool, error) {
	return func(_ *render, v any, _ []any) (bool, error) { return typeName(v) == name, nil }
}

func isInteger(_ *render, v any, _ []any) (bool, error) {
	switch v.(type) {
	case int64, uint64:
		return true, nil
	}
	return false, nil
}

func parity(want int64) func(*render, any, []any) (bool, error) {
	return func(_ *render, v any, _ []any) (bool, error) {
		i, ok := v.(int64)
		if !ok {
			return false, failed("only an integer is even or odd, not %s", typeName(v))
		}
		return i&1 == want, nil
	}
}

func contains(r *render, v any, args []any) (bool, error) {
	switch in := args[0].(type) {
	case string:
		text, ok := v.(string)
		if !ok {
			return false, failed("text can't contain %s", typeName(v))
		}
		return strings.Contains(in, text), r.spend(len(in) / 64)
	case map[string]any:
		key, ok := v.(string)
		_, has := in[key]
		return ok && has, nil
	case []any:
		for _, e := range in {
			if same, err := r.equal(v, e, 0); same || err != nil {
				return same, err
			}
		}
		return false, nil
	}
	return false, failed("%s contains nothing: in needs text, a list or an object", typeName(args[0]))
}
