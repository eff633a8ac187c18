package memory

import (
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/sdk"
)

// replayed checks that a memory is in the state that its last transition led to. Its
// signals are what the digest of its record proves: computing them again would have
// to know each formula that ever counted. Of a long history only the newest entries
// are read. Where the journal is broken, that is reported there.
func (c *checker) replayed(key string, m *core.Memory) error {
	history, err := readHistory(c.r, m.Namespace, m.ID)
	switch {
	case journal.IsBroken(err):
		return nil
	case isDamage(err):
		c.problem(historyPrefix+m.ID, "%s", sdk.AsError(err).Message)
		return nil
	case err != nil:
		return err
	}
	p := newReplay(m.ID)
	p.run(history)
	if (p.moved || len(history) < maxHistory) && m.State != p.state {
		c.problem(key, "it is %s, but %s by its events", m.State, p.state)
	}
	if len(history) < maxHistory && m.StateBefore != p.before {
		c.problem(key, "it began to wait for the gate as %q, but as %q by its events", cut(string(m.StateBefore)), p.before)
	}
	return nil
}
