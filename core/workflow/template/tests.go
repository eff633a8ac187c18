package template

import (
	"strings"

	"github.com/nikolalohinski/gonja/v2/tokens"
)

// test is the implementation of a test, which is written after "is".
type test struct {
	args  int
	apply func(r *render, v any, args []any) (bool, error)
}

// tests is the whole set.
var tests = map[string]test{
	"boolean":     {apply: ofType("a boolean")},
	"defined":     {apply: func(_ *render, v any, _ []any) (bool, error) { return !isUndefined(v), nil }},
	"divisibleby": {args: 1, apply: divisible},
	"eq":          {args: 1, apply: equals},
	"equalto":     {args: 1, apply: equals},
	"even":        {apply: parity(0)},
	"false":       {apply: func(_ *render, v any, _ []any) (bool, error) { return v == false, nil }},
	"ge":          {args: 1, apply: ordered(tokens.GreaterThanOrEqual)},
	"greaterthan": {args: 1, apply: ordered(tokens.GreaterThan)},
	"gt":          {args: 1, apply: ordered(tokens.GreaterThan)},
	"in":          {args: 1, apply: contains},
	"integer":     {apply: isInteger},
	"le":          {args: 1, apply: ordered(tokens.LowerThanOrEqual)},
	"lessthan":    {args: 1, apply: ordered(tokens.LowerThan)},
	"lt":          {args: 1, apply: ordered(tokens.LowerThan)},
	"mapping":     {apply: ofType("an object")},
	"ne": {args: 1, apply: func(r *render, v any, args []any) (bool, error) {
		same, err := equals(r, v, args)
		return !same, err
	}},
	"none":      {apply: ofType("null")},
	"null":      {apply: ofType("null")},
	"number":    {apply: ofType("a number")},
	"odd":       {apply: parity(1)},
	"sequence":  {apply: ofType("a list")},
	"string":    {apply: ofType("text")},
	"true":      {apply: func(_ *render, v any, _ []any) (bool, error) { return v == true, nil }},
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

func equals(r *render, v any, args []any) (bool, error) { return r.equal(v, args[0], 0) }

func ordered(operator tokens.Type) func(*render, any, []any) (bool, error) {
	return func(r *render, v any, args []any) (bool, error) {
		yes, err := r.order(operator, v, args[0])
		return yes == true, err
	}
}

func divisible(_ *render, v any, args []any) (bool, error) {
	i, ok := v.(int64)
	by, okBy := args[0].(int64)
	if !ok || !okBy || by == 0 {
		return false, failed("divisibleby needs two integers, the second not 0")
	}
	return i%by == 0, nil
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
