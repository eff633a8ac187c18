package sdktest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/reflectory/reflectory/sdk"
)

// maxAnswer is how large an answer may be.
const maxAnswer = 8 << 20

// checkAnswers checks every sample's answer against the contract's limits.
func (s *suite) checkAnswers(ctx context.Context) error {
	return s.each(func(q sample) error {
		a := s.ask(ctx, q)
		if a.err != nil {
			return a.err
		}
		return checkAnswer(q.kind, a)
	})
}

func checkAnswer(kind sdk.Kind, a answer) error {
	u := a.Usage
	switch {
	case min(u.TokensIn, u.TokensOut) < 0 || u.CostUSD < 0 || math.IsNaN(u.CostUSD) || math.IsInf(u.CostUSD, 0):
		return fmt.Errorf("its usage is %+v", u)
	case len(a.Output) > 0 && !json.Valid(a.Output):
		return fmt.Errorf("its output is not JSON: %s", cut(string(a.Output)))
	case kind != sdk.KindEvaluator && len(a.Output) == 0:
		return errors.New("it has no output")
	}
	size := len(a.Output)
	if a.Verdict != nil {
		if err := checkVerdict(*a.Verdict); err != nil {
			return err
		}
		size = len(encoded(a.Verdict))
	}
	if size > maxAnswer {
		return fmt.Errorf("it is %d bytes, over the cap of %d", size, maxAnswer)
	}
	return nil
}

func checkVerdict(v sdk.Verdict) error {
	if !(v.Score >= 0 && v.Score <= 1) {
		return fmt.Errorf("its score is %v", v.Score)
	}
	for _, f := range v.Errors {
		switch {
		case f.Message == "":
			return fmt.Errorf("a finding has no message: %+v", f)
		case !slices.Contains([]string{"", "error", "warning", "info"}, f.Severity):
			return fmt.Errorf("a finding's severity is %q", f.Severity)
		case f.Path != "" && f.Path[0] != '/':
			return fmt.Errorf("a finding's path %q is not a JSON Pointer", f.Path)
		}
	}
	for name, child := range v.Children {
		if err := checkVerdict(child); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// sameAsks is how often the same question is asked. If a plugin returns two findings in
// the order of a map, only one such plugin in 500 passes.
const sameAsks = 10

// checkSame asks everything many times. This is the only case that tests the order of
// findings and lists. So a plugin that returns them in the order of a map always fails
// here, rather than now and then elsewhere.
func (s *suite) checkSame(ctx context.Context) error {
	steady := 0
	err := s.each(func(q sample) error {
		if !q.steady {
			return nil
		}
		steady++
		first := s.ask(ctx, q)
		for range sameAsks - 1 {
			next := s.ask(ctx, q)
			if err := s.compare(q, first, next); err != nil {
				return err
			}
			if !same(first, next) {
				return fmt.Errorf("it answered %s, and then the same in another order: %s (sort what comes of a map)", first, next)
			}
		}
		return nil
	})
	if err == nil && steady == 0 {
		return skipped("the plugin asks for capabilities, or its fixtures vary")
	}
	return err
}

// compare compares the second answer with the first. If the question always has the
// same answer, they must be equal; otherwise the second must only be an answer.
func (s *suite) compare(q sample, first, second answer) error {
	if second.err != nil && first.err == nil {
		return second.err
	}
	if q.steady && !alike(first, second) {
		return fmt.Errorf("it answered %s, and then %s", first, second)
	}
	return nil
}

// checkKey asks the same step twice, as a run does after a crash.
func (s *suite) checkKey(ctx context.Context) error {
	return s.each(func(q sample) error {
		role := map[sdk.Kind]sdk.Role{
			sdk.KindEvaluator: sdk.RoleEvaluate, sdk.KindGenerator: sdk.RoleGenerate, sdk.KindCorrector: sdk.RoleCorrect,
		}[q.kind]
		q.call = sdk.Call{RunID: "sdktest", Node: "check", Iteration: 1, Role: role, IdempotencyKey: "sdktest/1/" + string(role)}
		first := s.ask(ctx, q)
		if first.err != nil {
			return first.err
		}
		return s.compare(q, first, s.ask(ctx, q))
	})
}

// checkBatch asks the samples of one config together, and then one by one.
func (s *suite) checkBatch(ctx context.Context) error {
	return s.each(func(q sample) error {
		batch := s.companions(q)
		ctx, cancel := context.WithTimeout(ctx, s.timeout)
		defer cancel()
		answers, err := askAll(ctx, q.kind, q.prepared, batch)
		if err != nil {
			return err
		}
		for i, a := range answers {
			if err := s.compare(batch[i], ask(ctx, batch[i]), a); err != nil {
				return fmt.Errorf("item %d of %d: %w", i+1, len(batch), err)
			}
		}
		return nil
	})
}

// companions are samples for one batch: three copies of one sample with all others of
// its kind and config between them.
func (s *suite) companions(q sample) []sample {
	batch := []sample{q}
	for _, other := range s.samples {
		if other.kind == q.kind && other.name != q.name && string(other.config) == string(q.config) {
			batch = append(batch, other)
		}
	}
	return append(batch, q, q)
}

// checkParallel lets callers ask different questions at the same time: twice as many
// callers as the plugin accepts, and at least eight.
func (s *suite) checkParallel(ctx context.Context) error {
	var expected []answer
	err := s.each(func(q sample) error {
		expected = append(expected, s.ask(ctx, q))
		return nil
	})
	if err != nil {
		return err
	}
	callers := max(8, min(64, 2*s.manifest.Parallel))
	errs := make([]error, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for j := range 4 {
				n := (i + j) % len(s.samples)
				q := s.samples[n]
				if err := s.compare(q, expected[n], s.ask(ctx, q)); err != nil {
					errs[i] = fmt.Errorf("%s, with %d callers: %w", q.name, callers, err)
					return
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// checkState adds keys to the state that a later host might send.
func (s *suite) checkState(ctx context.Context) error {
	return s.each(func(q sample) error {
		more := q
		state := map[string]json.RawMessage{}
		if len(q.request.State) > 0 && json.Unmarshal(q.request.State, &state) != nil {
			return fmt.Errorf("the state is not a JSON object: %s", cut(string(q.request.State)))
		}
		state["reflection_sdktest"] = json.RawMessage(`{"later":[1,null,"x"]}`)
		b, err := json.Marshal(state)
		if err != nil {
			return err
		}
		more.request.State = b
		return s.compare(q, s.ask(ctx, q), s.ask(ctx, more))
	})
}
