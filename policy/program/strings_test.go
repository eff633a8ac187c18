package program_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	"pgregory.net/rapid"

	"github.com/reflectory/reflectory/policy/format"
	"github.com/reflectory/reflectory/policy/program"
)

// compileValue compiles an expression over the texts a, b and c, the list l and the number
// n as the one output of a policy. The size is the most characters of a text.
func compileValue(t testing.TB, expression, size string) (*program.Env, *program.Program) {
	t.Helper()
	env := newEnv(t, fmt.Sprintf("input a string %s\ninput b string %[1]s\ninput c string %[1]s\ninput l list(string)\ninput n int\nfield value dyn\n", size))
	policy, found := format.Parse("p.yaml", []byte("rule: {match: [{output: '{\"value\": "+expression+"}'}]}"))
	compiled := program.Compile(env, policy, found)
	if compiled == nil {
		t.Fatalf("%s: %s", expression, sprint(found))
	}
	return env, compiled
}

// What we bound gives what cel-go's own extension gives.
func TestReplaceAndJoin_AreThoseOfTheExtension(t *testing.T) {
	for _, expression := range []string{`a.replace(b, c)`, `a.replace(b, c, n)`, `l.join(a)`, `l.join()`} {
		original, err := cel.NewEnv(ext.Strings(), cel.Variable("a", cel.StringType), cel.Variable("b", cel.StringType),
			cel.Variable("c", cel.StringType), cel.Variable("l", cel.ListType(cel.StringType)), cel.Variable("n", cel.IntType))
		if err != nil {
			t.Fatal(err)
		}
		checked, issues := original.Compile(expression)
		if issues.Err() != nil {
			t.Fatal(issues.Err())
		}
		reference, err := original.Program(checked)
		if err != nil {
			t.Fatal(err)
		}
		env, ours := compileValue(t, expression, "6")
		rapid.Check(t, func(t *rapid.T) {
			text := rapid.StringOfN(rapid.RuneFrom([]rune("abä")), 0, 6, -1)
			values := map[string]any{
				"a": text.Draw(t, "a"), "b": text.Draw(t, "b"), "c": text.Draw(t, "c"),
				"l": rapid.SliceOfN(text, 0, 4).Draw(t, "l"), "n": rapid.Int64Range(-2, 8).Draw(t, "n"),
			}
			want, _, err := reference.Eval(values)
			if err != nil {
				t.Fatal(err)
			}
			got, err := ours.Run(context.Background(), &inputs{variables: env.Variables(), values: values, asked: map[string]int{}})
			if err != nil || got.Fields[0] != want.Value() {
				t.Fatalf("%s over %v: got %v (%v), want %v", expression, values, got.Fields, err, want.Value())
			}
		})
	}
}

// A text of an attempt is as long as its plugin made it; a short policy must not turn it
// into one that takes all memory.
func TestReplaceAndJoin_AreBoundedBeforeTheyTakeMemory(t *testing.T) {
	long := strings.Repeat("a", 1<<20)
	many := make([]string, 1<<10)
	for i := range many {
		many[i] = long
	}
	for expression, want := range map[string]string{
		`size(a.replace("a", "0123456789"))`: "replace would give 10485760 bytes (limit 1048576)",
		`size(a.replace("", "01"))`:          "replace would give",
		`size(l.join())`:                     "join would give 2097152 bytes (limit 1048576)",
	} {
		env, compiled := compileValue(t, expression, "")
		in := &inputs{variables: env.Variables(), values: map[string]any{"a": long, "l": many}, asked: map[string]int{}}
		if _, err := compiled.Run(context.Background(), in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", expression, err, want)
		}
	}
}
