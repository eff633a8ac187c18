package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/loop"
	"github.com/reflectory/reflectory/sdk"
)

// world answers by what it is asked only, so that an interrupted loop and a
// resumed one meet the same answers.
type world struct {
	generated int
	fail      map[string]bool // idempotency keys that fail
}

func (w *world) options(limits loop.Limits) *loop.Options {
	return &loop.Options{
		Generator: sdk.GeneratorFunc(func(_ context.Context, req *sdk.GenerateRequest) (*sdk.GenerateResponse, error) {
			w.generated++
			if w.fail[req.IdempotencyKey] {
				return nil, errors.New("no output")
			}
			return &sdk.GenerateResponse{Output: stateDigest(req.State), Usage: sdk.Usage{TokensIn: 3}}, nil
		}),
		Corrector: sdk.CorrectorFunc(func(_ context.Context, req *sdk.CorrectRequest) (*sdk.CorrectResponse, error) {
			if w.fail[req.IdempotencyKey] {
				return nil, errors.New("no idea")
			}
			output := json.RawMessage(fmt.Sprintf(`{"try":%s}`, stateDigest(req.State)))
			return &sdk.CorrectResponse{Output: output, Usage: sdk.Usage{TokensIn: 5}}, nil
		}),
		Evaluator: sdk.EvaluatorFunc(func(_ context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
			n := req.Iteration
			v := sdk.Verdict{Score: float64(n) / 10, Errors: []sdk.Finding{{Message: fmt.Sprintf("error %d of %s", n, stateDigest(req.State))}}}
			if n == 4 {
				v.Output = json.RawMessage(`"parsed"`)
			}
			return &sdk.EvaluateResponse{Verdict: v, Usage: sdk.Usage{TokensOut: 2}}, nil
		}),
		Limits: limits, RunID: "run", State: json.RawMessage(`{"a":1}`),
	}
}

// stateDigest makes an output depend on all that the state shows.
func stateDigest(state json.RawMessage) json.RawMessage {
	return jsontext.MustEncode(core.Digest(state)[:15])
}

// tape records what the loop recorded, and fails at one record to interrupt it.
type tape struct {
	attempts []core.Attempt
	records  int
	failAt   int
}

var errPower = errors.New("power lost")

func (r *tape) RecordOutput(ctx context.Context, a *core.Attempt) error { return r.keep(ctx, *a) }

func (r *tape) RecordVerdict(ctx context.Context, a *core.Attempt) error { return r.keep(ctx, *a) }

func (r *tape) keep(ctx context.Context, a core.Attempt) error {
	if r.records++; r.records == r.failAt {
		return errPower
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	a.Errors = slices.Clone(a.Errors)
	if n := len(r.attempts); n > 0 && r.attempts[n-1].Iteration == a.Iteration {
		r.attempts = r.attempts[:n-1]
	}
	r.attempts = append(r.attempts, a)
	return nil
}

func TestALoopInterruptedAtAnyRecordResumesToTheSameResult(t *testing.T) {
	limits := map[string]loop.Limits{
		"replace":    {MaxIterations: 6},
		"regenerate": {MaxIterations: 6, CorrectMode: loop.CorrectRegenerate},
		"budget":     {MaxIterations: 9, BudgetTokens: 30},
	}
	failures := []map[string]bool{
		nil,
		{"run/1/generate": true, "run/2/correct": true, "run/4/correct": true},
		{"run/3/correct": true},
	}
	for name, l := range limits {
		for i, fail := range failures {
			t.Run(fmt.Sprintf("%s/%d", name, i), func(t *testing.T) {
				whole := &tape{}
				want, _ := runTaped(t, &world{fail: fail}, l, whole, nil)
				for at := 1; at <= whole.records; at++ {
					interruptAndResume(t, fail, l, at, want)
				}
			})
		}
	}
}

func interruptAndResume(t *testing.T, fail map[string]bool, l loop.Limits, at int, want *core.LoopResult) {
	t.Helper()
	w, cut := &world{fail: fail}, &tape{failAt: at}
	if _, err := runTaped(t, w, l, cut, nil); !errors.Is(err, errPower) {
		t.Fatalf("record %d: the loop went on without its record: %v", at, err)
	}
	got, _ := runTaped(t, w, l, &tape{attempts: cut.attempts}, cut.attempts)
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(core.RunUsage{}, "WallMillis")); diff != "" {
		t.Errorf("record %d: resumed otherwise (-whole +resumed):\n%s", at, diff)
	}
}

func runTaped(t *testing.T, w *world, l loop.Limits, r *tape, done []core.Attempt) (*core.LoopResult, error) {
	t.Helper()
	o := w.options(l)
	o.Recorder, o.Done = r, slices.Clone(done)
	result, err := loop.Run(t.Context(), o)
	if result == nil {
		t.Fatal(err)
	}
	return result, err
}

func TestACrashDuringEvaluationPaysForNoSecondGeneration(t *testing.T) {
	w, cut := &world{}, &tape{failAt: 2}
	_, _ = runTaped(t, w, loop.Limits{MaxIterations: 1}, cut, nil)
	_, _ = runTaped(t, w, loop.Limits{MaxIterations: 1}, &tape{}, cut.attempts)
	if w.generated != 1 {
		t.Errorf("generated %d times", w.generated)
	}
}

func TestALoopThatOnlyLacksTheRecordOfItsEndAsksNobodyAnything(t *testing.T) {
	for name, c := range map[string]struct {
		limits loop.Limits
		last   core.Attempt
		want   core.StopReason
	}{
		"passed":   {loop.Limits{}, core.Attempt{Accepted: true, Valid: true}, core.StopValid},
		"limit":    {loop.Limits{MaxIterations: 1}, core.Attempt{}, core.StopMaxIterations},
		"budget":   {loop.Limits{BudgetTokens: 3}, core.Attempt{Usage: sdk.Usage{TokensIn: 3}}, core.StopBudget},
		"timeout":  {loop.Limits{Timeout: time.Second}, core.Attempt{ActiveMillis: 1000}, core.StopTimeout},
		"own rule": {loop.Limits{StopWhen: scoreRule("0")}, core.Attempt{}, core.StopWhen},
	} {
		o := (&world{}).options(c.limits)
		watch(o, func(key string) { t.Errorf("%s: it asked %s", name, key) })
		c.last.Iteration, c.last.Output, c.last.Judged = 1, json.RawMessage(`1`), true
		o.Done = []core.Attempt{c.last}
		if r, err := loop.Run(t.Context(), o); err != nil || r.StopReason != c.want || len(r.History) != 1 {
			t.Errorf("%s: %s, %v", name, r.StopReason, err)
		}
	}
}

func TestACancelledLoopRecordsWhatWasPaidFor(t *testing.T) {
	for _, role := range []sdk.Role{sdk.RoleGenerate, sdk.RoleEvaluate} {
		ctx, cancel := context.WithCancel(t.Context())
		record := &tape{}
		o := (&world{}).options(loop.Limits{})
		o.Recorder = record
		watch(o, func(key string) {
			if strings.HasSuffix(key, string(role)) {
				cancel() // the answer comes all the same
			}
		})
		r, err := loop.Run(ctx, o)
		if r.Status != core.StatusCancelled || len(record.attempts) != 1 || record.attempts[0].Judged != (role == sdk.RoleEvaluate) {
			t.Errorf("cancelled in %s: %s, records %+v: %v", role, r.Status, record.attempts, err)
		}
	}
}

func TestALostRecordIsReportedAlsoWhereTheLoopWasCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	o := (&world{}).options(loop.Limits{})
	o.Recorder = &tape{failAt: 2}
	watch(o, func(key string) {
		if strings.HasSuffix(key, "/evaluate") {
			cancel()
		}
	})
	if r, err := loop.Run(ctx, o); r.Status != core.StatusError || r.StopReason != core.StopStoreError || !errors.Is(err, errPower) {
		t.Errorf("%s by %s: %v", r.Status, r.StopReason, err)
	}
}

func TestARecordedGapIsRefused(t *testing.T) {
	o := (&world{}).options(loop.Limits{})
	o.Done = []core.Attempt{{Iteration: 2, Output: json.RawMessage("1"), Judged: true}}
	if _, err := loop.Run(t.Context(), o); sdk.ReasonOf(err) != "history_gap" {
		t.Errorf("got %v", err)
	}
}

// TestAnAttemptTakesFewAllocations counts the engine's own, which may be 50 an attempt.
func TestAnAttemptTakesFewAllocations(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	const iterations = 20
	output, state := json.RawMessage(`{"name":"Ada"}`), json.RawMessage(`{"request":"r"}`)
	findings := []sdk.Finding{{Message: "email is required", Path: "/email"}}
	o := &loop.Options{
		Generator: sdk.GeneratorFunc(func(context.Context, *sdk.GenerateRequest) (*sdk.GenerateResponse, error) {
			return &sdk.GenerateResponse{Output: output}, nil
		}),
		Evaluator: sdk.EvaluatorFunc(func(context.Context, *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
			return &sdk.EvaluateResponse{Verdict: sdk.Verdict{Errors: findings}}, nil
		}),
		Corrector: sdk.CorrectorFunc(func(context.Context, *sdk.CorrectRequest) (*sdk.CorrectResponse, error) {
			return &sdk.CorrectResponse{Output: output}, nil
		}),
		Limits: loop.Limits{MaxIterations: iterations}, State: state,
	}
	coretest.Budget{Path: "a loop of 20 attempts", Allocations: 441}.Check(t, func() {
		if _, err := loop.Run(context.Background(), o); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkEngine(b *testing.B) {
	o := (&world{}).options(loop.Limits{MaxIterations: 3})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := loop.Run(context.Background(), o); err != nil {
			b.Fatal(err)
		}
	}
}
