package policytest_test

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/reflectory/reflectory/policy"
	"github.com/reflectory/reflectory/policy/policytest"
	"github.com/reflectory/reflectory/sdk"
)

const routing = `rule:
  match:
    - condition: score > 0.5
      output: '{"confidence": "high"}'
    - condition: score > 0.25
      rule:
        match:
          - condition: lead > 0.1
            output: '{"confidence": "medium"}'
    - condition: candidates > 5
      output: '{"confidence": state}'
`

func folder(files ...string) fstest.MapFS {
	fs := fstest.MapFS{}
	for i := 0; i < len(files); i += 2 {
		fs[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	return fs
}

func run(t *testing.T, cases string) *policytest.Report {
	t.Helper()
	text := strings.ReplaceAll(routing, `{"confidence": state}`, `{"confidence": ["low"][candidates - 6]}`)
	reports, err := policytest.Folder(context.Background(), policy.AllPoints(), folder("routing/a.yaml", text, "routing/a_test.yaml", cases))
	if err != nil {
		t.Fatal(err)
	}
	return reports[0]
}

func TestCasesSayWhatTheyMiss(t *testing.T) {
	for name, test := range map[string]struct{ input, output, want string }{
		"an output":               {"{score: 0.6}", "{value: {confidence: high}}", ""},
		"an expression":           {"{score: {expr: 0.5 + 0.1}}", `{expr: '{"confidence": "hi" + "gh"}'}`, ""},
		"the older form":          {"{score: 0.6}", `'{"confidence": "high"}'`, ""},
		"no output":               {"{score: 0.3}", "{expr: optional.none()}", ""},
		"another output":          {"{score: 0.6}", "{value: {confidence: low}}", `confidence is "high", want "low" (by match[0])`},
		"an output, not none":     {"{score: 0.6}", "{expr: optional.none()}", `got {"confidence":"high"} by match[0], want no output`},
		"none, not an output":     {"{score: 0.3}", "{value: {confidence: low}}", `got no output, want {"confidence":"low"}`},
		"a value that is no map":  {"{score: 0.6}", "{value: high}", `want "high", which isn't a record of fields`},
		"an input that isn't one": {"{scor: 0.6}", "{value: {confidence: high}}", `point routing has no input "scor"`},
		"an input of other type":  {"{score: high}", "{value: {confidence: high}}", "the input score must be double, not string"},
		"a policy that fails":     {"{candidates: 9}", "{value: {confidence: low}}", "the policy failed: "},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, "section: [{name: s, tests: [{name: c, input: "+test.input+", output: "+test.output+"}]}]")
			switch {
			case r.Cases != 1 || r.Passed() != (test.want == ""):
				t.Errorf("got %+v", r)
			case !r.Passed() && !strings.HasPrefix(r.Failures[0].Message, test.want):
				t.Errorf("got %q", r.Failures[0].Message)
			}
		})
	}
}

func TestCoverageCountsBothWays(t *testing.T) {
	r := run(t, `section: [{name: s, tests: [
  {name: high, input: {score: 0.6}, output: {value: {confidence: high}}},
  {name: medium, input: {score: 0.3, lead: 0.2}, output: {value: {confidence: medium}}}]}]`)
	got := ""
	for _, c := range r.Coverage {
		got += strings.Join([]string{c.Path, strings.Repeat("+", c.Held), strings.Repeat("-", c.Failed), ""}, " ")
	}
	if want := "match[0] + - match[1] +  match[1].match[0] +  match[2]   "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if covered, of := r.Covered(); covered != 1 || of != 4 {
		t.Errorf("%d of %d", covered, of)
	}
}

func TestAFolderReportsWhatCantBeTested(t *testing.T) {
	good := strings.ReplaceAll(routing, `"confidence": state`, `"confidence": "low"`)
	for name, test := range map[string]struct {
		files []string
		want  string
	}{
		"cases of no policy":     {[]string{"routing/a.yaml", good, "routing/b_test.yaml", "section: []"}, "policy_cases_orphaned"},
		"cases that can't be":    {[]string{"routing/a.yaml", good, "routing/a_test.yaml", "sections: []"}, "policy_invalid"},
		"an expression that bad": {[]string{"routing/a.yaml", good, "routing/a_test.yaml", "section: [{name: s, tests: [{name: c, output: {expr: score}}]}]"}, "policy_invalid"},
		"a policy that can't be": {[]string{"routing/a.yaml", routing}, "policy_invalid"},
	} {
		_, err := policytest.Folder(context.Background(), policy.AllPoints(), folder(test.files...))
		if sdk.ReasonOf(err) != test.want || sdk.AsError(err).Hint == "" {
			t.Errorf("%s: got %v", name, err)
		}
	}
	reports, err := policytest.Folder(context.Background(), policy.AllPoints(), folder("routing/a.yaml", good))
	if err != nil || len(reports) != 1 || reports[0].Suite != "" || len(reports[0].Coverage) != 4 {
		t.Errorf("a policy without cases: got %+v, %v", reports, err)
	}
}
