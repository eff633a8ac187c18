package memory

import (
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// bounds checks that a memory is one that the program could have made. What only an
// edit can have made is reported by its digest; this finds what was written together with
// a journal that fits. Metadata of reflections may be larger than what a caller gives.
func (c *checker) bounds(key string, m *core.Memory) {
	var p problems
	p.check(core.CheckNamespace(m.Namespace))
	p.word("agent_id", m.AgentID)
	p.title(m.Title)
	p.content(m.Content)
	p.tags(m.Tags)
	p.priority(&m.Priority)
	p.unit("importance", &m.Importance)
	p.unit("confidence", &m.Confidence)
	kinds := []core.MemoryKind{core.KindObservation, core.KindReflection, core.KindSemantic, core.KindProcedural, core.KindNotification}
	if !slices.Contains(kinds, m.Kind) {
		p.add("kind", "is %q, which there isn't", cut(string(m.Kind)))
	}
	if m.State == core.StatePurged || !slices.Contains(core.MemoryStates(), m.State) {
		p.add("state", "is %q, which a memory can't be in", cut(string(m.State)))
	}
	s := &m.Signals
	for name, n := range map[string]int64{
		"reflection_depth": int64(m.ReflectionDepth), "access_count": m.AccessCount, "created_turn": m.CreatedTurn, "version": m.Version - 1,
		"hit_count": s.HitCount, "miss_streak": s.MissStreak, "success_count": s.Successes, "partial_count": s.Partials,
		"failure_count": s.Failures, "relevant_turns": s.RelevantTurns, "sessions": s.Sessions,
	} {
		if n < 0 {
			p.add(name, "is less than it can be")
		}
	}
	p.unit("utility_score", &s.Utility)
	p.unit("q_value", &s.Q)
	if err := p.err(); err != nil {
		c.problem(key, "%s", sdk.AsError(err).Message)
	}
}
