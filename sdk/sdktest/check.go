package sdktest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/reflectory/reflectory/sdk"
)

// Status is how a case ended.
type Status string

// The possible results of a case.
const (
	Passed  Status = "passed"
	Failed  Status = "failed"
	Skipped Status = "skipped"
)

// Result is one case's outcome.
type Result struct {
	// Case is the case's name, such as "batch" or "tests/too-long.json".
	Case string `json:"case"`
	// Rule is the sentence of the contract that the case checks.
	Rule string `json:"rule"`
	// Status is how it ended.
	Status Status `json:"status"`
	// Detail describes what was found, or why the case was skipped.
	Detail string `json:"detail,omitempty"`
}

// Options set up [Check]. The zero value of each field is its default.
type Options struct {
	// Timeout limits each call. Default 30 s, the contract's own.
	Timeout time.Duration
	// Report, if set, gets each result as soon as it is known.
	Report func(Result)
}

// Check runs every case on a plugin and returns the results in the order of the cases.
// Load reads the fixtures. Every failure of the plugin is a result; if it can't be
// started, this is the result of the first case.
func Check(ctx context.Context, subject Subject, fixtures []Fixture, o Options) []Result {
	if o.Timeout == 0 {
		o.Timeout = 30 * time.Second
	}
	if o.Report == nil {
		o.Report = func(Result) {}
	}
	s := &suite{subject: subject, fixtures: fixtures, timeout: o.Timeout}
	var results []Result
	for _, c := range s.cases() {
		r := Result{Case: c.name, Rule: c.rule, Status: Passed}
		if err := c.run(s, ctx); err != nil {
			r.Status, r.Detail = Failed, err.Error()
			if _, ok := errors.AsType[skip](err); ok {
				r.Status = Skipped
			}
		}
		o.Report(r)
		results = append(results, r)
	}
	return results
}

// T is the part of *testing.T that [Run] needs.
type T interface {
	Helper()
	Context() context.Context
	Errorf(format string, args ...any)
}

// Run checks a plugin within a Go test, with the fixtures of the package's
// folder. Each failed case is an error of the test.
func Run(t T, subject Subject, dir fs.FS) {
	t.Helper()
	fixtures, err := Load(dir)
	if err != nil {
		t.Errorf("%v", err)
		return
	}
	for _, r := range Check(t.Context(), subject, fixtures, Options{}) {
		if r.Status == Failed {
			t.Errorf("%s: %s\n\trule: %s", r.Case, r.Detail, r.Rule)
		}
	}
}

// suite is one run of all cases on one plugin. Earlier cases collect what later ones
// need.
type suite struct {
	subject  Subject
	fixtures []Fixture
	timeout  time.Duration
	manifest *sdk.Manifest
	samples  []sample
}

// contractCase is one case: a rule and how it is tested.
type contractCase struct {
	name, rule string
	run        func(*suite, context.Context) error
}

// cases lists every case in order: the plugin's description of itself, the fixtures,
// then the cases for all plugins.
func (s *suite) cases() []contractCase {
	list := []contractCase{
		{"manifest", "Describe answers with a valid manifest.", (*suite).checkManifest},
		{"config/taken", "A config that the fixtures use is prepared.", (*suite).checkConfigs},
		{"config/refused", "A config that the plugin's own schema refuses is refused as invalid.", (*suite).checkRefusals},
	}
	for _, f := range s.fixtures {
		list = append(list, contractCase{f.Name, "The fixture's request gets the answer that it wants.", func(s *suite, ctx context.Context) error {
			return s.checkFixture(ctx, f)
		}})
	}
	return append(list, []contractCase{
		{"answer", "Scores lie in [0,1], outputs are JSON, findings have messages, usage is finite.", (*suite).checkAnswers},
		{"same", "The same request gets the same verdict, unless the plugin asks for capabilities.", (*suite).checkSame},
		{"key", "A request whose idempotency key was seen before is answered again.", (*suite).checkKey},
		{"batch", "A batch of N requests gets N answers, in order, equal to the answers of N calls.", (*suite).checkBatch},
		{"parallel", "Calls that are made at the same time each get their own answer.", (*suite).checkParallel},
		{"state", "Unknown keys of the state are ignored.", (*suite).checkState},
		{"input/empty", "Empty values are answered or refused, and the next call is answered.", inputs(emptyInputs)},
		{"input/text", "Any Unicode text is answered or refused, and the next call is answered.", inputs(textInputs)},
		{"input/number", "Any number is answered or refused, and the next call is answered.", inputs(numberInputs)},
		{"input/deep", "Values that nest 200 deep are answered or refused, and the next call is answered.", inputs(deepInputs)},
		{"input/large", "Values of 1 MB are answered or refused, and the next call is answered.", inputs(largeInputs)},
		{"cancel", "A call that is cancelled ends within two seconds, and the next one is answered.", (*suite).checkCancel},
		{"forgotten", "A plugin that no longer knows a config says so, and is sent it again.", (*suite).checkForgotten},
		{"restart", "A plugin that was restarted takes a call that brings its config.", (*suite).checkRestart},
	}...)
}

// skip is the error of a case that can't be run.
type skip struct{ error }

func skipped(why string) error { return skip{errors.New(why)} }

// ask asks a sample's question within the time limit of one call.
func (s *suite) ask(ctx context.Context, q sample) answer {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return ask(ctx, q)
}

// each runs f on every sample until one fails. Without samples the case is
// skipped.
func (s *suite) each(f func(sample) error) error {
	if len(s.samples) == 0 {
		return skipped("no request is known that the plugin answers: add tests/NAME.json")
	}
	for _, q := range s.samples {
		if err := f(q); err != nil {
			return fmt.Errorf("%s: %w", q.name, err)
		}
	}
	return nil
}

// eachKind runs f on the first sample of each kind until one fails. Without samples the
// case is skipped.
func (s *suite) eachKind(f func(sample) error) error {
	tried := map[sdk.Kind]bool{}
	return s.each(func(q sample) error {
		if tried[q.kind] {
			return nil
		}
		tried[q.kind] = true
		return f(q)
	})
}
