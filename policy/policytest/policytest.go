// Package policytest runs the test cases that are next to policies: the cases of
// gate/strict.yaml are in gate/strict_test.yaml. Each policy is tested alone, with the
// inputs that a case names and everything else empty. A report shows which conditions
// were true, and which were false, in some case.
//
// It is internal to Reflectory: its API may change in any release.
package policytest

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/policy"
	"github.com/reflectory/reflectory/policy/format"
	"github.com/reflectory/reflectory/policy/program"
	"github.com/reflectory/reflectory/sdk"
)

// tolerance is how much numbers may differ: the rounding of scores.
const tolerance = 1e-9

// Report is the result of the cases of one policy.
type Report struct {
	Policy   string    `json:"policy"`
	Suite    string    `json:"suite,omitempty"`
	Cases    int       `json:"cases"`
	Failures []Failure `json:"failures,omitempty"`
	// Coverage is by match: for the conditions, and the outputs without one.
	Coverage []Coverage `json:"coverage"`
}

// Failure is a case whose result isn't the expected one.
type Failure struct {
	Section string `json:"section"`
	Name    string `json:"name"`
	Line    int    `json:"line"`
	Message string `json:"message"`
}

// Coverage counts how often a match's condition was true and false.
type Coverage struct {
	program.Match
	Held   int `json:"held"`
	Failed int `json:"failed"`
}

// Covered reports whether the condition was both true and false, if it has one.
func (c Coverage) Covered() bool {
	return c.Held > 0 && (c.Failed > 0 || c.Condition == "" || c.Condition == "true")
}

// Passed reports whether every case gave the expected result.
func (r *Report) Passed() bool { return len(r.Failures) == 0 }

// Covered counts the matches that the cases cover completely.
func (r *Report) Covered() (covered, of int) {
	for _, c := range r.Coverage {
		if c.Covered() {
			covered++
		}
	}
	return covered, len(r.Coverage)
}

// Run reads the cases of a suite and runs them against a policy. The error is for a suite
// that can't be read.
func Run(ctx context.Context, p *policy.Policy, name string, text []byte) (*Report, error) {
	suite, found := format.ParseSuite(name, text)
	r := newReport(p)
	r.Suite = name
	for _, section := range suite.Sections {
		for _, c := range section.Cases {
			r.Cases++
			if message := r.run(ctx, p, c, found); message != "" {
				r.Failures = append(r.Failures, Failure{Section: section.Name, Name: c.Name, Line: c.At.Line, Message: message})
			}
		}
	}
	return r, found.Err()
}

func newReport(p *policy.Policy) *Report {
	r := &Report{Policy: p.File()}
	for _, m := range p.Conditions() {
		r.Coverage = append(r.Coverage, Coverage{Match: m})
	}
	return r
}

// run runs a case, and returns what is wrong with its result, or "".
func (r *Report) run(ctx context.Context, p *policy.Policy, c format.Case, found *format.Problems) string {
	inputs := map[string]any{}
	for _, in := range c.Inputs {
		inputs[in.Name] = value(ctx, p, in.Given, found)
	}
	want := value(ctx, p, c.Output, found)
	e, err := p.Evaluate(ctx, inputs)
	if err != nil {
		return err.Error()
	}
	for _, step := range e.Steps {
		for i := range r.Coverage {
			if r.Coverage[i].Path != step.Path {
				continue
			}
			if step.Holds {
				r.Coverage[i].Held++
			} else {
				r.Coverage[i].Failed++
			}
		}
	}
	if e.Failure != nil {
		return "the policy failed: " + e.Failure.Message
	}
	return differs(want, e)
}

func value(ctx context.Context, p *policy.Policy, g format.Given, found *format.Problems) any {
	if g.Expr != nil {
		return p.Constant(ctx, g.Expr, found)
	}
	return g.Value
}

// differs describes how an output differs from the expected one. A case names only the
// fields that it checks.
func differs(want any, e policy.Evaluation) string {
	fields, isRecord := want.(map[string]any)
	switch {
	case want == nil && e.Decided:
		return fmt.Sprintf("got %s by %s, want no output", text(e.Output), e.Path)
	case want == nil:
		return ""
	case !e.Decided:
		return fmt.Sprintf("got no output, want %s", text(want))
	case !isRecord:
		return fmt.Sprintf("want %s, which isn't a record of fields", text(want))
	}
	var wrong []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !Same(e.Output[name], fields[name]) {
			wrong = append(wrong, fmt.Sprintf("%s is %s, want %s", name, text(e.Output[name]), text(fields[name])))
		}
	}
	if len(wrong) == 0 {
		return ""
	}
	return strings.Join(wrong, "; ") + " (by " + e.Path + ")"
}

func text(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(out)
}

// Same reports whether two values are the same, numbers of any type within 1e-9.
func Same(a, b any) bool {
	x, xNumber := number(a)
	y, yNumber := number(b)
	if xNumber && yNumber {
		return math.Abs(x-y) <= tolerance
	}
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, Same)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, Same)
	}
	return reflect.DeepEqual(a, b)
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	}
	return 0, false
}

// Folder tests every policy of a folder, sorted by name. A policy without cases has a
// report without a suite; cases without a policy are an error.
func Folder(ctx context.Context, points *policy.Points, folder fs.FS) ([]*Report, error) {
	set, err := points.Load(folder)
	if err != nil {
		return nil, err
	}
	suites, err := points.Suites(folder)
	if err != nil {
		return nil, err
	}
	var reports []*Report
	for _, p := range set.Files() {
		name := policy.SuiteName(p.File())
		cases, tested := suites[name]
		delete(suites, name)
		if !tested {
			reports = append(reports, newReport(p))
			continue
		}
		report, err := Run(ctx, p, name, cases)
		if err != nil {
			return nil, err
		}
		reports = append(reports, report)
	}
	if orphans := slices.Sorted(maps.Keys(suites)); len(orphans) > 0 {
		return nil, orphaned(orphans[0])
	}
	return reports, nil
}
func orphaned(name string) error {
	return sdk.Errorf(sdk.Invalid, "policy_cases_orphaned", "%s has cases for a policy that doesn't exist", name).
		WithHint("name it after the policy next to it: strict_test.yaml tests strict.yaml")
}
