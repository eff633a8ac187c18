package template_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/workflow/template"
	"github.com/reflectory/reflectory/sdk"
)

// Each is what Jinja gives, where Jinja writes values as JSON does.
func TestFilters(t *testing.T) {
	const people = "{% set p = [{'n': 'bo', 'a': 3, 'x': {'y': 1}}, {'n': 'Al', 'a': 1, 'x': {'y': 2}}, {'n': 'cy', 'a': 3, 'x': {'y': 0}}] %}"
	for source, want := range map[string]string{
		"{{ 'a\nb\n\nc' | indent }}":                                                                                                           "a\n    b\n\n    c",
		"{{ 'a\n\nb' | indent(2, true, blank=true) }}":                                                                                         "  a\n  \n  b",
		"{{ 'a\nb' | indent('> ') }}":                                                                                                          "a\n> b",
		"{{ 'a\n' | indent(1, first=true) }}":                                                                                                  " a\n",
		"{{ {'b': [1, {}], 'a': []} | tojson(indent=2) }}":                                                                                     "{\n  \"a\": [],\n  \"b\": [\n    1,\n    {}\n  ]\n}",
		"{{ state.odd | tojson(indent=1) }}":                                                                                                   "[\n \"a\\\"{,:\\\\\",\n \"[]\"\n]",
		"{{ [1] | json(0) }}":                                                                                                                  "[\n1\n]",
		"{% for k, v in state.o.items() %}{{ k }}={{ v }};{% endfor %}":                                                                        "a=1;b=2;",
		"{% for k, v in state.o | items %}{{ k }}={{ v }};{% endfor %}":                                                                        "a=1;b=2;",
		"{{ {'b': 1, 'A': 3, 'c': 2} | dictsort }}":                                                                                            `[["A",3],["b",1],["c",2]]`,
		"{{ {'b': 1, 'A': 3, 'c': 2} | dictsort(by='value', reverse=true) }}":                                                                  `[["A",3],["c",2],["b",1]]`,
		"{{ {'b': 1, 'B': 3, 'a': 2} | dictsort(true) }}":                                                                                      `[["B",3],["a",2],["b",1]]`,
		people + "{{ p | selectattr('a', 'gt', 1) | map(attribute='n') | list }}":                                                              `["bo","cy"]`,
		people + "{{ p | rejectattr('a', 'eq', 3) | map(attribute='n') }}":                                                                     `["Al"]`,
		people + "{{ p | selectattr('x.y') | map(attribute='x.y') }}":                                                                          `[1,2]`,
		people + "{{ p | selectattr('zz', 'defined') }}{{ p | rejectattr('zz') | length }}":                                                    "[]3",
		people + "{{ p | map(attribute='zz', default=0) }}":                                                                                    "[0,0,0]",
		people + "{{ p | sort(attribute='a,n') | map(attribute='n') }}":                                                                        `["Al","bo","cy"]`,
		people + "{{ p | sort(attribute='a', reverse=true) | map(attribute='n') }}":                                                            `["bo","cy","Al"]`,
		people + "{% for a, l in p | groupby('a') %}{{ a }}:{{ l | length }} {% endfor %}":                                                     "1:1 3:2 ",
		people + "{% for g in p | groupby('x.y') %}{{ g.grouper }}{{ g.list[0].n }} {% endfor %}":                                              "0cy 1bo 2Al ",
		people + "{% for g in p | groupby('z', default='?') %}{{ g.grouper }}{{ g.list | length }}{% endfor %}":                                "?3",
		people + "{{ p | sum(attribute='a') }} {{ [1, 2.5] | sum(start=1) }} {{ [] | sum }}":                                                   "7 4.5 0",
		people + "{{ p | join(', ', attribute='n') }}":                                                                                         "bo, Al, cy",
		"{{ [1, 2, 3, 4] | select('even') }} {{ [1, 2, 3] | reject('odd') }} {{ [0, 1, ''] | select }}":                                        "[2,4] [2] [1]",
		"{{ [[3, 'a'], [1, 'b']] | sort(attribute=0) | map(attribute='1') }}":                                                                  `["b","a"]`,
		"{{ ['b', 'A', 'a', 'B'] | sort }} {{ ['b', 'A', 'a'] | sort(case_sensitive=true) }}":                                                  `["A","a","b","B"] ["A","a","b"]`,
		"{{ ['a', 'b'] | map('upper') }} {{ ['a b', 'c'] | map('replace', ' ', '-') }}":                                                        `["A","B"] ["a-b","c"]`,
		"{{ [[3, 1], [2]] | map('map', 'string') }} {{ [[1, 0], [0]] | map('select') }}":                                                       `[["3","1"],["2"]] [[1],[]]`,
		"{{ range(3) }} {{ range(1, 3) }} {{ range(5, 0, -2) }} {{ range(3, 1) }}":                                                             "[0,1,2] [1,2] [5,3,1] []",
		"{{ range(9223372036854775805, 9223372036854775807) }}":                                                                                "[9223372036854775805,9223372036854775806]",
		"{{ 'hello wORLD-of (it) é' | title }}":                                                                                                "Hello World-Of (It) É",
		"{{ ' a  b\tc ' | split }} {{ 'a,b,,c' | split(',') }} {{ 'a,b'.split(',') }}":                                                         `["a","b","c"] ["a","b","","c"] ["a","b"]`,
		"{{ 'aé' | list }} {{ {'b': 1, 'a': 2} | list }} {{ [1] | list }}":                                                                     `["a","é"] ["a","b"] [1]`,
		"{{ [1, 2, 3] | batch(2) }} {{ [1, 2, 3] | batch(2, 0) }} {{ [] | batch(2) }}":                                                         "[[1,2],[3]] [[1,2],[3,0]] []",
		"{{ 'aé' | reverse }} {{ [1, 2] | reverse }}":                                                                                          "éa [2,1]",
		"{{ 'a b'.upper().title() }}{{ ' a '.strip() }}{{ state.o.get('zz', 7) }}{{ state.o.get('a') }}{{ state.o.get('q') }}":                 "A Ba71null",
		"{{ state.o.keys() }}{{ state.o.values() }}{{ 'aa'.replace('a', 'b') }}":                                                               `["a","b"][1,2]bb`,
		"{{ 3 is divisibleby(3) }}{{ 3 is eq 3 }}{{ 3 is ne 3 }}{{ 2 is lt 3 }}{{ 2 is ge 3 }}{{ true is true }}{{ 1 is false }}":              "truetruefalsetruefalsetruefalse",
		"{{ [1, 2] | select('in', [2, 3]) }}{{ ['a', 1] | select('string') }}":                                                                 `[2]["a"]`,
		"{{ -3 | abs }}{{ 3 | abs }}{{ -1.5 | abs }}{{ +state.u | abs }}":                                                                      "331.518446744073709551615",
		"{{ '1.5' | float }}{{ 2 | float }}{{ true | int }}{{ false | int }}{{ state.u | int }}":                                               "1.521018446744073709551615",
		"{{ 3 | round }}{{ 2.5 | round }}{{ [1, 2, 1] | unique }}{{ [1, 2] | first }}{{ [1, 2] | last }}":                                      "32[1,2]12",
		"{{ state.o | length }}{{ 'é' | length }}{{ state.o | keys }}{{ state.o | values }}{{ [2, 1] | min }}":                                 `21["a","b"][1,2]1`,
		"{{ 'x' | default('y') }}{{ state.nope | d }}{{ '' | default('y', true) }}":                                                            "xy",
		"{{ [1, 2, 3][1:] }}{{ 'aéb'[:2] }}{{ [1, 2, 3][-2:-1] }}{{ [1][5:9] }}":                                                               "[2,3]aé[2][]",
		"{{ +1 }}{{ -1.5 }}{{ 7 // 2 }}{{ -7 // 2 }}{{ -7 % 3 }}{{ 2 ** 10 }}{{ 7 / 2 }}{{ 2 ** -1 }}{{ 7.5 // 2 }}{{ 7.5 % 2 }}{{ 1.5 * 2 }}": "1-1.53-4210243.50.531.53",
	} {
		got, err := compile(t, source).Text(scope(t))
		if err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", source, got, err, want)
		}
	}
}

func TestFiltersRefuseWhatDoesNotFit(t *testing.T) {
	for source, want := range map[string]string{
		"{{ 1 | indent }}":                            "indent needs text, not a number",
		"{{ 'a' | indent(-1) }}":                      "must be an integer from 0 to 64",
		"{{ [] | tojson(indent=1000) }}":              "must be an integer from 0 to 64",
		"{{ state.list | map(attribute='a') }}":       `the attribute "a" of an element is not defined`,
		"{{ state.list | map }}":                      "map needs an attribute",
		"{{ state.list | map('message') }}":           `there is no filter "message" (an attribute is named: map(attribute="message"))`,
		"{{ state.list | map('replace', 'a') }}":      `the filter "replace" takes 2 to 2`,
		"{{ state.list | map('upper') }}":             "this filter needs text, not a number",
		"{{ state.list | map(1) }}":                   "must be text",
		"{{ state.list | select('evn') }}":            `there is no test "evn"`,
		"{{ state.list | select('gt') }}":             `the test "gt" takes 1 arguments`,
		"{{ state.list | select(1) }}":                "must be text",
		"{{ state.list | selectattr }}":               "need an attribute",
		"{{ state.list | selectattr('a', 'eq', 1) }}": `the attribute "a" of an element is not defined`,
		"{{ state.errors | sort }}":                   "have no order",
		"{{ state.errors | sort(attribute='zz') }}":   "not defined",
		"{{ state.errors | groupby('zz') }}":          "not defined",
		"{{ [1, 'a'] | sort }}":                       "have no order",
		"{{ state.o | dictsort(by='x') }}":            `"key" or "value"`,
		"{{ state.list | dictsort }}":                 "needs an object",
		"{{ state.list | batch(0) }}":                 "must be an integer from 1",
		"{{ state.x | list }}":                        "needs a list",
		"{{ state.x | items }}":                       "needs an object",
		"{{ ['a'] | sum }}":                           "a number and text",
		"{{ 'a' | split('') }}":                       "separator is empty",
		"{{ range('a') }}":                            "range needs integers, not text",
		"{{ range(1, 2, 0) }}":                        "step can't be 0",
		"{{ state.list.get(1) }}":                     "get needs an object",
		"{{ 'a' is divisibleby(2) }}":                 "two integers",
		"{{ 3 is divisibleby(0) }}":                   "two integers",
		"{{ 'a' is gt 1 }}":                           "no order",
		"{{ 'a' is even }}":                           "only an integer",
		"{{ 1 in 2 }}":                                "contains nothing",
		"{{ 1 in 'a' }}":                              "text can't contain a number",
		"{{ [] | max }}":                              "an empty list",
		"{{ [1, 'a'] | max }}":                        "no order",
		"{{ [] | first }}":                            "an element of the empty list is not defined",
		"{{ 1 | length }}":                            "has no length",
		"{{ 'a' | abs }}":                             "abs needs a number",
		"{{ 1.5 | round(20) }}":                       "a precision of 0 to 15",
		"{{ 'a' | truncate('b') }}":                   "truncate needs text",
		"{{ 1 | replace('a', 'b') }}":                 "must be text",
		"{{ 'a' | replace(1, 'b') }}":                 "must be text",
		"{{ 'a' | join(1) }}":                         "needs a list",
		"{{ state.x[0:1] }}":                          "only text and lists can be sliced",
		"{{ state.list[0:1:1] }}":                     "a slice takes no step",
		"{{ state.list['a':] }}":                      "must be an integer",
		"{{ state.list[1.5] }}":                       "an index must be text or an integer",
		"{{ -'a' }}":                                  "a sign needs a number",
		"{{ -state.u }}":                              "out of range",
		"{{ -(-9223372036854775807 - 1) }}":           "out of range",
		"{{ (-9223372036854775807 - 1) | abs }}":      "out of range",
		"{{ {1: 2} }}":                                "an object's key must be text",
		"{{ 1 % 0 }}":                                 "division by zero",
		"{{ 1.5 // 0 }}":                              "division by zero",
		"{{ (-9223372036854775807 - 1) // -1 }}":      "out of range",
		"{% for a, b in [1] %}{% endfor %}":           "walks an object or a list of pairs",
	} {
		_, err := compile(t, source).Text(scope(t))
		if err == nil || !strings.Contains(err.Error(), want) || sdk.CodeOf(err) != sdk.Invalid {
			t.Errorf("%q: got %v, want %s", source, err, want)
		}
	}
}

func TestMacros(t *testing.T) {
	for source, want := range map[string]string{
		"{% macro f(a, b='x') %}<{{ a }}{{ b }}>{% endmacro %}{{ f(1) }}{{ f(1, 2) }}{{ f(b=3, a=4) }}":                    "<1x><12><43>",
		"{{ f() }}{% macro f() %}a{% endmacro %}":                                                                          "a",
		"{% macro f(x) %}{{ x }}{% endmacro %}{% macro g(x) %}{{ f(x) }}{{ f(x + 1) }}{% endmacro %}{{ g(1) | upper }}":    "12",
		"{% macro f(n=state.x) %}{{ n }}{{ state.yes }}{% endmacro %}{% for a in [1, 2] %}{{ f(a) }}{% endfor %}{{ f() }}": "1true2true1true",
		"{%- macro f(l) -%}{% for i in l %}{{ loop.index }}{{ i }}{% endfor %}{%- endmacro -%}{{ f([5, 6]) }}":             "1526",
		"{% macro f(a) %}{% set a = a + 1 %}{{ a }}{% endmacro %}{% set a = 5 %}{{ f(1) }}{{ a }}":                         "25",
	} {
		got, err := compile(t, source).Text(scope(t))
		if err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", source, got, err, want)
		}
	}
	for source, want := range map[string]string{
		"{% macro f() %}{{ f() }}{% endmacro %}":                                       `the macro "f" can't call "f"`,
		"{% macro f() %}{{ g() }}{% endmacro %}{% macro g() %}{{ f() }}{% endmacro %}": `the macro "f" can't call "g"`,
		"{% macro f(a) %}{% endmacro %}{{ f() }}":                                      `needs its argument "a"`,
		"{% macro f(a) %}{% endmacro %}{{ f(1, 2) }}":                                  "takes 1 arguments",
		"{% macro f(a) %}{% endmacro %}{{ f(1, a=2) }}":                                `no further argument "a"`,
		"{% macro f(a) %}{% endmacro %}{{ f(1, b=2) }}":                                `no further argument "b"`,
		"{% macro f(a, a) %}{% endmacro %}":                                            "different names",
		"{% macro f(a b) %}{% endmacro %}":                                             "a comma or )",
		"{% macro f(a=) %}{% endmacro %}":                                              "",
		"{% macro f %}{% endmacro %}":                                                  "a macro tag is written",
		"{% macro f() x %}{% endmacro %}":                                              "unexpected text",
		"{% macro f() %}":                                                              "",
		"{% macro f() %}{% endmacro %}{% macro f() %}{% endmacro %}":                   `there is another "f"`,
		"{% macro range() %}{% endmacro %}":                                            `there is another "range"`,
		"{% if state.x %}{% macro f() %}{% endmacro %}{% endif %}":                     "within another tag",
		"{{ rnge(1) }}":                 `there is no function or macro "rnge"`,
		"{{ range() }}":                 "range takes 1 to 3",
		"{{ state.o.itms() }}":          `there is no method "itms"`,
		"{{ state.o.items(1) }}":        `the method "items" takes no arguments`,
		"{{ state.o['items']() }}":      "can't be called",
		"{{ [1] | select(x=1) }}":       `no further argument "x"`,
		"{{ [1] | map(atribute='a') }}": `no further argument "atribute"`,
	} {
		c, problems := template.Compile(source, []string{"state"})
		if c != nil || len(problems) == 0 || !strings.Contains(problems[0].Message, want) {
			t.Errorf("%q: got %+v, want %s", source, problems, want)
		}
	}
}

func TestWhatIsNoTemplateIsShownHowToBeText(t *testing.T) {
	for source, raw := range map[string]bool{
		`Reply {{"name": "x"}}`:  true,
		"f_{{a}}":                true,
		"{#fff":                  true,
		"{{ a }}":                false,
		"{{ state.x }} {{ b":     false,
		"{{- a }}":               false,
		"{{ state.x | upcase }}": false,
	} {
		_, problems := template.Compile(source, []string{"state"})
		if len(problems) == 0 || strings.Contains(problems[0].Hint, "{% raw %}") != raw {
			t.Errorf("%q: got %+v", source, problems)
		}
	}
}

func TestMultiplyingFiltersEnd(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	long := make([]any, 2000)
	for i := range long {
		long[i] = strings.Repeat("x", 1000)
	}
	deep := any(int64(1))
	for range 200 {
		deep = []any{deep, int64(1), int64(2), int64(3)}
	}
	vars := map[string]any{"state": map[string]any{"l": long, "s": strings.Repeat("x\n", 1<<19), "deep": deep}}
	for name, source := range coretest.Some(4, map[string]string{
		"a long range":       "{{ range(1000000000) }}",
		"ranges of ranges":   "{% for a in range(10000) %}{% for b in range(10000) %}{% endfor %}{% endfor %}",
		"a range of steps":   "{{ range(0, -9000000000000000000, -1) }}",
		"wide indents":       "{{ state.s | indent(64) }}",
		"indents again":      "{% set x = state.s %}{% for a in range(100) %}{{ state.s | indent(2) | length }}{% endfor %}",
		"deep JSON":          "{% set x = [state.deep] %}{% for a in range(300) %}{% set y = [state.deep, state.deep, state.deep, state.deep] | tojson(indent=64) %}{% endfor %}",
		"characters":         "{% for a in range(10) %}{{ state.s | list | length }}{% endfor %}",
		"words":              "{% for a in range(10) %}{{ state.s | split | length }}{% endfor %}",
		"full batches":       "{{ [1] | batch(100000000, 0) }}",
		"many batches":       "{% for a in range(2000) %}{% set y = state.l | batch(1) %}{% endfor %}",
		"sorting long texts": "{% for a in range(100) %}{% set y = state.l | sort %}{% endfor %}",
		"sorting by them":    "{% for a in range(2000) %}{% set y = state.l | groupby('x', default='y') %}{% endfor %}",
		"filters of filters": "{% for a in range(2000) %}{% set y = state.l | map('upper') %}{% endfor %}",
		"tests":              "{% for a in range(2000) %}{% set y = state.l | select('in', state.l) %}{% endfor %}",
		"sums":               "{% for a in range(2000) %}{% set y = range(2000) | sum %}{% endfor %}",
		"titles":             "{% for a in range(2000) %}{% set y = state.s | title %}{% endfor %}",
		"reversed texts":     "{% for a in range(2000) %}{% set y = state.s | reverse %}{% endfor %}",
		"doubling macros":    doublingMacros(40),
		"macros' texts":      "{% macro f() %}{{ state.s }}{{ state.s }}{{ state.s }}{{ state.s }}{% endmacro %}{{ f() }}{{ f() }}",
		"joins":              "{{ range(2000) | join(state.s) }}",
		"paths":              "{% for a in range(2000) %}{% set y = state.l | map(attribute='" + strings.Repeat("a.", 5000) + "', default=1) %}{% endfor %}",
		"many names":         setting(4000),
		"names in rounds":    setting(100) + "{% for a in range(100000) %}{% set y = a %}{% endfor %}",
		"names in if":        setting(100) + "{% for a in range(100000) if not a %}{% endfor %}",
		"pairs":              "{% for a in range(200000) %}{% set y = {'a': 1, 'b': 2}.items() | list | reverse %}{% endfor %}",
	}) {
		_, err := compile(t, source).Text(vars)
		if sdk.ReasonOf(err) != "template_too_large" && sdk.ReasonOf(err) != "template_failed" {
			t.Errorf("%s: got %.200v", name, err)
		}
	}
}

// setting is a template that binds n names.
func setting(n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, "{%% set x%d = 1 %%}", i)
	}
	return out.String()
}

func TestALoopOverTooMuchTakesNoMemory(t *testing.T) {
	vars := map[string]any{"state": make([]any, 3_000_000)}
	for _, source := range []string{"{% for a in state %}{% endfor %}", "{% for a in state if a %}{% endfor %}"} {
		c := compile(t, source)
		allocations := testing.AllocsPerRun(1, func() {
			if _, err := c.Text(vars); sdk.ReasonOf(err) != "template_too_large" {
				t.Errorf("%s: got %v", source, err)
			}
		})
		if allocations > 100 {
			t.Errorf("%s: %.0f allocations", source, allocations)
		}
	}
}

// doublingMacros is a chain of macros each of which calls the one before twice.
func doublingMacros(n int) string {
	name := func(i int) string { return "f" + strings.Repeat("x", i) }
	var out strings.Builder
	out.WriteString("{% macro f() %}{% endmacro %}")
	for i := 1; i <= n; i++ {
		out.WriteString("{% macro " + name(i) + "() %}{{ " + name(i-1) + "() }}{{ " + name(i-1) + "() }}{% endmacro %}")
	}
	return out.String() + "{{ " + name(n) + "() }}"
}

// As the documents say: what isn't a number is 0, and ends no run.
func TestFilters_WhatIsNoNumberIsZero(t *testing.T) {
	for source, want := range map[string]string{
		"{{ 'a' | int }}": "0", "{{ '' | int }}": "0", "{{ '3 apples' | int }}": "0", "{{ none | int }}": "0", "{{ [1] | int }}": "0",
		"{{ {'a': 1} | int }}": "0", "{{ '3.7' | int }}": "3", "{{ ' 12 ' | int }}": "12", "{{ '1e3' | int }}": "1000", "{{ 1e300 | int }}": "0",
		"{{ '99999999999999999999' | int }}": "0", "{{ 'nan' | int }}": "0", "{{ -2.9 | int }}": "-2", "{{ 'a' | float }}": "0.0", "{{ '' | float }}": "0.0",
		"{{ none | float }}": "0.0", "{{ [1.5] | float }}": "0.0", "{{ 'inf' | float }}": "0.0", "{{ 'NaN' | float }}": "0.0", "{{ '1,5' | float }}": "0.0",
		"{{ 'x' | int + 1 }}": "1", "{{ ['1', 'b', 2.5] | map('int') }}": "[1,0,2]",
	} {
		if got, err := compile(t, source).Text(scope(t)); err != nil || got != want && got+".0" != want {
			t.Errorf("%s: %q, %v; want %q", source, got, err, want)
		}
	}
}
