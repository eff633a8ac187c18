package policy_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy"
	"github.com/reflectory/reflectory/policy/program"
)

// Patterns that repeat parts make programs far larger than their text. Each is refused when it
// is loaded, or before it is matched, by what it could cost.
func TestRegex_IsChargedBeforeItIsMatched(t *testing.T) {
	for name, source := range map[string]string{
		"two counted repeats":            `output.s.matches("(a?){1000}(a?){1000}b")`,
		"one counted repeat":             `output.s.matches("(a?){1000}b")`,
		"a range of repeats":             `output.s.matches("a{0,1000}b")`,
		"nested repeats":                 `output.s.matches("(a{0,30}){30}b")`,
		"repeats of a class":             `output.s.matches("([ab]{0,5}[^b]{0,5}){50}b")`,
		"repeats of a group of literals": `output.s.matches("(?:(?:aaaaaaaa)?){900}b")`,
		"alternatives":                   `output.s.matches("(a|aa|aaa|aaaa|aaaaa){100}b")`,
		"as a function":                  `"x" == "" || matches(output.s, "(a?){500}b")`,
		"a pattern from the data":        `output.s.matches(output.p)`,
		"a pattern that is put together": `output.s.matches("(a?){1000}" + "b")`,
		"many small ones":                `[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20].exists(i, output.s.matches("(a?){40}b"))`,
		"in a comprehension over texts":  `output.list.exists(x, x.matches("(a?){200}b"))`,
		"a pattern as long as the text":  `output.s.matches(output.s + "b")`,
	} {
		t.Run(name, func(t *testing.T) {
			e, err := policy.NewExpressions().Compile(policypoint.Accept, source)
			if err != nil {
				if !strings.Contains(err.Error(), "regular expression") && !strings.Contains(err.Error(), "costs") {
					t.Error(err)
				}
				return
			}
			long := strings.Repeat("a", 40_000)
			list := make([]any, 40)
			for i := range list {
				list[i] = long
			}
			_, err = e.Eval(context.Background(), map[string]any{
				"valid": true, "score": 1.0, "errors": []any{}, "iteration": int64(1),
				"output": map[string]any{"s": long, "p": "(a?){1000}b", "list": list},
			})
			if !errors.Is(err, program.ErrTooDear) && !errors.Is(err, program.ErrTooLong) && !strings.Contains(fmt.Sprint(err), "regular expression") {
				t.Errorf("it ended with %v", err)
			}
		})
	}
}

func TestRegex_OfUsualSizeIsMatched(t *testing.T) {
	for source, want := range map[string]bool{
		`output.s.matches("^a+$")`:                                true,
		`output.s.matches("b")`:                                   false,
		`output.s.matches("[0-9]{4}-[0-9]{2}-[0-9]{2}")`:          false,
		`output.mail.matches("^[^@ ]{1,64}@[a-z.]{1,255}$")`:      true,
		`matches(output.mail, output.p)`:                          true,
		`output.s.matches("(?i)A{100}")`:                          true,
		`output.umlaut.matches("^\\p{L}{3}\\x{fffd}?$")`:          true,
		`!output.mail.matches("\\bthe\\b") && output.n == 1`:      true,
		`output.mail.matches("") && "".matches("^$")`:             true,
		`output.list.all(x, x.matches("^item [0-9]+ of .*[.]$"))`: true,
	} {
		e, err := policy.NewExpressions().Compile(policypoint.Accept, source)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		list := make([]any, 500)
		for i := range list {
			list[i] = fmt.Sprintf("item %d of the list.", i)
		}
		got, err := e.Eval(context.Background(), map[string]any{
			"valid": true, "score": 1.0, "errors": []any{}, "iteration": int64(1),
			"output": map[string]any{
				"s": strings.Repeat("a", 100_000), "mail": "ann@example.org", "p": "@example[.]org$", "umlaut": "äöü", "n": int64(1), "list": list,
			},
		})
		if err != nil || got != want {
			t.Errorf("%s: %v, %v", source, got, err)
		}
	}
}
