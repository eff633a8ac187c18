package memory

import (
	"context"
	"fmt"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/memory/turn"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/sdk"
)

// Explanation explains why a memory is in its state.
type Explanation struct {
	ID        string           `json:"id"`
	Namespace string           `json:"namespace"`
	State     core.MemoryState `json:"state"`
	// Memory is nil if it was purged.
	Memory *core.Memory `json:"memory,omitempty"`
	// Turn is the namespace's turn counter.
	Turn int64 `json:"turn"`
	// Why has a line for each fact that matters, the state first.
	Why []string `json:"why"`
	// Terms are the terms whose sum is the default policy's score, computed from the
	// memory's present signals and its namespace's present weights; none for a purged
	// memory. The memory's ttl_score is the score of the last decision, and may differ
	// because of a later turn or another policy.
	Terms []ScoreTerm `json:"terms,omitempty"`
	// Thresholds are its namespace's thresholds for the score; nil for a purged memory.
	Thresholds *ScoreThresholds `json:"thresholds,omitempty"`
	// Effect is what the memory contributes, from turns that left it out by chance; nil without a trial.
	Effect *core.Effect `json:"effect,omitempty"`
	// Help is whether it helps, and how that is known; nil for a purged memory.
	Help *Help `json:"help,omitempty"`
	// LinksFrom start at the memory, LinksTo end at it, at most 1,000 of each.
	LinksFrom []core.Link `json:"links_from,omitempty"`
	LinksTo   []core.Link `json:"links_to,omitempty"`
	// History are the journal entries about the memory, the oldest first, at most the
	// newest 1,000. They hold no content.
	History []journal.Entry `json:"history"`
	// Decisions are the gate's decisions, the oldest first.
	Decisions []*verdict.GateAnswer `json:"decisions,omitempty"`
}

// ScoreTerm is a term of a retention score: Weight times Value, which lowers the score if
// Weight is below 0.
type ScoreTerm struct {
	// Name is hit_rate, utility, miss_streak or idle_turns.
	Name   string  `json:"name"`
	Weight float64 `json:"weight"`
	Value  float64 `json:"value"`
}

// ScoreThresholds are a namespace's thresholds for the retention score.
type ScoreThresholds struct {
	// Active is the lowest score of an active memory.
	Active float64 `json:"active_threshold"`
	// Hysteresis is how much higher the score must be to become active again.
	Hysteresis float64 `json:"hysteresis"`
	// Revalidate is the score below which a cooling memory goes to the gate.
	Revalidate float64 `json:"revalidate_threshold"`
}

// Explain explains why a memory is in its state, even if it was purged.
func (m *Memories) Explain(ctx context.Context, id string) (e *Explanation, err error) {
	err = m.records.View(ctx, func(r core.Reader) error {
		e, err = m.explain(r, id)
		return err
	})
	return e, err
}

func (m *Memories) explain(r core.Reader, id string) (*Explanation, error) {
	memory, err := record.Read(r, id)
	e := &Explanation{ID: id, State: core.StatePurged, Memory: memory}
	switch {
	case err == nil:
		e.Namespace, e.State = memory.Namespace, memory.State
	case sdk.ReasonOf(err) != "memory_purged":
		return nil, err
	default:
		gone, err := record.ReadTombstone(r, id)
		if err != nil {
			return nil, err
		}
		e.Namespace = gone.Namespace
	}
	if e.Turn, err = turn.Counter(r, e.Namespace); err != nil {
		return nil, err
	}
	if memory != nil {
		if e.LinksFrom, e.LinksTo, err = readLinks(r, id); err != nil {
			return nil, err
		}
	}
	if e.History, err = record.ReadHistory(r, e.Namespace, id); err != nil {
		return nil, err
	}
	made, err := record.DecisionsOn(r, id)
	if err != nil {
		return nil, err
	}
	for _, d := range made {
		e.Decisions = append(e.Decisions, d.Answer())
	}
	g, err := m.records.Governance(r, e.Namespace)
	if err != nil {
		return nil, err
	}
	of, err := record.ReadTrial(r, id)
	if err != nil {
		return nil, err
	}
	if len(of.Rows) > 0 {
		e.Effect = of.Effect()
	}
	if memory != nil {
		e.Help = helpOf(memory, e.Effect, g)
	}
	e.explainState()
	e.explainUse(g)
	return e, nil
}

// explainState explains how the memory got into its state.
func (e *Explanation) explainState() {
	line := fmt.Sprintf("%s since it was made", e.State)
	for i := range e.History {
		entry := &e.History[i]
		moved, ok := journal.As[journal.MemoryTransitioned](entry)
		if !ok {
			continue
		}
		line = fmt.Sprintf("%s since %s: %s moved it from %s at a ttl_score of %.4g",
			moved.After, entry.At.UTC().Format(time.RFC3339), moved.Cause, moved.Before, moved.TTLScore)
		if moved.Rule != "" {
			line += ", by rule " + moved.Rule
		}
		if moved.DecisionID != "" {
			line += fmt.Sprintf(", by decision %s (%s, confidence %.2f)", moved.DecisionID, moved.Verdict, moved.Confidence)
		}
	}
	e.Why = append(e.Why, line)
}

// explainUse compares the memory's signals with the thresholds of its namespace.
func (e *Explanation) explainUse(g *core.Governance) {
	if e.Memory == nil {
		return
	}
	add := func(format string, args ...any) { e.Why = append(e.Why, fmt.Sprintf(format, args...)) }
	m, s := e.Memory, &e.Memory.Signals
	switch {
	case m.MergedInto != "":
		add("it was merged into %s", m.MergedInto)
	case m.PromotedTo != "":
		add("it became knowledge %s", m.PromotedTo)
	}
	if m.ReflectionDepth > 0 {
		add("a reflection of depth %d (limit %d, set by %s)", m.ReflectionDepth, g.MaxReflectionDepth, g.DecidedBy)
	}
	add("used in %d of %s that recalled it: %s, %d partial, %s, in %s", s.Uses(), number(s.RelevantTurns, "turn", "turns"),
		number(s.Successes, "success", "successes"), s.Partials, number(s.Failures, "failure", "failures"), number(s.Sessions, "session", "sessions"))
	since := m.CreatedTurn
	if s.HitCount > 0 {
		since = s.LastHitTurn
	}
	hits := policypoint.RetentionInput{HitRate: s.HitRate, RelevantTurns: s.RelevantTurns, Hits: s.HitCount, LastHitTurn: s.LastHitTurn, CreatedTurn: m.CreatedTurn, Turn: e.Turn}
	w := g.Retention
	e.Terms = []ScoreTerm{
		{"hit_rate", w.Hit, hits.CorrectedHitRate()}, {"utility", w.Utility, s.Utility},
		{"miss_streak", -w.Miss, float64(s.MissStreak)}, {"idle_turns", -w.Stale, float64(hits.InactivityGap())},
	}
	e.Thresholds = &ScoreThresholds{Active: w.Active, Hysteresis: w.Hysteresis, Revalidate: w.Revalidate}
	add("ttl_score %.4g (active from %.4g, revalidated below %.4g): hit rate %.4g, utility %.4g, miss streak %d, %d turns since the last hit",
		s.TTLScore, g.Retention.Active, g.Retention.Revalidate, hits.CorrectedHitRate(), s.Utility, s.MissStreak, e.Turn-since)
	add("q %.4g, recalled %d times", s.Q, m.AccessCount)
	if g.Failure != nil {
		add("nothing in %s changes its state: the settings of %s can't be read", e.Namespace, g.DecidedBy)
	}
}

// number is a number with its noun.
func number[N ~int | ~int64 | ~uint64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
