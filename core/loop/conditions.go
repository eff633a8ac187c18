package loop

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/sdk"
)

// accepts decides whether the last attempt passes: by the verdict, or by the loop's
// accept rule. If the rule fails, the run ends with status error.
func (d *driver) accepts(ctx context.Context, v *sdk.Verdict) (bool, error) {
	if d.o.Accept == nil {
		return v.Valid, nil
	}
	last := d.engine.last()
	output := last.Output
	if len(v.Output) > 0 {
		output = v.Output
	}
	return accepts(ctx, d.o.Accept, v, output, last.Iteration)
}

func accepts(ctx context.Context, rule policypoint.Expression, v *sdk.Verdict, output json.RawMessage, iteration int) (bool, error) {
	value, err := jsontext.Decode(output)
	if err != nil {
		return false, sdk.Wrap("accept", err)
	}
	accepted, err := rule.Eval(ctx, map[string]any{
		"valid": v.Valid, "score": v.Score, "errors": plain(v.Errors),
		"output": value, "iteration": int64(iteration),
	})
	return accepted, sdk.Wrap("accept", err)
}

// stopWhen evaluates the loop's own stop rule. If the rule fails, the loop stops.
func (e *engine) stopWhen(ctx context.Context, active activeTime) bool {
	if e.limits.StopWhen == nil {
		return false
	}
	last := e.last()
	stop, err := e.limits.StopWhen.Eval(ctx, map[string]any{
		"iteration": int64(last.Iteration), "score": last.Score, "best_score": e.attempts[e.best].Score,
		"errors": plain(last.Errors), "history": e.plainHistory(),
		"usage": map[string]any{
			"tokens_in": e.usage.TokensIn, "tokens_out": e.usage.TokensOut, "tokens": e.usage.Tokens(),
			"cost_usd": e.usage.CostUSD, "wall_ms": active.millis(),
		},
	})
	return stop || err != nil
}

func (e *engine) plainHistory() []any {
	list := make([]any, len(e.history))
	for i, h := range e.history {
		list[i], _ = jsontext.Decode(h) // we encoded it
	}
	return list
}

// plain converts findings to the values that expressions use.
func plain(findings []sdk.Finding) []any {
	if len(findings) == 0 {
		return []any{}
	}
	v, _ := jsontext.Decode(jsontext.MustEncode(findings))
	return v.([]any)
}

// noProgress reports whether the newest attempts, as many as the limit says,
// all have the same output or all have the same errors. Two attempts without errors
// don't count as having the same errors.
func (e *engine) noProgress() bool {
	n := e.limits.NoProgress
	if n == 0 || len(e.attempts) < n {
		return false
	}
	recent := e.attempts[len(e.attempts)-n:]
	return allSame(recent, outputKey) || allSame(recent, errorsKey)
}

func allSame(attempts []core.Attempt, key func(*core.Attempt) string) bool {
	first := key(&attempts[0])
	for i := range attempts[1:] {
		if key(&attempts[i+1]) != first {
			return false
		}
	}
	return first != ""
}

func outputKey(a *core.Attempt) string { return canonical(a.Output) }

// canonical is an output with its object keys sorted and its spaces removed. Anything
// that isn't JSON is unchanged.
func canonical(output json.RawMessage) string {
	v, err := jsontext.Decode(output)
	if err != nil {
		return string(output)
	}
	return string(jsontext.MustEncode(v))
}

// errorsKey is the set of the evaluator's errors, in a fixed order.
func errorsKey(a *core.Attempt) string {
	var lines []string
	for _, f := range a.Errors {
		if f.Type != sdk.TypeCorrectorError {
			lines = append(lines, strings.Join([]string{f.Source, f.Path, f.SchemaPath, f.Code, f.Message}, "\x00"))
		}
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "\n")
}
