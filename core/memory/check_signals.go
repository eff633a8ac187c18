package memory

import (
	"bytes"
	"reflect"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/sdk"
)

// replayed checks a memory against its events: it is in the state that its last
// transition led to, and its signals are what its turns and the gate's decisions
// made of them, which is computed once more. Of a long history only the newest
// entries are read, and the signals aren't checked. Where the journal is broken,
// that is told there.
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
	whole := len(history) < maxHistory
	if (p.moved || whole) && m.State != p.state {
		c.problem(key, "it is %s, but %s by its events", m.State, p.state)
	}
	if !whole {
		return nil
	}
	if field := p.differs(&m.Signals); field != "" {
		c.problem(key, "its %s isn't what its events make it", field)
	}
	return nil
}

// differs names a signal that isn't what the events make it; "" for none. No event
// of a memory says its score, which a sweep sets too, and at which turn of its
// namespace it was retained.
func (p *replay) differs(got *core.Signals) string {
	want := p.signals
	want.TTLScore = got.TTLScore
	if p.retained {
		want.LastHitTurn = got.LastHitTurn
	}
	if reflect.DeepEqual(&want, got) {
		return ""
	}
	return differing(core.Members(core.MustJSON(want)), core.Members(core.MustJSON(got)))
}

// differing names a member that only one of two objects has, or has otherwise.
func differing(a, b []core.Member) string {
	lacks := func(list []core.Member, m core.Member) bool {
		return !slices.ContainsFunc(list, func(o core.Member) bool { return o.Key == m.Key && bytes.Equal(o.Value, m.Value) })
	}
	for _, m := range a {
		if lacks(b, m) {
			return m.Key
		}
	}
	for _, m := range b {
		if lacks(a, m) {
			return m.Key
		}
	}
	return ""
}
