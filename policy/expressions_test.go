package policy_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy"
	"github.com/reflectory/reflectory/sdk"
)

func vars(t *testing.T, text string) map[string]any {
	t.Helper()
	v, err := jsontext.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v.(map[string]any)
}

func TestExpressionsDecide(t *testing.T) {
	const stop = `{"iteration":3,"score":0.5,"best_score":0.75,"errors":[{"message":"name"},"text"],
		"history":[{"score":0.25}],"usage":{"tokens_in":7,"tokens_out":3,"tokens":10,"cost_usd":0.5,"wall_ms":12}}`
	const accept = `{"valid":false,"score":0.9,"errors":[],"output":{"n":9007199254740993,"s":"x","nil":null},"iteration":2}`
	const when = `{"state":{"x":1,"f":1.0,"u":18446744073709551615,"list":[1,"a"],"nested":{"y":"b"}}}`
	for name, test := range map[string]struct {
		point  policypoint.Point
		source string
		vars   string
		want   bool
	}{
		"numbers of different types compare":   {policypoint.When, "state.x == 1.0 && state.f == 1", when, true},
		"integers beyond int64 stay exact":     {policypoint.When, "state.u == 18446744073709551615u", when, true},
		"integers beyond 2^53 stay exact":      {policypoint.Accept, "output.n == 9007199254740993 && output.n != 9007199254740992", accept, true},
		"has sees a missing key":               {policypoint.When, "has(state.nope) || has(state.nested.z)", when, false},
		"null is a value":                      {policypoint.Accept, "output.nil == null", accept, true},
		"lists may mix types":                  {policypoint.When, "'a' in state.list && size(state.list) == 2", when, true},
		"accept sees score and iteration":      {policypoint.Accept, "score >= 0.9 && iteration < 3 && size(errors) == 0", accept, true},
		"accept sees valid":                    {policypoint.Accept, "valid", accept, false},
		"stop sees usage":                      {policypoint.Stop, "usage.tokens == usage.tokens_in + usage.tokens_out && usage.cost_usd < 1", stop, true},
		"stop sees history":                    {policypoint.Stop, "history.exists(h, h.score < best_score)", stop, true},
		"stop sees errors":                     {policypoint.Stop, "errors[0].message.matches('^na')", stop, true},
		"a value that is a bool is a decision": {policypoint.When, "state.nested.y == 'b' ? state.x > 0 : false", when, true},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := policy.NewExpressions().Compile(test.point, test.source)
			if err != nil {
				t.Fatal(err)
			}
			v := vars(t, test.vars)
			for _, key := range []string{"score", "best_score"} {
				if i, ok := v[key].(int64); ok {
					v[key] = float64(i)
				}
			}
			got, err := e.Eval(context.Background(), v)
			if err != nil || got != test.want {
				t.Fatalf("got %v, %v, want %v", got, err, test.want)
			}
		})
	}
}

func TestCompileRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		point        policypoint.Point
		source       string
		line, column int
		message      string
	}{
		"a name that is nearly one":       {policypoint.When, "true && stat.x", 1, 9, `did you mean "state"?`},
		"a name of another point":         {policypoint.When, "score > 1", 1, 1, "the names are state"},
		"a syntax error":                  {policypoint.Stop, "score >", 1, 8, "Syntax error"},
		"a problem on the second line":    {policypoint.Stop, "score > 0.5 &&\n  itertion > 1", 2, 3, `did you mean "iteration"?`},
		"a value that isn't bool":         {policypoint.Stop, "iteration + 1", 1, 1, "must give bool"},
		"an operator that has no meaning": {policypoint.Stop, "score + 'a' == 1", 1, 7, "found no matching overload"},
		"an empty one":                    {policypoint.Stop, " \n", 1, 1, "empty"},
		"a long one":                      {policypoint.Stop, "true" + strings.Repeat(" ", policy.MaxSourceBytes), 1, 1, "bytes, more than"},
		"a deep one":                      {policypoint.Stop, strings.Repeat("(", 5000) + "true", 1, 1, "recursion"},
		"a bad regular expression":        {policypoint.Accept, "'a'.matches('(')", 1, 1, "regexp"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := policy.NewExpressions().Compile(test.point, test.source)
			if sdk.CodeOf(err) != sdk.Invalid || sdk.ReasonOf(err) != "expression_invalid" {
				t.Fatalf("got %v", err)
			}
			e := sdk.AsError(err)
			if e.Details["line"] != test.line || test.column > 0 && e.Details["column"] != test.column {
				t.Errorf("at %v:%v, want %d:%d", e.Details["line"], e.Details["column"], test.line, test.column)
			}
			if !strings.Contains(err.Error(), test.message) {
				t.Errorf("%q is not in %q", test.message, err)
			}
		})
	}
}

func TestCompileReportsEveryProblemWithACaret(t *testing.T) {
	_, err := policy.NewExpressions().Compile(policypoint.Stop, "scor > 1 &&\nhistry == []")
	want := "1:1: nothing here is named \"scor\" (did you mean \"score\"?)\n" +
		"  | scor > 1 &&\n  | ^\n" +
		"2:1: nothing here is named \"histry\" (did you mean \"history\"?)\n" +
		"  | histry == []\n  | ^"
	if err == nil {
		t.Fatal("it compiled")
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
	problems := sdk.AsError(err).Details["problems"].([]map[string]any)
	if len(problems) != 2 || problems[1]["line"] != 2 || problems[1]["hint"] != `did you mean "history"?` {
		t.Errorf("got %v", problems)
	}
}

func TestEvalFails(t *testing.T) {
	huge := make([]any, 3000)
	for i := range huge {
		huge[i] = int64(i)
	}
	state := map[string]any{"x": int64(1), "few": huge[:200], "vast": slices.Repeat(huge, 40)}
	for name, test := range map[string]struct {
		source string
		code   sdk.Code
		reason string
		text   string
	}{
		"a missing key":            {"state.nope == 1", sdk.Invalid, "expression_failed", "no such key: nope"},
		"a value that isn't bool":  {"state.x", sdk.Invalid, "expression_failed", "gave int, not bool"},
		"an unequal type":          {"state.x > 'a'", sdk.Invalid, "expression_failed", "no such overload"},
		"more work than the limit": {"state.few.all(a, state.few.all(b, state.few.all(c, a + b + c >= 0)))", sdk.Exhausted, "expression_too_dear", ""}, // a slow machine meets the limit of time first
		"more time than the limit": {"state.vast.all(a, a >= 0)", sdk.Exhausted, "expression_too_dear", "longer than 1s"},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := policy.NewExpressions().Compile(policypoint.When, test.source)
			if err != nil {
				t.Fatal(err)
			}
			_, err = e.Eval(context.Background(), map[string]any{"state": state})
			if sdk.CodeOf(err) != test.code || sdk.ReasonOf(err) != test.reason || !strings.Contains(err.Error(), test.text) {
				t.Fatalf("got %s %s: %v", sdk.CodeOf(err), sdk.ReasonOf(err), err)
			}
		})
	}
}

func TestEvalStopsWhenCancelled(t *testing.T) {
	e, err := policy.NewExpressions().Compile(policypoint.When, "state.list.all(x, x > 0)")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err = e.Eval(ctx, map[string]any{"state": map[string]any{"list": []any{int64(1)}}}); sdk.CodeOf(err) != sdk.Cancelled {
		t.Fatalf("got %v", err)
	}
}

func TestUnknownPointIsADefect(t *testing.T) {
	if _, err := policy.NewExpressions().Compile("nowhere", "true"); sdk.ReasonOf(err) != "policy_point_unknown" {
		t.Fatalf("got %v", err)
	}
}

func FuzzCompile(f *testing.F) {
	for _, seed := range []string{"true", "size(errors) > 0", "score > 0.5 && history.exists(h, h.score > score)", "(((", "usage.tokens", "'\\x", "[1,2][0] == {1:2}"} {
		f.Add(seed)
	}
	x := policy.NewExpressions()
	f.Fuzz(func(t *testing.T, source string) {
		e, err := x.Compile(policypoint.Stop, source)
		if err != nil {
			if d := sdk.AsError(err).Details; sdk.ReasonOf(err) != "expression_invalid" || d["line"].(int) < 1 || d["column"].(int) < 1 {
				t.Fatalf("%q: %v %v", source, err, d)
			}
			return
		}
		_, _ = e.Eval(context.Background(), map[string]any{
			"iteration": int64(1), "score": 0.5, "best_score": 0.5, "errors": []any{}, "history": []any{}, "usage": map[string]any{},
		})
	})
}

func BenchmarkEval(b *testing.B) {
	e, err := policy.NewExpressions().Compile(policypoint.Stop, "iteration > 2 && score < best_score && usage.tokens > 100")
	if err != nil {
		b.Fatal(err)
	}
	v := map[string]any{"iteration": int64(3), "score": 0.5, "best_score": 0.7, "usage": map[string]any{"tokens": int64(200)}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Eval(context.Background(), v); err != nil {
			b.Fatal(err)
		}
	}
}
