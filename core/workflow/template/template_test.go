package template_test

import (
	"os"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/workflow/template"
	"github.com/reflectory/reflectory/sdk"
)

func TestMain(m *testing.M) { os.Exit(coretest.WithPlain(m).Run()) }

const world = `{"x":1,"big":9007199254740993,"u":18446744073709551615,"f":1.5,"s":"a<b","t":"{{ state.x }}","n":null,"yes":true,
	"list":[3,1,2],"errors":[{"message":"name"},{"message":"email"}],"o":{"b":2,"a":1},"empty":[],"odd":["a\"{,:\\","[]"]}`

func scope(t testing.TB) map[string]any {
	v, err := jsontext.Decode([]byte(world))
	if err != nil {
		t.Fatal(err)
	}
	return map[string]any{"state": v}
}

func compile(t testing.TB, source string) *template.Template {
	t.Helper()
	c, problems := template.Compile(source, []string{"state"})
	if len(problems) > 0 {
		t.Fatalf("%q: %+v", source, problems)
	}
	return c
}

func TestTextRenders(t *testing.T) {
	for source, want := range map[string]string{
		"plain":                         "plain",
		"a {{ state.x }} b\n":           "a 1 b\n",
		"{{ state.s }}":                 "a<b",
		"{{ state.s | json }}":          `"a<b"`,
		"{{ state.o }}":                 `{"a":1,"b":2}`,
		"{{ state.n }} {{ state.yes }}": "null true",
		"{{ state.big }} {{ state.u }}": "9007199254740993 18446744073709551615",
		"{{ state.f + 1 }}":             "2.5",
		"{{ 7 // 2 }} {{ -7 // 2 }} {{ 7 % -2 }} {{ 7 / 2 }} {{ 2 ** 10 }}": "3 -4 -1 3.5 1024",
		"{{ state.t }}": "{{ state.x }}",
		"{{ state['o']['a'] }}{{ state.list[0] }}{{ state.list[-1] }}{{ state.list.1 }}":      "1321",
		"{{ state.list[1:] }} {{ state.s[:1] }}":                                              "[1,2] a",
		"{{ state.nope | default('d') }} {{ state.nope.deep | d(2) }}":                        "d 2",
		"{% if state.nope is defined %}a{% elif state.x > 1 %}b{% else %}c{% endif %}":        "c",
		"{% for e in state.errors %}{{ loop.index }}. {{ e.message }}\n{% endfor %}":          "1. name\n2. email\n",
		"{% for k, v in state.o %}{{ k }}={{ v }};{% endfor %}":                               "a=1;b=2;",
		"{% for e in state.list if e > 1 %}{{ e }}{% endfor %}":                               "32",
		"{% for e in state.empty %}x{% else %}none{% endfor %}":                               "none",
		"{% set y = state.x + 1 %}{{ y }}":                                                    "2",
		"{% raw %}{{ x }}{% endraw %}":                                                        "{{ x }}",
		"a{# a comment #}b":                                                                   "ab",
		"a  {{- ' b ' -}}  c":                                                                 "a b c",
		"{{ 'a' if state.yes else 'b' }}{{ 'z' if not state.yes }}":                           "a",
		"{{ state.errors | map(attribute='message') | join(', ') }}":                          "name, email",
		"{{ state.list | sort | json }} {{ state.list | max }} {{ state.list | length }}":     "[1,2,3] 3 3",
		"{{ 'b' in state.s }} {{ 9 not in state.list }} {{ 'a' in state.o }}":                 "true true true",
		"{{ state.big == 9007199254740992 }} {{ 1 == 1.0 }} {{ state.list == [3, 1, 2] }}":    "false true true",
		"{{ 'a' ~ 1 ~ none }} {{ 'a' + 'b' }} {{ [1] + [2] }} {{ {'k': [1, none]} }}":         "a1null ab [1,2] {\"k\":[1,null]}",
		"{{ state.s | upper | replace('<', '-') | truncate(2) }}":                             "A-…",
		"{{ 'a' and '' or 'c' }}":                                                             "c",
		"{{ ' x ' | trim | capitalize }}{{ 2.567 | round(1) }}{{ '4' | int }}{{ 3.9 | int }}": "X2.643",
	} {
		got, err := compile(t, source).Text(scope(t))
		if err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", source, got, err, want)
		}
	}
}

func TestSingleExpressionKeepsItsType(t *testing.T) {
	for source, want := range map[string]string{
		"{{ state.o }}":              `{"a":1,"b":2}`,
		"{{ state.x }}":              "1",
		"{{state.big}}":              "9007199254740993",
		"{{ state.s }}":              `"a<b"`,
		"{{ state.n }}":              "null",
		"{{ state.x }} ":             `"1 "`,
		"{{ state.x }}{{ state.x }}": `"11"`,
		"{{ state.o | json }}":       `"{\"a\":1,\"b\":2}"`,
		"{{ 1 if state.n }}":         "null",
	} {
		got, err := compile(t, source).JSON(scope(t))
		if err != nil || string(got) != want {
			t.Errorf("%q: got %s, %v, want %s", source, got, err, want)
		}
	}
}

func TestRenderingFails(t *testing.T) {
	for source, test := range map[string]struct{ reason, text, hint string }{
		"{{ state.nope }}":                   {"template_undefined", "state.nope is not defined", "default"},
		"{{ state.nope.deep.er }}":           {"template_undefined", "state.nope is not defined", ""},
		"{{ state.o.aa }}":                   {"template_undefined", "state.o.aa is not defined", `did you mean "a"?`},
		"{{ state.errrs }}":                  {"template_undefined", "state.errrs", `did you mean "errors"?`},
		"{{ state.list[7] }}":                {"template_undefined", "state.list[7]", ""},
		"{{ state['no'] | upper }}":          {"template_undefined", `state["no"]`, ""},
		"{{ state.n.x }}":                    {"template_undefined", "state.n.x", ""},
		"{{ 1 + 'a' }}":                      {"template_failed", "a number and text", ""},
		"{{ 1 / 0 }}":                        {"template_failed", "division by zero", ""},
		"{{ 'a' * 3 }}":                      {"template_failed", "text and a number", ""},
		"{{ 9223372036854775807 + 1 }}":      {"template_failed", "out of range", ""},
		"{{ 10 ** 400 }}":                    {"template_failed", "out of range", ""},
		"{{ 1 < 'a' }}":                      {"template_failed", "no order", ""},
		"{{ state.x | upper }}":              {"template_failed", "needs text", ""},
		"{% for a in state.x %}{% endfor %}": {"template_failed", "can't walk a number", ""},
	} {
		_, err := compile(t, source).Text(scope(t))
		if sdk.ReasonOf(err) != test.reason || !strings.Contains(err.Error(), test.text) || !strings.Contains(sdk.AsError(err).Hint, test.hint) {
			t.Errorf("%q: got %v (hint %q)", source, err, sdk.AsError(err).Hint)
		}
	}
}

func TestHostileTemplatesEnd(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	long := make([]any, 2000)
	for i := range long {
		long[i] = int64(i)
	}
	vars := map[string]any{"state": map[string]any{"l": long, "s": strings.Repeat("x", 1<<20)}}
	for name, source := range map[string]string{
		"nested loops":      "{% for a in state.l %}{% for b in state.l %}{% for c in state.l %}x{% endfor %}{% endfor %}{% endfor %}",
		"doubling text":     strings.Repeat("{% set x = (x | default('xxxxxxxx')) ~ (x | default('xxxxxxxx')) %}", 60) + "{{ x }}",
		"doubling lists":    "{% set x = [1] %}" + strings.Repeat("{% set x = [x, x] %}", 60) + "{{ x }}",
		"deep lists":        "{% set x = [1] %}" + strings.Repeat("{% set x = [x] %}", 500) + "{{ x | json }}",
		"much output":       "{% for a in state.l %}{{ state.s }}{% endfor %}",
		"cutting long text": "{% for a in state.l %}{{ state.s | truncate(1) }}{% endfor %}",
		"trimming it":       "{% for a in state.l %}{{ (state.s ~ a) | trim | length }}{% endfor %}",
		"comparing it":      "{% for a in state.l %}{{ state.s < state.s }}{% endfor %}",
		"costly conversion": "{% for a in state.l %}{% for b in state.l %}{% set y = state.l | json %}{% endfor %}{% endfor %}",
	} {
		_, err := compile(t, source).Text(vars)
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestALongChainIsNamedShort(t *testing.T) {
	for _, source := range []string{
		"{{ state.zz" + strings.Repeat(".a", 50_000) + " }}",
		"{{ state['" + strings.Repeat("z", 100_000) + "'] }}",
	} {
		_, err := compile(t, source).Text(scope(t))
		if sdk.ReasonOf(err) != "template_undefined" || len(err.Error()) > 300 {
			t.Errorf("got %.500v", err)
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	for source, test := range map[string]struct {
		offset  int
		message string
	}{
		"a {{ stat.x }}":                       {5, `"stat"`},
		"{{ output }}":                         {3, `"output"`},
		"{{ state.x | jsn }}":                  {13, `no filter "jsn"`},
		"{{ state.x is dfined }}":              {14, `no test "dfined"`},
		"{% include 'x' %}":                    {11, "no tag {% include %}"},
		"{% import 'x' as y %}":                {10, "import"},
		"{% extends 'x' %}":                    {11, "extends"},
		"{{ state.x":                           {10, ""},
		"{{ }}":                                {3, ""},
		"{% if state.x %}":                     {16, ""},
		"{% for x state.l %}{% endfor %}":      {7, "in"},
		"{{ state.x | default(1, 2, 3) }}":     {13, "takes 0 to 2"},
		"{{ state.x | replace('a', nw='b') }}": {13, "no further argument"},
		"{{ 'abc }}":                           {10, ""},
		"{{ " + strings.Repeat("(", 100) + "1" + strings.Repeat(")", 100) + " }}": {53, "too deeply"},
		strings.Repeat("{% if state.x %}", 100):                                   {803, "too deeply"},
		strings.Repeat("x", template.MaxSource+1):                                 {0, "bytes, more than"},
	} {
		c, problems := template.Compile(source, []string{"state"})
		if c != nil || len(problems) == 0 {
			t.Errorf("%.40q compiled", source)
			continue
		}
		if p := problems[0]; !strings.Contains(p.Message, test.message) || p.Offset != test.offset {
			t.Errorf("%.40q: got %+v", source, p)
		}
	}
}

func TestCompileReportsNoMoreThanAnErrorLists(t *testing.T) {
	if _, problems := template.Compile(strings.Repeat("{{a}}", 50_000), []string{"state"}); len(problems) != 100 {
		t.Errorf("got %d problems", len(problems))
	}
}

func TestCompileReportsAllUnknownNames(t *testing.T) {
	_, problems := template.Compile("{{ sttae.x }} {{ y | upcase }}", []string{"state"})
	if len(problems) != 3 || problems[0].Hint != `did you mean "state"?` {
		t.Fatalf("got %+v", problems)
	}
}

func FuzzTemplate(f *testing.F) {
	for _, seed := range []string{
		"a {{ state.x | json }} b", "{% for k, v in state.o if v %}{{ loop.index }}{% else %}{% endfor %}",
		"{% if state.x in [1] %}{% elif not 1 %}{% endif %}", "{% set a = {'b': (1, 2)} %}{{ a.b[0:1] }}",
		"{% raw %}{{{% endraw %}{#- x -#}", "{{ 'a' if b else -c ** 2 // 3 is defined }}", "{{ x|f(in", "{{ (", "{{ a.b(c=1) }}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		c, problems := template.Compile(source, []string{"state"})
		for _, p := range problems {
			if p.Message == "" || p.Offset < 0 || p.Offset > len(source) {
				t.Fatalf("%q: %+v", source, p)
			}
		}
		if c == nil {
			return
		}
		data, err := c.JSON(scope(t))
		if err != nil {
			if sdk.CodeOf(err) == sdk.Internal {
				t.Fatalf("%q: %v", source, err)
			}
			return
		}
		if _, err := jsontext.Decode(data); err != nil {
			t.Fatalf("%q: %s: %v", source, data, err)
		}
	})
}
