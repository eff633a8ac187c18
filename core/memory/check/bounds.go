package check

import (
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/sdk"
)

// bounds checks that the program could have written a memory. A record that was merely
// edited has the wrong digest; this finds a record that was written together with a
// matching journal. The metadata of reflections may be larger than what a caller may
// send.
func (c *checker) bounds(key string, m *core.Memory) {
	var p bounds.Problems
	p.Check(core.CheckNamespace(m.Namespace))
	p.Word("agent_id", m.AgentID)
	p.Title(m.Title)
	p.Content(m.Content)
	p.Tags(m.Tags)
	p.Priority(&m.Priority)
	p.Unit("importance", &m.Importance)
	p.Unit("confidence", &m.Confidence)
	kinds := []core.MemoryKind{core.KindObservation, core.KindReflection, core.KindSemantic, core.KindProcedural, core.KindNotification}
	if !slices.Contains(kinds, m.Kind) {
		p.Add("kind", "is %q, which isn't a kind", bounds.Shorten(string(m.Kind)))
	}
	if m.State == core.StatePurged || !slices.Contains(core.MemoryStates(), m.State) {
		p.Add("state", "is %q, which isn't a state", bounds.Shorten(string(m.State)))
	}
	s := &m.Signals
	for name, n := range map[string]int64{
		"reflection_depth": int64(m.ReflectionDepth), "access_count": m.AccessCount, "created_turn": m.CreatedTurn, "version": m.Version - 1,
		"hit_count": s.HitCount, "miss_streak": s.MissStreak, "success_count": s.Successes, "partial_count": s.Partials,
		"failure_count": s.Failures, "relevant_turns": s.RelevantTurns, "sessions": s.Sessions,
	} {
		if n < 0 {
			p.Add(name, "is below its minimum")
		}
	}
	p.Unit("utility_score", &s.Utility)
	p.Unit("q_value", &s.Q)
	if err := p.Err(); err != nil {
		c.problem(key, "%s", sdk.AsError(err).Message)
	}
}
