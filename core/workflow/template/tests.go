package template

import (
	"maps"
	"slices"
	"strings"

	"github.com/nikolalohinski/gonja/v2/tokens"
)

// test is the implementation of a test, which is written after "is".
type test struct {
	// doc describes when it holds.
	doc   string
	args  int
	apply func(r *render, v any, args []any) (bool, error)
}

// Tests lists the tests, sorted.
func Tests() []Function {
	var list []Function
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		list = append(list, Function{name, strings.Repeat("value", tests[name].args), tests[name].doc})
	}
	return list
}

// tests is the whole set.
var tests = map[string]test{
	"boolean":     {doc: "true or false", apply: ofType("a boolean")},
	"defined":     {doc: "it is there", apply: func(_ *render, v any, _ []any) (bool, error) { return !isUndefined(v), nil }},
	"divisibleby": {doc: "a number is divisible by another", args: 1, apply: divisible},
	"eq":          {doc: "equal", args: 1, apply: equals},
	"equalto":     {doc: "equal", args: 1, apply: equals},
	"even":        {doc: "an even number", apply: parity(0)},
	"false":       {doc: "false", apply: func(_ *render, v any, _ []any) (bool, error) { return v == false, nil }},
	"ge":          {doc: "at least", args: 1, apply: ordered(tokens.GreaterThanOrEqual)},
	"greaterthan": {doc: "greater", args: 1, apply: ordered(tokens.GreaterThan)},
	"gt":          {doc: "greater", args: 1, apply: ordered(tokens.GreaterThan)},
	"in":          {doc: "it is an item of a list, a key of an object or a part of a text", args: 1, apply: contains},
	"integer":     {doc: "a whole number", apply: isInteger},
	"le":          {doc: "at most", args: 1, apply: ordered(tokens.LowerThanOrEqual)},
	"lessthan":    {doc: "less", args: 1, apply: ordered(tokens.LowerThan)},
	"lt":          {doc: "less", args: 1, apply: ordered(tokens.LowerThan)},
	"mapping":     {doc: "an object", apply: ofType("an object")},
	"ne": {doc: "not equal", args: 1, apply: func(r *render, v any, args []any) (bool, error) {
		same, err := equals(r, v, args)
		return !same, err
	}},
	"none":      {doc: "null", apply: ofType("null")},
	"null":      {doc: "null", apply: ofType("null")},
	"number":    {doc: "a number", apply: ofType("a number")},
	"odd":       {doc: "an odd number", apply: parity(1)},
	"sequence":  {doc: "a list", apply: ofType("a list")},
	"string":    {doc: "a text", apply: ofType("text")},
	"true":      {doc: "true", apply: func(_ *render, v any, _ []any) (bool, error) { return v == true, nil }},
	"undefined": {doc: "it isn't there", apply: func(_ *render, v any, _ []any) (bool, error) { return isUndefined(v), nil }},
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
