package sdktest

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/reflectory/reflectory/sdk"
)

// scoreTolerance is how far a score may be from the expected one.
const scoreTolerance = 1e-6

// checkFixture asks a fixture's question and compares the answer.
func (s *suite) checkFixture(ctx context.Context, f Fixture) error {
	kind, err := s.kindOf(f)
	if err != nil {
		return err
	}
	a := answer{}
	p, err := s.prepare(ctx, kind, f.Config)
	switch {
	case err != nil:
		a.err = err
	case f.Request != nil:
		a = s.ask(ctx, sample{kind: kind, prepared: p, request: *f.Request})
	case f.Want.Error == "":
		return nil // only the config is tried
	}
	return f.Want.compare(a)
}

// compare describes how an answer differs from the expected one.
func (w Want) compare(a answer) error {
	if w.Error != "" {
		return w.compareError(a)
	}
	if a.err != nil {
		return a.err
	}
	var problems []error
	differs := func(what string, got, want any) {
		problems = append(problems, fmt.Errorf("%s is %v, want %v", what, got, want))
	}
	if (w.Valid != nil || w.Score != nil || w.Errors != nil) && a.Verdict == nil {
		return errors.New("it is no verdict")
	}
	if w.Valid != nil && a.Verdict.Valid != *w.Valid {
		differs("valid", a.Verdict.Valid, *w.Valid)
	}
	if w.Score != nil && math.Abs(a.Verdict.Score-*w.Score) > scoreTolerance {
		differs("score", a.Verdict.Score, *w.Score)
	}
	if w.Errors != nil {
		problems = append(problems, compareFindings(a.Verdict.Errors, w.Errors))
	}
	if len(w.Output) > 0 && !sameJSON(a.Output, w.Output) {
		differs("output", cut(string(a.Output)), cut(string(w.Output)))
	}
	return errors.Join(problems...)
}

func (w Want) compareError(a answer) error {
	switch {
	case a.err == nil:
		return fmt.Errorf("it answered %s, want the error %s", a, w.Error)
	case sdk.ReasonOf(a.err) != w.Error && string(sdk.CodeOf(a.err)) != w.Error:
		return fmt.Errorf("the error is %s, want %s: %w", sdk.ReasonOf(a.err), w.Error, a.err)
	}
	return nil
}

func compareFindings(got, want []sdk.Finding) error {
	if len(got) != len(want) {
		return fmt.Errorf("there are %d errors, want %d: %+v", len(got), len(want), got)
	}
	var problems []error
	for i, w := range want {
		g := got[i]
		for _, field := range []struct{ name, got, want string }{
			{"message", g.Message, w.Message}, {"path", g.Path, w.Path}, {"schema_path", g.SchemaPath, w.SchemaPath},
			{"code", g.Code, w.Code}, {"type", g.Type, w.Type}, {"severity", g.Severity, w.Severity}, {"source", g.Source, w.Source},
		} {
			if field.want != "" && field.got != field.want {
				problems = append(problems, fmt.Errorf("error %d: %s is %q, want %q", i+1, field.name, field.got, field.want))
			}
		}
	}
	return errors.Join(problems...)
}
