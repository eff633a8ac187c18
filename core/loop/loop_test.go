package loop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/loop"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/sdk"
)

// TestLoop runs testdata/loop: each case is a script of what the generator, the
// evaluator and the corrector answer in turn, and the trace that follows.
//
//	loop [max=N] [on_failure=…] [timeout=…] [tokens=N] [usd=X] [no_progress=N]
//	     [mode=…] [evaluator_error=…] [generator_error=…] [retries=N] [history=N]
//	     [accept=X] [stop=X]
//	     [no_corrector] [raw]
//
// accept=X passes from score X; stop=X stops from score X. A script line is
// `role answer`: JSON (a verdict for evaluate), !message for a failure,
// !!message for a passing one, !#message for one that says that nothing will change
// it, !~raw for one that holds what it was given, and may end in options: @5s takes that long,
// +7 uses as many tokens, ^ cancels the run during the call.
func TestLoop(t *testing.T) {
	datadriven.Walk(t, "testdata/loop", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var trace string
			synctest.Test(t, func(t *testing.T) { trace = runScript(t, d) })
			return trace
		})
	})
}

func runScript(t *testing.T, d *datadriven.TestData) string {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := &script{t: t, cancel: cancel, answers: map[string][]string{}, raw: d.HasArg("raw")}
	for line := range strings.Lines(d.Input) {
		role, answer, _ := strings.Cut(strings.TrimSpace(line), " ")
		s.answers[role] = append(s.answers[role], answer)
	}
	o := &loop.Options{
		Generator: sdk.GeneratorFunc(s.generate), Evaluator: sdk.EvaluatorFunc(s.evaluate), Corrector: sdk.CorrectorFunc(s.correct),
		RunID: "run", Visit: 1, Node: "node", State: json.RawMessage(`{"request":"r"}`), Recorder: s, Events: s.event,
	}
	scanOptions(t, d, o)
	result, err := loop.Run(ctx, o)
	s.printResult(result, err)
	for role, left := range s.answers {
		if len(left) > 0 {
			fmt.Fprintf(&s.out, "never asked: %s %s\n", role, strings.Join(left, " | "))
		}
	}
	return s.out.String()
}

func scanOptions(t *testing.T, d *datadriven.TestData, o *loop.Options) {
	t.Helper()
	var onFailure, mode, evaluatorError, generatorError, timeout, usd, accept, stop string
	d.MaybeScanArgs(t, "max", &o.MaxIterations)
	d.MaybeScanArgs(t, "on_failure", &onFailure)
	d.MaybeScanArgs(t, "timeout", &timeout)
	d.MaybeScanArgs(t, "tokens", &o.BudgetTokens)
	d.MaybeScanArgs(t, "usd", &usd)
	d.MaybeScanArgs(t, "no_progress", &o.NoProgress)
	d.MaybeScanArgs(t, "mode", &mode)
	d.MaybeScanArgs(t, "evaluator_error", &evaluatorError)
	d.MaybeScanArgs(t, "generator_error", &generatorError)
	d.MaybeScanArgs(t, "retries", &o.EvaluatorRetries)
	o.GeneratorRetries = o.EvaluatorRetries
	d.MaybeScanArgs(t, "history", &o.HistoryLimit)
	d.MaybeScanArgs(t, "accept", &accept)
	d.MaybeScanArgs(t, "stop", &stop)
	o.OnFailure, o.CorrectMode = loop.OnFailure(onFailure), loop.CorrectMode(mode)
	o.OnEvaluatorError = loop.OnEvaluatorError(evaluatorError)
	o.OnGeneratorError = loop.OnGeneratorError(generatorError)
	o.Accept, o.StopWhen = fromScore(accept), fromScore(stop)
	if timeout != "" {
		var err error
		if o.Timeout, err = time.ParseDuration(timeout); err != nil {
			t.Fatal(err)
		}
	}
	if usd != "" {
		o.BudgetUSD, _ = strconv.ParseFloat(usd, 64)
	}
	if d.HasArg("no_corrector") {
		o.Corrector = nil
	}
}

// scoreRule is an expression that holds from a score; "fail" always fails.
type scoreRule string

func fromScore(s string) policypoint.Expression {
	if s == "" {
		return nil
	}
	return scoreRule(s)
}

func (r scoreRule) Eval(_ context.Context, vars map[string]any) (bool, error) {
	from, err := strconv.ParseFloat(string(r), 64)
	return err == nil && vars["score"].(float64) >= from, err
}

// script answers in turn and notes what it was asked.
type script struct {
	t       *testing.T
	out     bytes.Buffer
	answers map[string][]string
	cancel  func()
	raw     bool
}

type answer struct {
	body  json.RawMessage
	usage sdk.Usage
	err   error
}

func (s *script) next(ctx context.Context, role string) answer {
	if len(s.answers[role]) == 0 {
		s.t.Errorf("%s was called more often than the script answers", role)
		return answer{err: errors.New("no more answers")}
	}
	line := s.answers[role][0]
	s.answers[role] = s.answers[role][1:]
	var a answer
	var took time.Duration
	for {
		i := strings.LastIndexByte(line, ' ')
		last := line[i+1:]
		switch {
		case strings.HasPrefix(last, "@"):
			took, _ = time.ParseDuration(last[1:])
		case strings.HasPrefix(last, "+"):
			tokens, _ := strconv.ParseInt(last[1:], 10, 64)
			a.usage = sdk.Usage{TokensIn: tokens - 1, TokensOut: 1, CostUSD: float64(tokens) / 100}
		case last == "^":
			s.cancel()
		default:
			return s.answer(ctx, a, line, took)
		}
		line = line[:max(i, 0)]
	}
}

func (s *script) answer(ctx context.Context, a answer, line string, took time.Duration) answer {
	select {
	case <-ctx.Done():
		a.err = context.Cause(ctx)
		return a
	case <-time.After(took):
	}
	if ctx.Err() != nil {
		a.err = ctx.Err()
		return a
	}
	switch {
	case strings.HasPrefix(line, "!!"):
		a.err = sdk.Errorf(sdk.Unavailable, "plugin_exited", "%s", line[2:])
	case strings.HasPrefix(line, "!#"):
		a.err = sdk.AsPermanent(sdk.Errorf(sdk.Invalid, "broken", "%s", line[2:]))
	case strings.HasPrefix(line, "!~"):
		a.err = sdk.Errorf(sdk.Invalid, "not_json", "the reply is not JSON").WithDetail(sdk.RawDetail, line[2:])
	case strings.HasPrefix(line, "!"):
		a.err = sdk.Errorf(sdk.Invalid, "broken", "%s", line[1:])
	default:
		a.body = json.RawMessage(line)
	}
	return a
}

func (s *script) asked(c sdk.Call, state json.RawMessage) {
	if s.raw {
		fmt.Fprintf(&s.out, "%s %s\n", c.IdempotencyKey, state)
		return
	}
	var seen struct {
		Output  json.RawMessage `json:"reflection_output"`
		Errors  []sdk.Finding   `json:"reflection_errors"`
		History []struct {
			Iteration int `json:"iteration"`
		} `json:"reflection_history"`
	}
	if err := json.Unmarshal(state, &seen); err != nil {
		s.t.Errorf("the state is not JSON: %v", err)
	}
	var history []int
	for _, h := range seen.History {
		history = append(history, h.Iteration)
	}
	fmt.Fprintf(&s.out, "%s sees output=%s errors=%s history=%v\n", c.IdempotencyKey, seen.Output, messages(seen.Errors), history)
}

func (s *script) generate(ctx context.Context, req *sdk.GenerateRequest) (*sdk.GenerateResponse, error) {
	s.asked(req.Call, req.State)
	a := s.next(ctx, "generate")
	return &sdk.GenerateResponse{Output: a.body, Usage: a.usage}, a.err
}

func (s *script) correct(ctx context.Context, req *sdk.CorrectRequest) (*sdk.CorrectResponse, error) {
	s.asked(req.Call, req.State)
	a := s.next(ctx, "correct")
	return &sdk.CorrectResponse{Output: a.body, Usage: a.usage}, a.err
}

func (s *script) evaluate(ctx context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
	s.asked(req.Call, req.State)
	a := s.next(ctx, "evaluate")
	if a.err != nil {
		return nil, a.err
	}
	resp := &sdk.EvaluateResponse{Usage: a.usage}
	if err := json.Unmarshal(a.body, &resp.Verdict); err != nil {
		s.t.Fatalf("bad verdict %s: %v", a.body, err)
	}
	return resp, nil
}

func (s *script) RecordOutput(_ context.Context, a *core.Attempt) error {
	fmt.Fprintf(&s.out, "  record output %d %s by %s\n", a.Iteration, a.Output, a.Role)
	return nil
}

func (s *script) RecordVerdict(_ context.Context, a *core.Attempt) error {
	fmt.Fprintf(&s.out, "  record verdict %d valid=%t score=%g accepted=%t errors=%s\n", a.Iteration, a.Valid, a.Score, a.Accepted, messages(a.Errors))
	return nil
}

func (s *script) event(e core.Event) {
	switch e := e.(type) {
	case core.CallRetried:
		fmt.Fprintf(&s.out, "  retry %d of %s: %v\n", e.Try, e.Role, e.Err)
	case core.CorrectorFailed:
		fmt.Fprintf(&s.out, "  corrector failed: %v\n", e.Err)
	}
}

func (s *script) printResult(r *core.LoopResult, err error) {
	if r != nil {
		fmt.Fprintf(&s.out, "%s by %s: iteration %d output=%s score=%g valid=%t errors=%s best=%d/%g tokens=%d\n",
			r.Status, r.StopReason, r.Iteration, r.Output, r.Score, r.Valid, messages(r.Errors),
			r.Best.Iteration, r.Best.Score, r.Usage.Tokens())
		for _, h := range r.History {
			fmt.Fprintf(&s.out, "  %d %s score=%g valid=%t errors=%s", h.Iteration, h.Output, h.Score, h.Valid, messages(h.Errors))
			if h.Raw != nil {
				fmt.Fprintf(&s.out, " raw=%s", h.Raw)
			}
			fmt.Fprintln(&s.out)
		}
	}
	if err != nil {
		fmt.Fprintf(&s.out, "error %s/%s: %v\n", sdk.CodeOf(err), sdk.ReasonOf(err), err)
	}
}

func messages(findings []sdk.Finding) string {
	texts := make([]string, len(findings))
	for i, f := range findings {
		texts[i] = f.Message
		if f.Type != "" {
			texts[i] = f.Type + ": " + texts[i]
		}
	}
	return "[" + strings.Join(texts, "; ") + "]"
}
