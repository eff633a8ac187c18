package sdktest

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/reflectory/reflectory/sdk"
)

const (
	// cancelTime is how long a cancelled call may continue: the second that the host
	// waits before it kills the instance, and another second.
	cancelTime = 2 * time.Second
	// manyConfigs is more than an instance keeps prepared (64, package sdk/wire).
	manyConfigs = 80
	// deep and large are within the contract's limits: JSON of 256 levels, and messages
	// of 8 MiB.
	deep  = 200
	large = 1 << 20
)

// inputs makes a case with unusual values for each kind of the plugin.
func inputs(values func() []string) func(*suite, context.Context) error {
	return func(s *suite, ctx context.Context) error {
		return s.eachKind(func(q sample) error { return s.checkInputs(ctx, q, values()) })
	}
}

// checkInputs asks with unusual values. Each value replaces the output, and is in the
// state.
func (s *suite) checkInputs(ctx context.Context, q sample, values []string) error {
	before := s.ask(ctx, q)
	for _, value := range values {
		for _, r := range []Request{
			{Output: json.RawMessage(value), State: q.request.State},
			{Output: q.request.Output, State: json.RawMessage(`{"text":` + value + `}`)},
		} {
			odd := q
			odd.request = r
			if err := survived(odd, s.ask(ctx, odd)); err != nil {
				return fmt.Errorf("asked with %s: %w", shown(value), err)
			}
			if err := s.compare(q, before, s.ask(ctx, q)); err != nil {
				return fmt.Errorf("after a call with %s: %w", shown(value), err)
			}
		}
	}
	return nil
}

// shown names a value by its beginning and its size, so that the plugin's message about
// it stays visible.
func shown(value string) string {
	const most = 40
	if len(value) <= most {
		return value
	}
	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(value[:most], ""), len(value))
}

// survived reports whether a plugin answered an unusual question, or refused it as a
// question that it can't answer.
func survived(q sample, a answer) error {
	refusals := []sdk.Code{sdk.Invalid, sdk.Exhausted, sdk.Denied, sdk.NotFound}
	if a.err == nil {
		return checkAnswer(q.kind, a)
	}
	if !slices.Contains(refusals, sdk.CodeOf(a.err)) {
		return fmt.Errorf("it failed as %q, where a refusal is invalid: %w", sdk.CodeOf(a.err), a.err)
	}
	return nil
}

func emptyInputs() []string { return []string{`""`, `null`, `{}`, `[]`, `false`, `{"":""}`} }

func textInputs() []string {
	return []string{
		`"\u0000"`, `"\ud83d\ude00 😀"`, `"\ud800"`, `"e\u0301\u202e\ufeff"`, `"\\\"\/\b\f\n\r\t"`, "\"\u2028\u2029\"",
		`{"ключ":"значение","鍵":["値"]}`,
	}
}

func numberInputs() []string {
	return []string{`0`, `-0`, `-1`, `1e308`, `1e-320`, `9007199254740993`, `123456789012345678901234567890`, `0.1`, `[1E+2]`}
}

func deepInputs() []string {
	return []string{
		strings.Repeat("[", deep) + strings.Repeat("]", deep),
		strings.Repeat(`{"a":`, deep) + "1" + strings.Repeat("}", deep),
	}
}

func largeInputs() []string {
	return []string{
		`"` + strings.Repeat("large text. ", large/12) + `"`,
		`"` + strings.Repeat("x", large) + `"`,
		`[` + strings.Repeat("1,", large/2) + `1]`,
	}
}

// checkCancel cancels calls before they begin and while they run. A large input gives
// the plugin something to do.
func (s *suite) checkCancel(ctx context.Context) error {
	return s.each(func(q sample) error {
		before := s.ask(ctx, q)
		big := q
		big.request.State = json.RawMessage(`{"text":` + largeInputs()[0] + `}`)
		for _, after := range []time.Duration{0, time.Millisecond, 20 * time.Millisecond} {
			if late := late(ctx, big, after); late > cancelTime {
				return fmt.Errorf("cancelled after %s, it went on for %s", after, late.Round(time.Millisecond))
			}
			if err := s.compare(q, before, s.ask(ctx, q)); err != nil {
				return fmt.Errorf("after a call that was cancelled: %w", err)
			}
		}
		return nil
	})
}

// late returns how long a call continues after it was cancelled. If this is too long,
// the call is tried twice more and the shortest time counts: a busy machine delays one
// call, but a plugin that ignores its context delays all of them.
func late(ctx context.Context, q sample, after time.Duration) time.Duration {
	shortest := time.Duration(math.MaxInt64)
	for try := 0; try < 3 && shortest > cancelTime; try++ {
		limited, cancel := context.WithCancel(ctx)
		timer := time.AfterFunc(after, cancel)
		if after == 0 {
			cancel()
		}
		began := time.Now()
		ask(limited, q)
		shortest = min(shortest, time.Since(began)-after)
		timer.Stop()
		cancel()
	}
	return shortest
}

// checkForgotten prepares more configs than an instance keeps, equal ones that
// differ in white space, and then uses the first.
func (s *suite) checkForgotten(ctx context.Context) error {
	return s.eachKind(func(q sample) error {
		before := s.ask(ctx, q)
		for i := range manyConfigs {
			padded := slices.Concat(q.config, []byte(strings.Repeat(" ", i+1)))
			if _, err := s.prepare(ctx, q.kind, padded); err != nil {
				return fmt.Errorf("config %d of %d, which differs in white space only: %w", i+1, manyConfigs, err)
			}
		}
		return s.compare(q, before, s.ask(ctx, q))
	})
}

// checkRestart uses a prepared config after a restart.
func (s *suite) checkRestart(ctx context.Context) error {
	subject, ok := s.subject.(SubjectWithRestart)
	if !ok {
		return skipped("the plugin runs in this process")
	}
	return s.each(func(q sample) error {
		before := s.ask(ctx, q)
		if err := subject.Restart(ctx); err != nil {
			return err
		}
		return s.compare(q, before, s.ask(ctx, q))
	})
}
