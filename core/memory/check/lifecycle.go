package check

import (
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/memory/knowledge"
)

// elsewhere checks a memory against records that its life has left under other keys.
func (c *checker) elsewhere(key string, m *core.Memory) error {
	if m.State == core.StatePromoted || m.PromotedTo != "" {
		p, err := knowledge.ReadPromotion(c.r, m.ID)
		if err != nil && !record.IsDamage(err) { // damage is reported where promotions are checked
			return err
		}
		if err == nil && (p == nil || p.KnowledgeID != m.PromotedTo || m.State != core.StatePromoted && m.StateBefore != core.StatePromoted) {
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
		if len(list) == 0 || list[len(list)-1].NextAction != verdict.NextPurge {
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

// decided checks a decision against its event.
func (c *checker) decided(id string, d *verdict.GateDecision, value []byte) error {
	key := record.DecisionPrefix + id
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
		if err != nil || d.MemoryID != id || d.NextAction != verdict.NextPromote {
			c.problem(key, "its decision %s is missing, or doesn't match", bounds.Shorten(p.Decision))
		}
		if found, err := c.has(record.MemoryKey(id)); err != nil || found {
			return err
		}
		c.problem(key, "its memory is missing")
		return nil
	})
}

// knowledge checks an entry against its promotion.
func (c *checker) knowledge(id string, k *core.Knowledge, _ []byte) error {
	key := record.KnowledgePrefix + id
	p, err := knowledge.ReadPromotion(c.r, k.PromotedFrom)
	if err != nil && !record.IsDamage(err) {
		return err
	}
	if p == nil || p.KnowledgeID != k.ID {
		c.problem(key, "there is no promotion that made it")
	} else if err := c.fallen(key, k); err != nil {
		return err
	} else if err := c.promoted(key, k); err != nil {
		return err
	}
	if k.SupersededBy == "" {
		return nil
	}
	return c.superseder(key, k.SupersededBy)
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

// fallen checks the decision by which an entry fell.
func (c *checker) fallen(key string, k *core.Knowledge) error {
	if k.DemotedBy == "" {
		return nil
	}
	d, err := record.ReadDecision(c.r, k.DemotedBy)
	if err != nil && !record.IsLost(err) {
		return err
	}
	if err != nil || d.MemoryID != k.PromotedFrom || d.NextAction != verdict.NextDemote {
		c.problem(key, "the decision %s by which it fell is missing, or doesn't match", bounds.Shorten(k.DemotedBy))
	}
	return nil
}
