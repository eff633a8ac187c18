package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/work"
	"github.com/reflectory/reflectory/sdk"
)

// The outcomes of an iteration's attempt.
const (
	accepted = "accepted"
	rejected = "rejected"
	none     = "none" // there was no attempt, or it wasn't judged
)

// work counts work by its end. It implements [work.Observer].
func (m *Metrics) work(ctx context.Context, w work.Work) (context.Context, func(work.Outcome)) {
	began := time.Now()
	switch w.Kind {
	case work.Run:
		s := &runScores{}
		return context.WithValue(ctx, runScoresKey{}, s), func(out work.Outcome) { m.run(s, out, time.Since(began)) }
	case work.Iteration:
		s, _ := ctx.Value(runScoresKey{}).(*runScores)
		return ctx, func(out work.Outcome) { m.iteration(s, out) }
	case work.Call:
		return ctx, func(out work.Outcome) { m.call(&w, &out, time.Since(began)) }
	default:
		return ctx, func(out work.Outcome) { m.memories.WithLabelValues(operationOf(w.Kind), codeOf(out.Err)).Inc() }
	}
}

// runScores are the scores of a run so far.
type runScores struct {
	mu                sync.Mutex
	first, best       float64
	hasFirst, hasBest bool
}

type runScoresKey struct{}

// add adds the score of a judged attempt.
func (s *runScores) add(a *core.Attempt, best float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.Iteration == 1 && !s.hasFirst {
		s.first, s.hasFirst = a.Score, true
	}
	s.best, s.hasBest = max(s.best, best), true
}

func (m *Metrics) run(s *runScores, out work.Outcome, took time.Duration) {
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
func (m *Metrics) iteration(s *runScores, out work.Outcome) {
	a, outcome := out.Attempt, none
	if a != nil && a.Judged {
		if outcome = rejected; a.Accepted {
			outcome = accepted
		}
		if s != nil {
			s.add(a, out.BestScore)
		}
	}
	m.iterations.WithLabelValues(outcome).Inc()
}

// call counts a call of a plugin. A plugin that isn't installed isn't counted: its name
// may be anything, and nothing was called.
func (m *Metrics) call(w *work.Work, out *work.Outcome, took time.Duration) {
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
func operationOf(kind work.Kind) string {
	switch kind {
	case work.Search:
		return "search"
	case work.Update:
		return "update"
	case work.Delete:
		return "delete"
	}
	return other
}
