package program_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reflectory/reflectory/policy/format"
	"github.com/reflectory/reflectory/policy/program"
	"github.com/reflectory/reflectory/sdk"
)

// quoted makes a policy of one output.
func quoted(expression string) []byte {
	return []byte("rule:\n  match:\n    - output: |\n        " + expression + "\n")
}

func compile(t interface{ Fatalf(string, ...any) }, env *program.Env, text []byte) *program.Program {
	policy, found := format.Parse("p.yaml", text)
	p := program.Compile(env, policy, found)
	if p == nil {
		t.Fatalf("%v", found.Err())
	}
	return p
}

// formulas draws an expression over doubles, of a type.
func formulas(depth int, kind string) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		if depth == 0 {
			if kind == "bool" {
				return rapid.SampledFrom([]string{"b", "true", "x < y", "n >= 2"}).Draw(t, "leaf")
			}
			return rapid.SampledFrom([]string{"x", "y", "0.5", "-3.0", "double(n)", "o.z", "o.missing", "1e300", "variables.v"}).Draw(t, "leaf")
		}
		number := func() string { return formulas(depth-1, "double").Draw(t, "number") }
		truth := func() string { return formulas(depth-1, "bool").Draw(t, "truth") }
		if kind == "bool" {
			switch rapid.IntRange(0, 3).Draw(t, "form") {
			case 0:
				return "(" + truth() + " && " + truth() + ")"
			case 1:
				return "(" + truth() + " || " + truth() + ")"
			case 2:
				return "[1.5, 2.5].exists(e, e < " + number() + ")"
			}
			return "(" + number() + rapid.SampledFrom([]string{" < ", " <= ", " > ", " >= ", " == ", " != "}).Draw(t, "op") + number() + ")"
		}
		switch rapid.IntRange(0, 4).Draw(t, "form") {
		case 0:
			return "(" + truth() + " ? " + number() + " : " + number() + ")"
		case 1:
			return "clamp(" + number() + ", " + number() + ", " + number() + ")"
		case 2:
			return rapid.SampledFrom([]string{"rounded", "-"}).Draw(t, "unary") + "(" + number() + ")"
		case 3:
			return rapid.SampledFrom([]string{"least", "greatest", "distance"}).Draw(t, "binary") + "(" + number() + ", " + number() + ")"
		}
		return "(" + number() + rapid.SampledFrom([]string{" + ", " - ", " * ", " / "}).Draw(t, "op") + number() + ")"
	})
}

// The nodes that replace cel-go's give what cel-go's give: policies that are tracked run on
// those alone.
func TestQuickArithmeticIsCELs(t *testing.T) {
	env := newEnv(t, "input x double\ninput y double\ninput n int\ninput b bool\ninput o dyn")
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]string{"double", "bool"}).Draw(t, "kind")
		source := formulas(rapid.IntRange(1, 4).Draw(t, "depth"), kind).Draw(t, "source")
		text := []byte("rule:\n  variables: [{name: v, expression: x / y}]\n  match:\n    - output: |\n        " + source + "\n")
		policy, found := format.Parse("p.yaml", text)
		plain := program.CompileTracked(env, policy, found)
		if plain == nil {
			t.Fatalf("%v", found.Err())
		}
		in := &inputs{variables: env.Variables(), asked: map[string]int{}, values: map[string]any{
			"x": rapid.SampledFrom([]float64{0, 1, -2.5, 1e308}).Draw(t, "x"), "y": rapid.SampledFrom([]float64{0, 1, 0.1}).Draw(t, "y"),
			"n": rapid.Int64Range(-3, 3).Draw(t, "n"), "b": rapid.Bool().Draw(t, "b"), "o": map[string]any{"z": 2.0},
		}}
		got, err := compile(t, env, text).Run(context.Background(), in)
		want, wantErr := plain.Run(context.Background(), in)
		if fmt.Sprint(got.Value) != fmt.Sprint(want.Value) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Fatalf("%s: got %v, %v, want %v, %v", source, got.Value, err, want.Value, wantErr)
		}
	})
}

// A variable is evaluated at most once, and an input that isn't needed is never
// asked for.
func TestVariablesAreLazyAndKept(t *testing.T) {
	env := newEnv(t, "input x int\ninput y int")
	p := compile(t, env, []byte(`rule:
  variables: [{name: v, expression: x * 2}, {name: unused, expression: y}]
  match:
    - condition: variables.v > 100 || variables.v == 50
      output: variables.unused
    - output: variables.v + variables.v
`))
	in := newInputs(t, env, `{"x": 4, "y": 1}`)
	for range 3 { // runs are pooled: nothing of one is left in the next
		result, err := p.Run(context.Background(), in)
		if err != nil || result.Value != int64(16) {
			t.Fatalf("got %+v, %v", result, err)
		}
	}
	if in.asked["x"] != 3 || in.asked["y"] != 0 {
		t.Errorf("asked for %v", in.asked)
	}
}

func TestAPolicyThatIsTooDearIsStopped(t *testing.T) {
	env := newEnv(t, "input list dyn\ninput text string")
	numbers := make([]any, 5000)
	for i := range numbers {
		numbers[i] = int64(i)
	}
	for name, test := range map[string]struct {
		expression, reason string
		list               []any
	}{
		"more work than the limit":   {"list.exists(a, list.exists(b, a + b < 0))", "policy_too_dear", numbers[:800]},
		"more time than the limit":   {"list.all(a, a >= 0)", "policy_too_dear", slices.Repeat(numbers, 40)},
		"a text that doubles itself": {strings.Repeat("[text].map(t, t + t)[0] + ", 10) + "text", "policy_too_dear", nil},
	} {
		t.Run(name, func(t *testing.T) {
			policy, found := format.Parse("p.yaml", quoted(test.expression))
			p := program.Compile(env, policy, found)
			if p == nil { // refused by its static cost: as good
				if !strings.Contains(found.Err().Error(), "units of work") {
					t.Fatal(found.Err())
				}
				return
			}
			in := &inputs{variables: env.Variables(), asked: map[string]int{}, values: map[string]any{"list": test.list, "text": strings.Repeat("x", 1<<20)}}
			_, err := p.Run(context.Background(), in)
			if sdk.CodeOf(err) != sdk.Exhausted || sdk.ReasonOf(err) != test.reason || sdk.AsError(err).Hint == "" {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Each variable holds the one before it twice, so the last holds 2^40 values or characters.
func TestAPolicyWhoseVariablesDoubleIsStopped(t *testing.T) {
	env := newEnv(t, "input any dyn\ninput text string")
	for _, c := range []struct{ first, next, last string }{
		{"text", "v + v", "v.size() > 0"}, {"any", "v + v", "v == any"}, {"'x'", "v + v", "v == text"}, {"dyn('x')", "v + v", "v == any"},
		{"[1]", "[v, v]", "v == v"}, {"[1]", "v + v", "2 in v"}, {"[any]", "[v, v]", "v in [v]"}, {"{'a': 1}", "{'a': v, 'b': v}", "v != v"},
		{"[1]", "[v, v]", "[1][dyn(v)] == 1 || true"}, {"[1]", "[v, v]", "v"},
	} {
		policy := "rule:\n  variables:\n    - {name: v0, expression: \"" + c.first + "\"}\n"
		before := "variables.v0"
		for i := 1; i <= 40; i++ {
			policy += fmt.Sprintf("    - {name: v%d, expression: \"%s\"}\n", i, variable.ReplaceAllString(c.next, before))
			before = fmt.Sprintf("variables.v%d", i)
		}
		policy += "  match:\n    - output: \"" + variable.ReplaceAllString(c.last, before) + "\"\n"
		p := compile(t, env, []byte(policy))
		in := &inputs{variables: env.Variables(), asked: map[string]int{}, values: map[string]any{"any": "x", "text": "x"}}
		if result, err := p.Run(context.Background(), in); sdk.ReasonOf(err) != "policy_too_dear" {
			t.Errorf("%+v: %.100v, %v", c, result, err)
		}
	}
}

var variable = regexp.MustCompile(`\bv\b`)

func TestExplainShowsTheWay(t *testing.T) {
	env := newEnv(t, "input x int")
	p := compile(t, env, []byte(`rule:
  variables: [{name: v, expression: x * 2}]
  match:
    - condition: x > 10
      output: 1
    - condition: x > 5
      rule:
        id: inner
        match:
          - condition: variables.v > 13
            output: 2
    - output: 3
`))
	result, trace, err := p.Explain(context.Background(), newInputs(t, env, `{"x": 7}`))
	if err != nil || result.Value != int64(2) || result.Cost == 0 {
		t.Fatalf("got %+v, %v", result, err)
	}
	got := ""
	for _, s := range trace.Steps {
		got += fmt.Sprintf("%s %v\n", s.Path, s.Holds)
	}
	got += fmt.Sprint(trace.Variables)
	if want := "match[0] false\nmatch[1] true\nmatch[1].match[0] true\n[{v 14 x * 2}]"; got != want {
		t.Errorf("got %s", got)
	}
}

func FuzzCompile(f *testing.F) {
	for _, seed := range []string{"x > 1 ? 'a' : string(x)", "variables.v", "[1,2].map(e, e)", "{'a': 1}[x]", "optional.of(x)", "within('a', x)", "'\\x", "((("} {
		f.Add(seed)
	}
	env := newEnv(f, "input x dyn")
	f.Fuzz(func(t *testing.T, source string) {
		policy, found := format.Parse("p.yaml", []byte("rule:\n  match:\n    - output: |\n        "+strings.ReplaceAll(source, "\n", "\n        ")+"\n"))
		p := program.Compile(env, policy, found)
		if p == nil {
			if found.Err() == nil {
				t.Fatal("it didn't compile, and nothing is wrong")
			}
			return
		}
		_, _ = p.Run(context.Background(), newInputs(t, env, `{"x": 3}`))
	})
}
