package run_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/sdk"
)

func TestAttempts_AreComparedByLines(t *testing.T) {
	long := func(suffix string) string {
		var lines []string
		for i := range 3000 {
			lines = append(lines, fmt.Sprint(i, suffix))
		}
		return string(jsontext.MustEncode(strings.Join(lines, "\n")))
	}
	for _, c := range []struct{ from, to, want string }{
		{`"a\nb\nc"`, `"a\nx\nc\n"`, " a|-b|+x| c"},
		{`"a"`, `"a"`, " a"},
		{``, `"a"`, "+a"},
		{`{"a":1,"b":2}`, `{"a":1,"b":3}`, ` {|   "a": 1,|-  "b": 2|+  "b": 3| }`},
		{`"x\na\nb"`, `"a\nb\ny"`, "-x| a| b|+y"},
		{`"a\nb\na\nb"`, `"b\na"`, "-a| b| a|-b"},
	} {
		d := run.DiffAttempts(&core.Attempt{Output: json.RawMessage(c.from)}, &core.Attempt{Output: json.RawMessage(c.to)})
		var got []string
		for _, l := range d.Output {
			got = append(got, map[string]string{run.SideBoth: " ", run.SideFrom: "-", run.SideTo: "+"}[l.Side]+l.Text)
		}
		if text := strings.Join(got, "|"); text != c.want {
			t.Errorf("%s and %s: %s, want %s", c.from, c.to, text, c.want)
		}
	}
	if d := run.DiffAttempts(&core.Attempt{Output: json.RawMessage(long("a"))}, &core.Attempt{Output: json.RawMessage(long("b"))}); len(d.Output) != 6000 {
		t.Errorf("texts without a line in common have %d lines", len(d.Output))
	}
}

func TestAttempts_AreComparedByErrors(t *testing.T) {
	a, b, c := sdk.Finding{Message: "a"}, sdk.Finding{Message: "b"}, sdk.Finding{Message: "c"}
	d := run.DiffAttempts(&core.Attempt{Iteration: 1, Errors: []sdk.Finding{a, b}}, &core.Attempt{Iteration: 2, Errors: []sdk.Finding{b, c}, Score: 0.5})
	if len(d.Fixed) != 1 || d.Fixed[0].Message != "a" || len(d.New) != 1 || d.New[0].Message != "c" || d.From.Iteration != 1 || d.To.Score != 0.5 {
		t.Errorf("%+v", d)
	}
}
