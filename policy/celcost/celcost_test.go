package celcost_test

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"

	"github.com/reflectory/reflectory/policy/celcost"
)

const limit = 100_000

// eval evaluates an expression over x, whose type isn't known before, and reports how much memory that took.
func eval(t *testing.T, source string, x any) (uint64, error) {
	t.Helper()
	env, err := cel.NewEnv(cel.Variable("x", cel.DynType), cel.OptionalTypes(), cel.ParserRecursionLimit(1000))
	if err != nil {
		t.Fatal(err)
	}
	checked, issues := env.Compile(source)
	if issues.Err() != nil {
		t.Fatal(issues.Err())
	}
	program, err := env.Program(checked, celcost.Options(limit, nil)...)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err = program.ContextEval(context.Background(), map[string]any{"x": x})
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, err
}

// nested evaluates a step 30 times, each time over what the step before it gave: within macros, so that each value is
// computed once.
func nested(first, step, last string) string {
	var s strings.Builder
	s.WriteString("[" + first + "]")
	for i := range 30 {
		v, w := string(rune('a'+i%26))+string(rune('a'+i/26)), ""
		w = strings.ReplaceAll(step, "v", v)
		s.WriteString(".map(" + v + ", " + w + ")")
	}
	return s.String() + last
}

// Each expression would hold or visit 2^30 values or bytes, or 10^9, and is stopped long before.
func TestOptions_StopWhatGrows(t *testing.T) {
	texts := make([]any, 3000)
	for i := range texts {
		texts[i] = strings.Repeat("y", 1000)
	}
	long := strings.Repeat("y", 1<<20)
	for name, c := range map[string]struct {
		source string
		x      any
	}{
		"a text of no known type that doubles":  {nested("x + x", "v + v", "[0].size() > 0"), "12345678"},
		"a text that doubles":                   {nested("'12345678'", "v + v", "[0].size() > 0"), nil},
		"bytes that double":                     {nested("b'12345678'", "v + v", "[0].size() > 0"), nil},
		"a text made of no known type":          {nested("dyn('12345678')", "v + v", "[0] == x"), nil},
		"a text that doubles in a choice":       {nested("'12345678'", "(x == 1 ? v + v : v)", "[0].size() > 0"), 1},
		"a text that doubles in a list":         {nested("'12345678'", "[v + v][0]", "[0].size() > 0"), nil},
		"a text that doubles in a map":          {nested("'12345678'", "{'k': v + v}.k", "[0].size() > 0"), nil},
		"a text that doubles in a condition":    {nested("'12345678'", "(v + v == '' || true ? v + v : v)", "[0].size() > 0"), nil},
		"a list that doubles, searched":         {nested("[1, 2]", "v + v", ".exists(l, 3 in l)"), nil},
		"a list that doubles, compared":         {nested("x", "v + v", ".exists(l, l == l + [])"), []any{1, 2}},
		"lists in lists, compared":              {nested("[x]", "[v, v]", ".exists(l, l == l)"), 1},
		"lists in lists, searched":              {nested("[x]", "[v, v]", ".exists(l, l in [l])"), 1},
		"lists in maps, compared":               {nested("[x]", "{'a': v, 'b': v}", ".exists(l, l != l)"), 1},
		"lists in lists, added":                 {nested("[x]", "[v] + [v]", ".exists(l, l == l)"), 1},
		"lists in lists by filter":              {nested("[x]", "[v, v].filter(z, true)", ".exists(l, l == l)"), 1},
		"lists in lists as an index":            {nested("[x]", "[v, v]", ".exists(l, [1][dyn(l)] == 1 || true)"), 1},
		"lists in lists as a key":               {nested("[x]", "[v, v]", ".exists(l, {1: 2}[dyn(l)] == 1 || true)"), 1},
		"lists in lists as an optional":         {nested("[x]", "[v, v]", ".exists(l, [?dyn(l)] == [] || true)"), 1},
		"the length of a long text, many times": {"[1,2,3,4,5,6,7,8,9,10].all(i, [1,2,3,4,5,6,7,8,9,10].all(j, x.size() > 0))", long},
		"a number in a long text":               {"[1,2,3,4,5,6,7,8,9,10].all(i, int(x) > 0 || true)", long},
		"each of many texts in all of them":     {"x.all(a, a in x || true)", texts},
		"two lists, each value with each":       {"x.all(a, x.all(b, a == b))", texts},
		"a long list compared many times":       {"x.all(a, x == x)", texts},
		"copies of a long list":                 {"x.map(a, x).exists(l, l == [])", texts},
		"copies of copies of a long list":       {"x.map(a, [x, x, x, x, x, x, x, x, x, x]).map(b, [b, b, b, b]) == []", texts},
	} {
		t.Run(name, func(t *testing.T) {
			bytes, err := eval(t, c.source, c.x)
			if err == nil || !strings.Contains(err.Error(), "cost limit exceeded") || bytes > 64<<20 {
				t.Errorf("%v, %d MiB", err, bytes>>20)
			}
		})
	}
}

// What judges of outputs need costs little.
func TestOptions_LeaveWhatIsUsual(t *testing.T) {
	items := make([]any, 1000)
	for i := range items {
		items[i] = map[string]any{"name": strings.Repeat("n", 100), "price": 1.5, "tags": []any{"a", "b"}}
	}
	for _, source := range []string{
		"x.all(i, i.price > 0.0 && size(i.name) > 0)", "x.filter(i, i.price > 1.0).size() == 1000",
		"x.map(i, i.name).all(n, n.startsWith('n'))", "x.exists(i, 'b' in i.tags)", "x == x", "x.all(i, i.tags == ['a', 'b'])",
		"{'valid': x.size() > 0, 'score': 0.5, 'message': 'of ' + string(x.size()) + ' items'}.valid",
	} {
		if _, err := eval(t, source, items); err != nil {
			t.Errorf("%s: %v", source, err)
		}
	}
}
