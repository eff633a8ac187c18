package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// The outcomes of an iteration's attempt.
const (
	accepted = "accepted"
	rejected = "rejected"
	none     = "none" // there was no attempt, or it wasn't judged
)

// work counts work by its end. It implements [core.Observer].
func (m *Metrics) work(ctx context.Context, w core.Work) (context.Context, func(core.WorkOutcome)) {
	began := time.Now()
	switch w.Kind {
	case core.WorkRun:
		s := &runScores{}
		return context.WithValue(ctx, runScoresKey{}, s), func(out core.WorkOutcome) { m.run(s, out, time.Since(began)) }
	case core.WorkIteration:
		s, _ := ctx.Value(runScoresKey{}).(*runScores)
		return ctx, func(out core.WorkOutcome) { m.iteration(s, out) }
	case core.WorkCall:
		return ctx, func(out core.WorkOutcome) { m.call(&w, &out, time.Since(began)) }
	default:
		return ctx, func(out core.WorkOutcome) { m.memories.WithLabelValues(operationOf(w.Kind), codeOf(out.Err)).Inc() }
	}
}

// runScores are the scores of a run so far.
type runScores struct {
	mu                sync.Mutex
	first, best       float64
	hasFirst, hasBest bool
}

type runScoresKey struct{}

// take adds the score of a judged attempt.
func (s *runScores) take(a *core.Attempt, best float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.Iteration == 1 && !s.hasFirst {
		s.first, s.hasFirst = a.Score, true
	}
	s.best, s.hasBest = max(s.best, best), true
}

func (m *Metrics) run(s *runScores, out core.WorkOutcome, took time.Duration) {
	m.runs.WithLabelValues(known(string(out.Run.Status), statusNames())).Inc()
	m.runSeconds.Observe(took.Seconds())
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hasFirst {
		m.scores.WithLabelValues("first").Observe(s.first)
	}
	if s.hasBest {
		m.scores.WithLabelValues("best").Observe(s.best)
	}
}

// statusNames are the statuses of runs.
func statusNames() (names []string) {
	for _, s := range core.RunStatuses() {
		names = append(names, string(s))
	}
	return names
}

// iteration counts an iteration of a run, whose scores are nil for a loop outside of one.
func (m *Metrics) iteration(s *runScores, out core.WorkOutcome) {
	a, outcome := out.Attempt, none
	if a != nil && a.Judged {
		if outcome = rejected; a.Accepted {
			outcome = accepted
		}
		if s != nil {
			s.take(a, out.BestScore)
		}
	}
	m.iterations.WithLabelValues(outcome).Inc()
}

// call counts a call of a plugin. A plugin that isn't installed isn't counted: its name
// may be anything, and nothing was called.
func (m *Metrics) call(w *core.Work, out *core.WorkOutcome, took time.Duration) {
	if sdk.ReasonOf(out.Err) == "plugin_not_found" {
		return
	}
	m.callSeconds.WithLabelValues(w.Name).Observe(took.Seconds())
	if out.Err != nil {
		m.calls.WithLabelValues(w.Name, string(w.Role), codeOf(out.Err)).Inc()
		return
	}
	for _, r := range out.Results {
		m.calls.WithLabelValues(w.Name, string(w.Role), codeOf(r.Err)).Inc()
	}
}

// codeOf is the class of an error, or ok.
func codeOf(err error) string {
	if err == nil {
		return "ok"
	}
	return known(string(sdk.CodeOf(err)), codes)
}

// codes are the classes of errors.
var codes = []string{
	string(sdk.Invalid), string(sdk.NotFound), string(sdk.Conflict), string(sdk.Denied), string(sdk.Exhausted), string(sdk.Timeout),
	string(sdk.Cancelled), string(sdk.Unavailable), string(sdk.Incompatible), string(sdk.Internal),
}

// operationOf is what is done with memories.
func operationOf(kind core.WorkKind) string {
	switch kind {
	case core.WorkSearch:
		return "search"
	case core.WorkUpdate:
		return "update"
	case core.WorkDelete:
		return "delete"
	}
	return other
}
