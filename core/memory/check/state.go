package check

import (
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/memory/turn"
	"github.com/reflectory/reflectory/sdk"
)

// replayed checks that a memory is in the state that its last transition led to. Its
// signals are what the digest of its record proves: computing them again would have
// to know each formula that ever counted. Of a long history only the newest entries
// are read. Where the journal is broken, that is reported there.
func (c *checker) replayed(key string, m *core.Memory) error {
	history, err := record.ReadHistory(c.r, m.Namespace, m.ID)
	switch {
	case journal.IsBroken(err):
		return nil
	case record.IsDamage(err):
		c.problem(record.HistoryPrefix+m.ID, "%s", sdk.AsError(err).Message)
		return nil
	case err != nil:
		return err
	}
	p := turn.NewReplay(m.ID)
	p.Run(history)
	if (p.Moved || len(history) < record.MaxHistory) && m.State != p.State {
		c.problem(key, "it is %s, but %s by its events", m.State, p.State)
	}
	if len(history) < record.MaxHistory && m.StateBefore != p.Before {
		c.problem(key, "it began to wait for the gate as %q, but as %q by its events", bounds.Shorten(string(m.StateBefore)), p.Before)
	}
	return nil
}
