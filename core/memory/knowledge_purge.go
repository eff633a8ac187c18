package memory

import "github.com/reflectory/reflectory/core"

// knowledgePurgedPrefix begins the keys of the tombstones of entries.
const knowledgePurgedPrefix = "knowledge-purged/"

func knowledgePurgedKey(id string) []byte { return []byte(knowledgePurgedPrefix + id) }

// purgeKnowledge removes what a memory that is purged became, if it was promoted: the
// entry, which has all that the memory said, and the record of the promotion. It returns
// the entry's id, of which a tombstone is left: an entry whose place it took stays out of
// date.
func purgeKnowledge(t *tx, m *core.Memory) (id string, err error) {
	p, err := readPromotion(t, m.ID)
	if err != nil || p == nil {
		return "", err
	}
	k, err := readKnowledge(t, p.KnowledgeID)
	if err != nil {
		return "", err
	}
	if err := t.erase(m.Namespace, promotionKey(m.ID)); err != nil {
		return "", err
	}
	if err := t.erase(k.Namespace, knowledgeKey(k.ID)); err != nil {
		return "", err
	}
	if err := t.Delete(knowledgeIndexKey(k)); err != nil {
		return "", err
	}
	gone := tombstone{Namespace: k.Namespace, At: t.Now().Round(0)}
	return k.ID, t.write(k.Namespace, knowledgePurgedKey(k.ID), core.MustJSON(gone))
}

// knowledgeTombstones checks that nothing is left of entries that were purged.
func (c *checker) knowledgeTombstones() error {
	return c.each(knowledgePurgedPrefix, func(key string, _ []byte) error {
		id := key[len(knowledgePurgedPrefix):]
		left, err := c.has(knowledgeKey(id))
		if left {
			c.problem(knowledgePrefix+id, "it was purged and is still there")
		}
		return err
	})
}
