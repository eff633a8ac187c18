package check

import (
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/memory/turn"
	"github.com/reflectory/reflectory/sdk"
)

// replayed checks that a memory is in the state of its last transition. Its signals are
// proven by the digest of its record: to compute them again, the check would need every
// formula that was ever used. Only the newest entries of a long history are read. Damage
// to the journal is reported elsewhere. It returns what it replayed.
func (c *checker) replayed(key string, m *core.Memory) (*turn.Replay, error) {
	p := turn.NewReplay(m.ID)
	history, err := record.ReadHistory(c.r, m.Namespace, m.ID)
	switch {
	case journal.IsBroken(err):
		return p, nil
	case record.IsDamage(err):
		c.problem(record.HistoryPrefix+m.ID, "%s", sdk.AsError(err).Message)
		return p, nil
	case err != nil:
		return p, err
	}
	p.Run(history)
	if (p.Moved || len(history) < record.MaxHistory) && m.State != p.State {
		c.problem(key, "it is %s, but its events say %s", m.State, p.State)
	}
	if len(history) < record.MaxHistory && m.StateBefore != p.Before {
		c.problem(key, "it was %q when it began to wait for the gate, but its events say %q", bounds.Shorten(string(m.StateBefore)), p.Before)
	}
	if s := p.Signals(); p.Merged && len(history) < record.MaxHistory && m.Signals.Uses() != s.Uses() {
		c.problem(key, "it counts %d uses, but its events and the merged memories' events say %d", m.Signals.Uses(), s.Uses())
	}
	if p.Rewritten[1] != nil || len(history) < record.MaxHistory {
		return p, nil
	}
	return c.wholly(m) // a rewriting may be older than what was read
}

// wholly replays all of a long history.
func (c *checker) wholly(m *core.Memory) (*turn.Replay, error) {
	p := turn.NewReplay(m.ID)
	history, err := record.ReadWholeHistory(c.r, m.Namespace, m.ID)
	if journal.IsBroken(err) || record.IsDamage(err) {
		return p, nil
	}
	p.Run(history)
	return p, err
}
