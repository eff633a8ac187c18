package template_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/nikolalohinski/gonja/v2"
	"github.com/nikolalohinski/gonja/v2/exec"
	"pgregory.net/rapid"

	"github.com/reflectory/reflectory/core/workflow/template"
)

// gonja renders a template as the library itself does. Values that aren't texts
// it writes as Python does, so templates that are compared write them with ours.
func byGonja(t fatal, source string) (text string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("gonja panics: %v", p)
		}
	}()
	compiled, err := gonja.FromString(source)
	if err != nil {
		return "", err
	}
	return compiled.ExecuteToString(exec.NewContext(map[string]any{"state": asGonja(gonjaWorld(t))}))
}

type fatal interface{ Fatal(...any) }

// What gonja and this package agree on: it has neither numbers beyond 64 bits
// nor null in them.
const agreed = `{"x":1,"y":7,"f":1.5,"s":"b a","w":"  x y ","e":"","yes":true,"no":false,"list":[3,1,2],"words":["b","a","c"],
	"empty":[],"people":[{"n":"bo","a":3},{"n":"al","a":1},{"n":"cy","a":3}],"o":{"b":2,"a":1}}`

func gonjaWorld(t fatal) any {
	var v any
	d := json.NewDecoder(strings.NewReader(agreed))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// asGonja turns numbers into Go's.
func asGonja(v any) any {
	switch v := v.(type) {
	case json.Number:
		if i, err := strconv.Atoi(v.String()); err == nil {
			return i
		}
		f, _ := v.Float64()
		return f
	case []any:
		for i := range v {
			v[i] = asGonja(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = asGonja(v[k])
		}
	}
	return v
}

func byUs(t fatal, source string) (string, error) {
	c, problems := template.Compile(source, []string{"state"})
	if len(problems) > 0 {
		return "", fmt.Errorf("%+v", problems)
	}
	return c.Text(map[string]any{"state": asOurs(gonjaWorld(t))})
}

func asOurs(v any) any {
	switch v := v.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		f, _ := v.Float64()
		return f
	case []any:
		for i := range v {
			v[i] = asOurs(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = asOurs(v[k])
		}
	}
	return v
}

// The corpus has what the random templates below don't make.
func TestTemplatesThatGonjaTakesRenderAlike(t *testing.T) {
	for _, source := range []string{
		"plain {# no #}text\n\n.", "{% raw %}{{ x }}{% endraw %}", "a{%- if true %} b {%- endif %} c", "{{ 'a' -}} b",
		"{% for x in state.list %}{{ loop.index }}{{ loop.index0 }}{{ x }}{% if not loop.last %},{% endif %}{% else %}none{% endfor %}",
		"{% for x in state.empty %}{{ x }}{% else %}none{% endfor %}", "{% for k, v in state.o.items() %}{{ k }}{{ v }}{% endfor %}",
		"{% for k, v in state.o | dictsort %}{{ k }}{{ v }}{% endfor %}", "{% for x in state.list if x > 1 %}{{ x }}{% endfor %}",
		"{% set a = 1 %}{% set a = a + 1 %}{{ a }}", "{% if state.x == 1 and not state.no %}y{% elif state.y %}z{% else %}n{% endif %}",
		"{% macro f(a, b=2) %}{{ a }}-{{ b }}{% endmacro %}{{ f(1) }}{{ f(1, 3) }}{{ f(1, b=4) }}",
		"{% for i in range(3) %}{{ i }}{% endfor %}{% for i in range(5, 1, -2) %}{{ i }}{% endfor %}", "{{ 'a\nb\n\nc' | indent }}", "{{ 'a\nb' | indent(2, true) }}",
		"{{ state.people | map(attribute='n') | join(',') }}", "{{ state.people | selectattr('a', 'eq', 3) | map(attribute='n') | join }}",
		"{{ state.people | rejectattr('a', 'eq', 3) | map(attribute='n') | join }}", "{{ state.list | select('odd') | join }}", "{{ state.list | reject('odd') | join }}",
		"{{ state.words | map('upper') | join }}", "{{ state.people | sum(attribute='a') }}", "{{ state.people | sort(attribute='n') | map(attribute='n') | join }}",
		"{% for g, l in state.people | groupby('a') %}{{ g }}{{ l | length }}{% endfor %}", "{{ state.s.split(' ') | join('-') }}", "{{ state.s.upper() }}",
		"{% for b in state.list | batch(2) %}{{ b | join }};{% endfor %}", "{% for b in state.list | batch(2, 0) %}{{ b | join }};{% endfor %}",
		"{{ state.list | sort | join }}{{ state.list | sort(reverse=true) | join }}", "{{ state.words | sort | reverse | join }}", "{{ 'hello world' | title }}", "{{ 'hello' | list | join('.') }}",
		"{{ state.nope is defined }}{{ state.x is defined }}", "{{ 'x' if state.no else 'y' }}", "{{ state.nope | default('d') }}", "{{ 7 // 2 }}{{ 7 % 3 }}",
		"{{ 2 <= 2 }}{{ 2 >= 2 }}{{ 2 < 2 }}{{ 2 > 2 }}{{ 2 == 2 }}{{ 2 != 2 }}{{ 3 <= 2 }}{{ 2 >= 3 }}", "{{ 1.5 > 1 }}{{ 1.5 < 2 }}{{ 1 == 1.0 }}{{ 2 in [1, 2] }}{{ 'a' in 'ba' }}",
		"{{ state.x is number }}{{ state.s is number }}{{ state.s is string }}{{ state.o is mapping }}{{ state.list is sequence }}{{ 3 is divisibleby(3) }}{{ 4 is odd }}",
	} {
		want, err := byGonja(t, source)
		if err != nil {
			t.Errorf("%q: gonja: %v", source, err)
			continue
		}
		want = strings.NewReplacer("True", "true", "False", "false").Replace(want)
		if got, err := byUs(t, source); err != nil || got != want {
			t.Errorf("%q: got %q, %v, gonja says %q", source, got, err, want)
		}
	}
}

// Random templates of what both have, in types that fit: where gonja renders one
// so does this package, to the same text.
func TestRandomTemplatesRenderAsGonjaDoes(t *testing.T) {
	tried, compared := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		source := block(t, 3, nil) + "." // gonja drops the last newline
		tried++
		want, err := byGonja(t, source)
		if err != nil {
			t.Skip(err)
		}
		compared++
		want = strings.NewReplacer("True", "true", "False", "false").Replace(want)
		if got, err := byUs(t, source); err != nil || got != want {
			t.Fatalf("%s\ngot %q, %v\ngonja says %q", source, got, err, want)
		}
	})
	if compared*2 < tried {
		t.Errorf("only %d of %d templates were compared", compared, tried)
	}
}

func pick(t *rapid.T, list ...string) string { return rapid.SampledFrom(list).Draw(t, "pick") }

// block is a piece of a template; loops are the numbers that are in reach.
func block(t *rapid.T, depth int, loops []string) string {
	if depth == 0 {
		return pick(t, "text ", "\n", "{# c #}", "é")
	}
	inner := func() string { return block(t, depth-1, loops) }
	switch pick(t, "text", "number", "condition", "if", "for", "sequence", "set") {
	case "number":
		return "{{ " + integer(t, depth, loops) + " }}"
	case "condition":
		return "{{ 'y' if " + condition(t, depth, loops) + " else 'n' }}"
	case "if":
		between := pick(t, "", "{% elif "+condition(t, depth, loops)+" -%} "+inner())
		return "{% if " + condition(t, depth, loops) + " %}" + inner() + between + "{%- else %}" + inner() + "{% endif %}"
	case "for":
		name := "v" + strconv.Itoa(depth)
		body := block(t, depth-1, append(loops[:len(loops):len(loops)], name, "loop.index", "loop.index0"))
		return "{% for " + name + " in " + walked(t, depth, loops) + " %}" + body + pick(t, "", "{{ ',' if not loop.last }}", "{{ '-' if loop.first }}") +
			pick(t, "", " {%- else -%} "+inner()) + "{% endfor %}"
	case "sequence":
		return inner() + inner()
	case "set":
		return "{% set z = " + integer(t, depth, loops) + " %}{{ z }}" + inner()
	}
	return "{{ " + words(t, depth, loops) + " }}"
}

// walked is what a for tag walks. gonja's range can be nothing else.
func walked(t *rapid.T, depth int, loops []string) string {
	if list := pick(t, "range(3)", "range(1, 4)", "range(3, 0, -1)", ""); list != "" {
		return list
	}
	return numbers(t, depth, loops)
}

func integer(t *rapid.T, depth int, loops []string) string {
	if depth == 0 {
		return pick(t, append([]string{"0", "1", "2", "5", "state.x", "state.y", "state.list[0]", "state.list[-1]", "state.o.a", "state['y']"}, loops...)...)
	}
	inner := func() string { return integer(t, depth-1, loops) }
	switch pick(t, "leaf", "sum", "difference", "product", "quotient", "rest", "length", "extreme", "total", "words", "abs", "choice") {
	case "sum":
		return "(" + inner() + " + " + inner() + ")"
	case "difference":
		return "(" + inner() + " - " + inner() + ")"
	case "product":
		return "(" + inner() + " * " + inner() + ")"
	case "quotient":
		return "((" + inner() + " | abs) // " + pick(t, "1", "2", "7") + ")"
	case "rest":
		return "((" + inner() + " | abs) % " + pick(t, "1", "2", "7") + ")"
	case "length":
		return "(" + numbers(t, depth-1, loops) + " | length)"
	case "extreme":
		return "(state.list | " + pick(t, "min", "max", "first", "last") + ")"
	case "total":
		return "(" + numbers(t, depth-1, loops) + " | sum)"
	case "words":
		return "(" + words(t, depth-1, loops) + " | length)"
	case "abs":
		return "(" + inner() + " | abs)"
	case "choice":
		return "(" + inner() + ")"
	}
	return integer(t, 0, loops)
}

func condition(t *rapid.T, depth int, loops []string) string {
	if depth == 0 {
		return pick(t, "state.yes", "state.no", "true", "false", "state.nope is defined", "state.x is number", "state.s is string", "state.o is mapping")
	}
	switch pick(t, "leaf", "not", "and", "or", "compare", "in", "odd") {
	case "not":
		return "(not " + condition(t, depth-1, loops) + ")"
	case "and":
		return "(" + condition(t, depth-1, loops) + " and " + condition(t, depth-1, loops) + ")"
	case "or":
		return "(" + condition(t, depth-1, loops) + " or " + condition(t, depth-1, loops) + ")"
	case "compare":
		return "(" + integer(t, depth-1, loops) + pick(t, " == ", " != ", " < ", " > ", " <= ", " >= ") + integer(t, depth-1, loops) + ")"
	case "in":
		return "(" + integer(t, depth-1, loops) + " in " + numbers(t, depth-1, loops) + ")"
	case "odd":
		return "(" + integer(t, depth-1, loops) + " is even)" // gonja has -1 neither odd nor even
	}
	return condition(t, 0, loops)
}

func numbers(t *rapid.T, depth int, loops []string) string {
	if depth == 0 {
		return pick(t, "state.list", "[1, 2]", "[]", "(state.people | map(attribute='a') | list)")
	}
	of := numbers(t, depth-1, loops)
	switch pick(t, "leaf", "sort", "down", "reverse", "select", "unique", "literal", "list") {
	case "sort":
		return "(" + of + " | sort)"
	case "down":
		return "(" + of + " | sort(reverse=true))"
	case "reverse":
		return "(" + of + " | sort | reverse | list)" // gonja sorts what it reverses
	case "select":
		return "(" + of + " | " + pick(t, "select", "reject") + "('even') | list)"
	case "unique":
		return "(" + of + " | unique | list)"
	case "literal":
		return "[" + integer(t, depth-1, loops) + ", " + integer(t, depth-1, loops) + "]"
	case "list":
		return "(" + of + " | list)"
	}
	return numbers(t, 0, loops)
}

func words(t *rapid.T, depth int, loops []string) string {
	if depth == 0 {
		return pick(t, "state.s", "state.w", "state.e", "'it'", `"a-b c"`, "'x\\ny'", "state.words[1]")
	}
	of := words(t, depth-1, loops)
	switch pick(t, "leaf", "case", "trim", "replace", "join", "concat", "default", "number", "indent") {
	case "case":
		return "(" + of + " | " + pick(t, "upper", "lower", "capitalize", "title") + ")"
	case "trim":
		return "(" + of + " | trim)"
	case "replace":
		return "(" + of + " | replace('a', 'bb'))"
	case "join":
		return "(" + numbers(t, depth-1, loops) + " | join('" + pick(t, "", ",", "; ") + "'))"
	case "concat":
		return "(" + of + " ~ " + words(t, depth-1, loops) + ")"
	case "default":
		return "(state.nope | default(" + of + "))"
	case "number":
		return "(" + integer(t, depth-1, loops) + " | string)"
	case "indent":
		return "(" + of + " | indent(2))"
	}
	return words(t, 0, loops)
}
