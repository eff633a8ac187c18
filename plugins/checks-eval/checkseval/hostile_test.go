package checkseval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/sdk"
)

func TestMain(m *testing.M) { os.Exit(coretest.WithPlain(m).Run()) }

// TestHostileOutputs_AreBadOutputs: none of them is a failure of the evaluator, none passes, and each
// says that it couldn't be checked, with a finding of bounded size.
func TestHostileOutputs_AreBadOutputs(t *testing.T) {
	coretest.Long(t)
	if coretest.Plain(t) {
		return
	}
	text := func(s string) string {
		b, _ := json.Marshal(s)
		return string(b)
	}
	long := func(s string, bytes int) string { return text(strings.Repeat(s, bytes/len(s))) }
	const most = 8<<20 - 100
	list := `["` + strings.Repeat(`a","`, 400_000) + `a"]`
	tests := []struct{ name, check, output, says string }{
		{"a pattern on a long text", `{"matches": "(x+x+)+y"}, {"matches": "(a|aa|aaa){40}b"}`, long("a", most), "the pattern"},
		{"a pattern of many copies", `{"not_matches": "(abcdefghij){400}z"}`, long("a", 1<<20), "would take too long"},
		{"patterns one after another", strings.Repeat(`{"matches": "[a-f]{20}z"},`, 99) + `{"matches": "b"}`, long("a", 1<<20), "would take too long"},
		{"a thousand texts", `{"contains_any": ["x0"` + strings.Repeat(`,"xyz"`, 999) + `]}`, long("xy", most), "would take too long"},
		{"a thousand texts in many values", `{"contains_all": ["x0"` + strings.Repeat(`,"xyz"`, 999) + `]}`, list, "would take too long"},
		{"a long text to compare", `{"similar": {"to": ` + long("ab", 60_000) + `}}`, long("ba", 1<<20), "would take too long"},
		{"a longer text to compare", `{"similar": {"to": "ab", "by": "token_f1"}}`, long("b ", most), "at most 1048576 are compared"},
		{"many words to compare", `{"similar": {"to": ` + long("a b ", 60_000) + `, "by": "rouge_l"}}`, long("b a ", 1<<20), "would take too long"},
		{"long YAML", `{"is": "yaml"}`, long("- a\n", 2<<20), "at most 1048576 are read"},
		{"deep YAML", `{"is": "yaml"}`, long("[", 1<<20), "exceeded max depth"},
		{"deep JSON in a text", `{"is": "json"}`, long("[", most), "exceeded max depth"},
		{"a long text in an expression", `{"cel": "output.size() > 0"}`, long("a", 2<<20), "expressions read at most 1 MiB"},
		{"a loop in a loop", `{"cel": "output.all(a, output.all(b, output.all(c, a + b + c > 0)))"}`, `[` + strings.Repeat("1,", 10_000) + `1]`, "cost limit"},
		{"a text that doubles", `{"cel": "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20].all(x, (output+output+output+output+output+output+output+output).size() > 0)"}`, long("a", 1<<20-10), "cost limit"},
		{"lists that hold themselves twice", `{"cel": "[output].map(a, [a, a])` + strings.Repeat(`.map(a, [a, a])`, 30) + ` == output"}`, `[1]`, "cost limit"},
		{"a pattern made of the output", `{"cel": "output.matches(output)"}`, text(strings.Repeat("(a*)*", 900) + strings.Repeat("b", 100_000)), "regular expression has"},
		{"a value in a long list", `{"cel": "output.all(x, x in output || true)"}`, `[` + strings.Repeat(`"a",`, 100_000) + `"b"]`, "cost limit"},
		{"a pattern for a long text", `{"cel": "output.matches('(a|b|c){300}d')"}`, long("a", 1<<20-10), "cost limit"},
		{"many patterns", `{"cel": "output.all(t, !t.matches('(a|b|c){100}d'))"}`, `["` + strings.Repeat(strings.Repeat("a", 10_000)+`","`, 99) + `"]`, "cost limit"},
		{"parts of a long text", `{"cel": "output.split('').all(c, output.split('').size() > 0)"}`, long("a", 1<<20-10), "cost limit"},
		{"a number of many digits", `{"close_to": {"value": 1, "within": 1}}`, strings.Repeat("9", 2000), "number of 2000 digits"},
		{"a text of many digits", `{"close_to": {"value": 1, "within": 1}}`, long("9", 1<<20), "not a number"},
		{"a huge exponent", `{"close_to": {"value": 1, "within": 1}}`, `"1e999999999"`, "not a number"},
		{"many values", `{"max_chars": 1}`, `[` + strings.Repeat("1,", 600_000) + `1]`, "more than 500000 values"},
		{"deep nesting", `{"not_matches": "a"}`, strings.Repeat("[", 300) + strings.Repeat("]", 300), "nested deeper"},
		{"a long name over many values", `{"not_matches": "a"}`, `{` + long("a", 1<<20) + `:` + list + `}`, "must not match"},
		{"a long name that is missing", `{"equals": {` + long("a", 60_000) + `: 1}}`, `{}`, "is missing"},
		{"many matches", `{"not_matches": "a"}`, list, "must not match"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := judged(t, tt.check, tt.output, "")
			all, _ := json.Marshal(v)
			if v.Valid || !strings.Contains(string(all), tt.says) || len(all) > 256<<10 {
				t.Errorf("valid %t, %d bytes, want %q: %.2000s", v.Valid, len(all), tt.says, all)
			}
		})
	}
}

// TestBudget_IsSharedByTheChecksOfOneOutput, and the next output has one of its own. What needs little goes on after a
// check that needed too much.
func TestBudget_IsSharedByTheChecksOfOneOutput(t *testing.T) {
	e, err := prepare(json.RawMessage(`{"all": [{"matches": "(a|b){40}c"}, {"max_chars": 4000000}, {"matches": "a"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{3 << 20, 10, 3 << 20} {
		r, err := e.Evaluate(t.Context(), &sdk.EvaluateRequest{Output: json.RawMessage(`"` + strings.Repeat("a", size) + `"`)})
		if err != nil {
			t.Fatal(err)
		}
		c := r.Verdict.Children
		if c["matches"].Valid || !c["max_chars"].Valid || !c["matches-2"].Valid {
			t.Errorf("%d bytes: %+v", size, r.Verdict)
		}
		if dear := strings.Contains(fmt.Sprint(c["matches"]), "too long"); dear != (size > 1000) {
			t.Errorf("%d bytes: %+v", size, c["matches"])
		}
	}
}

// TestFindings_AreBounded, with a count of the others.
func TestFindings_AreBounded(t *testing.T) {
	texts := strings.TrimSuffix(strings.Repeat(`"b",`, 200), ",")
	v := judged(t, `{"contains_all": [`+texts+`]}`, `"a"`, "")
	if len(v.Errors) != maxFindings+1 || v.Errors[maxFindings].Message != "150 further findings are not listed" || v.Score != 0 {
		t.Errorf("%d findings, score %v: %+v", len(v.Errors), v.Score, v.Errors[len(v.Errors)-1])
	}
}

// TestDeadline_EndsAnEvaluation with an error, since it says nothing about the output.
func TestDeadline_EndsAnEvaluation(t *testing.T) {
	e, err := prepare(json.RawMessage(`{"all": [{"max_chars": 1}]}`))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Evaluate(ctx, &sdk.EvaluateRequest{Output: json.RawMessage(`"a"`)}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := e.Evaluate(t.Context(), &sdk.EvaluateRequest{Output: json.RawMessage(`{`)}); sdk.ReasonOf(err) != "json_invalid" {
		t.Error(err)
	}
}
