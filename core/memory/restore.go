package memory

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/lifecycle"
	"github.com/reflectory/reflectory/sdk"
)

// Restore brings a memory back that a dream pass archived or consolidated: it is
// active again. Any other state is sdk.Conflict, reason "state_conflict".
func (m *Memories) Restore(ctx context.Context, id, agentID string) (*core.Memory, error) {
	var p problems
	p.word("agent_id", agentID, maxAgentBytes)
	if err := p.err(); err != nil {
		return nil, err
	}
	var restored *core.Memory
	err := m.update(ctx, func(t *tx) (err error) {
		restored, err = m.restore(t, id, agentID)
		return err
	})
	if err != nil {
		return nil, sdk.Wrap("restore memory "+cut(id), err)
	}
	return restored, nil
}

func (m *Memories) restore(t *tx, id, agentID string) (*core.Memory, error) {
	before, err := read(t, id)
	if err != nil {
		return nil, err
	}
	if err := lifecycle.Check(before.State, core.StateActive, lifecycle.ByRestore); err != nil {
		return nil, err
	}
	g, err := m.governance(t, before.Namespace)
	if err == nil && g.Failure != nil {
		err = unreadableSettings(g)
	}
	if err != nil {
		return nil, err
	}
	after := *before
	after.State, after.MergedInto = core.StateActive, ""
	return &after, transition(t, before, &after, journal.MemoryTransitioned{Cause: string(lifecycle.ByRestore), AgentID: agentID})
}
