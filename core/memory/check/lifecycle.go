package check

import (
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/memory/knowledge"
	"github.com/reflectory/reflectory/sdk"
)

// elsewhere checks a memory against records that its life has left under other keys.
func (c *checker) elsewhere(key string, m *core.Memory) error {
	if m.State == core.StatePromoted || m.PromotedTo != "" {
		p, err := knowledge.ReadPromotion(c.r, m.ID)
		if err != nil && !record.IsDamage(err) { // damage is reported where promotions are checked
			return err
		}
		if err == nil && (p == nil || p.KnowledgeID != m.PromotedTo || m.State != core.StatePromoted) {
			c.problem(key, "it is %s and names knowledge %q, but the record of its promotion says otherwise", m.State, bounds.Shorten(m.PromotedTo))
		}
	}
	users, err := c.count(record.UserPrefix + m.ID + "/")
	if err == nil && users != m.Signals.Sessions {
		c.problem(key, "it counts %d sessions that used it, but %d are recorded", m.Signals.Sessions, users)
	}
	return err
}

// count counts the keys of a prefix.
func (c *checker) count(prefix string) (n int64, err error) {
	err = c.each(prefix, func(string, []byte) error { n++; return nil })
	return n, err
}

// purges checks that each purge follows from a decision, and that no session is recorded
// as a user of a purged memory.
func (c *checker) purges() error {
	return c.each(record.PurgedPrefix, func(key string, _ []byte) error {
		id := key[len(record.PurgedPrefix):]
		list, err := record.DecisionsOn(c.r, id)
		if record.IsLost(err) {
			return nil // reported where the decisions are checked
		}
		if err != nil {
			return err
		}
		if len(list) == 0 || list[len(list)-1].NextAction != core.NextPurge {
			c.problem(key, "the gate's last decision on it isn't to purge it")
		}
		users, err := c.count(record.UserPrefix + id + "/")
		if err == nil && users > 0 {
			c.problem(record.UserPrefix+id+"/", "%d sessions are recorded as users of a purged memory", users)
		}
		if err != nil {
			return err
		}
		start := string(record.ReflectionMemoryStart(id))
		texts, err := c.count(start)
		if err == nil && texts > 0 {
			c.problem(start, "%d reflections may still repeat a purged memory", texts)
		}
		return err
	})
}

// decisions checks the gate's decisions against their events and their index.
func (c *checker) decisions() error {
	return c.each(record.DecisionPrefix, func(key string, value []byte) error {
		d, err := record.ReadDecision(c.r, key[len(record.DecisionPrefix):])
		if record.IsDamage(err) {
			c.problem(key, "%s", sdk.AsError(err).Message)
			return nil
		}
		if err != nil {
			return err
		}
		if d.ID != key[len(record.DecisionPrefix):] {
			c.problem(key, "its own id is %q", bounds.Shorten(d.ID))
			return nil
		}
		found, err := c.has(record.DecisionMemoryKey(d.MemoryID, d.ID))
		if err != nil {
			return err
		}
		if !found {
			c.derived(string(record.DecisionMemoryKey(d.MemoryID, d.ID)), "the index misses decision %s", d.ID)
		}
		return c.decided(key, value, d)
	})
}

// decided checks a decision against its event.
func (c *checker) decided(key string, value []byte, d *core.GateDecision) error {
	made, found, whole, err := newest(c, d.Namespace, d.MemoryID, func(e *journal.RevalidateDecision) bool { return e.DecisionID == d.ID })
	switch {
	case err != nil:
		return err
	case found && made.Decision != core.Digest(value):
		c.problem(key, "the decision isn't what its event says")
	case !found && whole: // else the event may be older than the entries that were read
		c.problem(key, "the decision has no event")
	}
	return nil
}

// promotions checks the records of promotions against the records that they name.
func (c *checker) promotions() error {
	return c.each(record.PromotionPrefix, func(key string, _ []byte) error {
		id := key[len(record.PromotionPrefix):]
		p, err := knowledge.ReadPromotion(c.r, id)
		if err != nil && !record.IsLost(err) {
			return err
		}
		if err != nil || p.MemoryID != id {
			c.problem(key, "the promotion can't be decoded, or names another memory")
			return nil
		}
		k, err := knowledge.Read(c.r, p.KnowledgeID)
		if err != nil && !record.IsLost(err) {
			return err
		}
		if err != nil || k.PromotedFrom != id || k.DecisionID != p.Decision {
			c.problem(key, "its knowledge %s is missing, or doesn't match", bounds.Shorten(p.KnowledgeID))
		}
		d, err := record.ReadDecision(c.r, p.Decision)
		if err != nil && !record.IsLost(err) {
			return err
		}
		if err != nil || d.MemoryID != id || d.NextAction != core.NextPromote {
			c.problem(key, "its decision %s is missing, or doesn't match", bounds.Shorten(p.Decision))
		}
		if found, err := c.has(record.MemoryKey(id)); err != nil || found {
			return err
		}
		c.problem(key, "its memory is missing")
		return nil
	})
}

// knowledge checks the entries against their promotions and their index.
func (c *checker) knowledge() error {
	return c.each(record.KnowledgePrefix, func(key string, _ []byte) error {
		k, err := knowledge.Read(c.r, key[len(record.KnowledgePrefix):])
		if err != nil && !record.IsLost(err) {
			return err
		}
		if err != nil || k.ID != key[len(record.KnowledgePrefix):] {
			c.problem(key, "the entry can't be decoded, or has another id")
			return nil
		}
		p, err := knowledge.ReadPromotion(c.r, k.PromotedFrom)
		if err != nil && !record.IsDamage(err) {
			return err
		}
		if p == nil || p.KnowledgeID != k.ID {
			c.problem(key, "there is no promotion that made it")
		} else if err := c.promoted(key, k); err != nil {
			return err
		}
		if k.SupersededBy != "" {
			if err := c.superseder(key, k.SupersededBy); err != nil {
				return err
			}
		}
		index := record.KnowledgeIndexKey(k)
		if found, err := c.has(index); err != nil || found {
			return err
		}
		c.derived(string(index), "the index misses knowledge %s", k.ID)
		return nil
	})
}

// superseder checks that the entry which superseded another exists, or was purged since.
func (c *checker) superseder(key, by string) error {
	for _, at := range [][]byte{record.KnowledgeKey(by), record.KnowledgePurgedKey(by)} {
		if found, err := c.has(at); err != nil || found {
			return err
		}
	}
	c.problem(key, "the entry that superseded it is missing")
	return nil
}

func strayDecision(r core.Reader, key string) (bool, error) {
	d, err := record.ReadDecision(r, key[strings.LastIndexByte(key, '/')+1:])
	if record.IsLost(err) {
		return true, nil
	}
	return err == nil && string(record.DecisionMemoryKey(d.MemoryID, d.ID)) != key, err
}

func strayKnowledge(r core.Reader, key string) (bool, error) {
	_, at, _ := strings.Cut(key, "\x00")
	k, err := knowledge.Read(r, record.PlaceID([]byte(at)))
	if record.IsLost(err) {
		return true, nil
	}
	return err == nil && string(record.KnowledgeIndexKey(k)) != key, err
}

// restoreDecision writes a decision's entry in its index. It skips a record that can't be
// decoded, which the check reports.
func restoreDecision(tx core.Tx, key string) error {
	d, err := record.ReadDecision(tx, key[len(record.DecisionPrefix):])
	if record.IsDamage(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return restore(tx, record.DecisionMemoryKey(d.MemoryID, d.ID), nil)
}

// restoreKnowledge writes an entry's key in its index, like [restoreDecision].
func restoreKnowledge(tx core.Tx, key string) error {
	k, err := knowledge.Read(tx, key[len(record.KnowledgePrefix):])
	if record.IsDamage(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return restore(tx, record.KnowledgeIndexKey(k), nil)
}

// knowledgeTombstones checks that nothing is left of purged entries.
func (c *checker) knowledgeTombstones() error {
	return c.each(record.KnowledgePurgedPrefix, func(key string, _ []byte) error {
		id := key[len(record.KnowledgePurgedPrefix):]
		left, err := c.has(record.KnowledgeKey(id))
		if left {
			c.problem(record.KnowledgePrefix+id, "it was purged but still exists")
		}
		return err
	})
}
