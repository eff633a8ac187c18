package loop

import (
	"context"
	"encoding/json"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// The rules of the loop are a state machine without effects. A loop that calls, records
// and decides in one function needs its rules a second time to be resumed, and the two
// versions diverge. Here a resumed loop replays its records into the machine and
// continues, a replay judges on a copy of it, and a test can interrupt a loop at every
// record and compare the results. So nothing in this file may call a plugin, read a clock
// or use data that isn't in a record. Otherwise a resumed loop could end differently.

// engine is the state of a loop. It makes no call and reads no clock. The driver
// reports the result of each step, next returns the step that follows, and check
// decides whether to stop. To resume a loop, its recorded attempts are replayed
// into an engine.
type engine struct {
	limits   Limits
	corrects bool // there is a corrector
	view     *view

	attempts []core.Attempt
	history  [][]byte // the judged attempts as plugins see them
	errors   json.RawMessage
	best     int // index of the best judged attempt, -1 before the first
	usage    sdk.Usage

	// State from the corrector for the generator's next attempt.
	correctorError *sdk.Finding
	patch          json.RawMessage
	// pending is the part of usage that no attempt holds yet.
	pending sdk.Usage
	// failure is the generator's last error; nil if it never failed in this process.
	failure error
	// stop is whether the loop's policy, asked about the last attempt, ends the loop.
	stop bool
}

// next decides the next step, if nothing stops the loop.
func (e *engine) next() sdk.Role {
	last := e.last()
	switch {
	case last == nil:
		return sdk.RoleGenerate
	case !last.Judged:
		return sdk.RoleEvaluate
	case e.corrects && e.patch == nil && e.correctorError == nil && (!last.GeneratorFailed() || len(last.Raw) > 0):
		return sdk.RoleCorrect
	}
	return sdk.RoleGenerate
}

// last is the newest attempt; nil before the first.
func (e *engine) last() *core.Attempt {
	if len(e.attempts) == 0 {
		return nil
	}
	return &e.attempts[len(e.attempts)-1]
}

// iteration is the number of the attempt that a step of the role makes or works on.
func (e *engine) iteration(role sdk.Role) int {
	if role == sdk.RoleGenerate {
		return len(e.attempts) + 1
	}
	return len(e.attempts)
}

// produced adds the next attempt, which isn't judged yet, with the corrector's error
// and patch for it, if any.
func (e *engine) produced(role sdk.Role, output json.RawMessage, usage sdk.Usage) *core.Attempt {
	e.add(core.Attempt{
		Iteration: len(e.attempts) + 1, Role: role, Output: output,
		CorrectorError: e.correctorError, StatePatch: e.patch, Usage: usage.Add(e.pending),
	})
	e.usage = e.usage.Add(usage)
	e.correctorError, e.patch, e.pending = nil, nil, sdk.Usage{}
	return e.last()
}

// addUsage adds the usage of a call that led to neither an attempt nor a verdict. The next
// recorded attempt includes it.
func (e *engine) addUsage(usage sdk.Usage) {
	e.usage, e.pending = e.usage.Add(usage), e.pending.Add(usage)
}

// failed adds the next attempt without a usable output. It keeps what the generator
// received, which a corrector may be able to repair.
func (e *engine) failed(err error) *core.Attempt {
	a := e.produced(sdk.RoleGenerate, json.RawMessage("null"), sdk.Usage{})
	a.Raw = sdk.RawOf(err)
	e.failure = err
	e.judged(&sdk.Verdict{Errors: []sdk.Finding{finding(sdk.TypeGeneratorError, err)}}, sdk.Usage{}, false)
	return a
}

// judged gives the last attempt its verdict.
func (e *engine) judged(v *sdk.Verdict, usage sdk.Usage, accepted bool) {
	a := e.last()
	a.Judged, a.Valid, a.Score, a.Accepted = true, v.Valid, v.Score, accepted
	a.Errors, a.Feedback, a.Children = v.Errors, v.Feedback, v.Children
	if len(v.Output) > 0 {
		a.Raw, a.Output = a.Output, v.Output
	}
	a.Usage = a.Usage.Add(usage).Add(e.pending)
	e.usage, e.pending = e.usage.Add(usage), sdk.Usage{}
	e.remember()
}

// remember stores the last attempt's verdict in the history.
func (e *engine) remember() {
	a := e.last()
	e.history = append(e.history, entryForPlugins(a))
	e.errors = jsontext.MustEncode(a.HistoryEntry().Errors)
	if e.best < 0 || better(a, &e.attempts[e.best]) {
		e.best = len(e.attempts) - 1
	}
}

// better reports whether an attempt replaces the best one so far. An attempt with an
// output is better than an attempt whose generator failed; otherwise the scores decide.
func better(a, best *core.Attempt) bool {
	if failed := a.GeneratorFailed(); failed != best.GeneratorFailed() {
		return !failed
	}
	return a.Score > best.Score
}

// correctorFailed adds the corrector's error to the last attempt's errors.
func (e *engine) correctorFailed(f sdk.Finding) {
	a := e.last()
	a.Errors = append(a.Errors[:len(a.Errors):len(a.Errors)], f)
	e.correctorError = &f
	e.history[len(e.history)-1] = entryForPlugins(a)
	e.errors = jsontext.MustEncode(a.Errors)
}

// patched merges what a corrector returned in mode regenerate into the state.
func (e *engine) patched(patch json.RawMessage, usage sdk.Usage) error {
	if err := e.view.merge(patch); err != nil {
		return err
	}
	e.patch = patch
	e.addUsage(usage)
	return nil
}

// replay applies recorded attempts, as if their steps had just happened.
func (e *engine) replay(done []core.Attempt) error {
	for _, a := range done {
		if a.Iteration != len(e.attempts)+1 {
			return sdk.Errorf(sdk.Internal, "history_gap", "recorded attempt %d follows %d", a.Iteration, len(e.attempts))
		}
		if a.CorrectorError != nil && len(e.attempts) > 0 {
			e.correctorFailed(*a.CorrectorError)
			e.correctorError = nil
		}
		if a.StatePatch != nil {
			if err := e.view.merge(a.StatePatch); err != nil {
				return err
			}
		}
		e.add(a)
		e.usage = e.usage.Add(a.Usage)
		if a.Judged {
			e.remember()
		}
	}
	return nil
}

// resume adds what an interrupted loop had consumed beyond its attempts.
func (e *engine) resume(used sdk.Usage) {
	e.addUsage(sdk.Usage{
		TokensIn:  max(0, used.TokensIn-e.usage.TokensIn),
		TokensOut: max(0, used.TokensOut-e.usage.TokensOut),
		CostUSD:   max(0, used.CostUSD-e.usage.CostUSD),
	})
}

func (e *engine) add(a core.Attempt) { e.attempts = append(e.attempts, a) }

// check decides whether the loop stops after a verdict, in a fixed order; the policy's
// answer comes after the workflow's rules.
func (e *engine) check(ctx context.Context, active activeTime) core.StopReason {
	last := e.last()
	switch {
	case last.Accepted:
		return core.StopValid
	case active.cancelled():
		return core.StopCancelled
	case active.over(ctx):
		return core.StopTimeout
	case e.overBudget():
		return core.StopBudget
	case e.stopWhen(ctx, active):
		return core.StopWhen
	case e.stop:
		return core.StopPolicy
	case e.noProgress():
		return core.StopNoProgress
	case len(e.attempts) >= e.limits.MaxIterations:
		return core.StopMaxIterations
	}
	return ""
}

func (e *engine) overBudget() bool {
	l := e.limits
	return l.BudgetTokens > 0 && e.usage.Tokens() >= l.BudgetTokens ||
		l.BudgetUSD > 0 && e.usage.CostUSD >= l.BudgetUSD
}

// reflection has the values of the reserved keys for a step on the given output.
func (e *engine) reflection(iteration int, output json.RawMessage) reflection {
	r := reflection{iteration: iteration, output: output, errors: e.errors, history: e.recent()}
	if len(e.history) > 0 {
		r.feedback = e.attempts[len(e.history)-1].Feedback
	}
	if e.best >= 0 {
		r.best, r.bestScore = withoutReserved(e.attempts[e.best].Output), e.attempts[e.best].Score
	}
	return r
}

// historyBytes limits the history that is sent to a plugin: a quarter of the largest
// message (8 MiB). The rest is for the state, the best attempt, and the current
// attempt, which a call contains twice.
const historyBytes = 2 << 20

// recent is the part of the history that plugins get: the newest attempts, as many as
// history_limit and historyBytes allow.
func (e *engine) recent() [][]byte {
	first, size := len(e.history), 0
	for first > 0 && len(e.history)-first < e.limits.HistoryLimit {
		if size += len(e.history[first-1]); size > historyBytes {
			break
		}
		first--
	}
	return e.history[first:]
}

// producedNothing reports whether there are attempts but none of them has an output.
func (e *engine) producedNothing() bool {
	for i := range e.attempts {
		if !e.attempts[i].GeneratorFailed() {
			return false
		}
	}
	return len(e.attempts) > 0
}

func finding(kind string, err error) sdk.Finding {
	return sdk.Finding{Message: err.Error(), Type: kind, Code: sdk.ReasonOf(err)}
}
