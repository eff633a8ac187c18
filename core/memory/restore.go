package memory

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/memory/lifecycle"
	"github.com/reflectory/reflectory/core/memory/turn"
	"github.com/reflectory/reflectory/core/work"
	"github.com/reflectory/reflectory/sdk"
)

// Restore makes a memory active again that a dream pass archived or consolidated. In any
// other state the error is sdk.Conflict, reason "state_conflict".
func (m *Memories) Restore(ctx context.Context, id string) (restored *core.Memory, err error) {
	defer m.follow(&ctx, work.Work{Kind: work.Update, Name: "restore"}, &err)()
	var refusal error // the journal records it
	err = m.records.Update(ctx, func(t *record.Tx) (err error) {
		restored, refusal, err = m.restore(t, id)
		return err
	})
	if err == nil {
		err = refusal
	}
	if err != nil {
		return nil, sdk.Wrap("restore memory "+bounds.Shorten(id), err)
	}
	return restored, nil
}

// restore restores a memory within a transaction. refusal is why it can't be restored, if
// the transaction should be committed anyway.
func (m *Memories) restore(t *record.Tx, id string) (after *core.Memory, refusal, err error) {
	before, err := record.Read(t, id)
	if err != nil {
		return nil, nil, err
	}
	if err := lifecycle.Check(before.State, core.StateActive, lifecycle.ByRestore); err != nil {
		return nil, nil, err
	}
	g, err := m.records.Governance(t, before.Namespace)
	if err != nil {
		return nil, nil, err
	}
	if g.Failure != nil {
		return nil, unreadableSettings(g), t.Record(before.Namespace, turn.Halted(g), id)
	}
	if before.MergedInto != "" {
		if err := keepApart(t, before, before.MergedInto); err != nil {
			return nil, nil, err
		}
	}
	if err := record.KeepOpen(t, before); err != nil {
		return nil, nil, err
	}
	restored := *before
	restored.State, restored.MergedInto = core.StateActive, ""
	return &restored, nil, record.Transition(t, before, &restored, journal.MemoryTransitioned{Cause: string(lifecycle.ByRestore), AgentID: t.Caller().Label})
}
