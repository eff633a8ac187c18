package knowledge

import (
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory/internal/record"
)

// Purge removes what a purged memory became, if it was promoted: the entry, which has the
// memory's text, and the record of the promotion. It returns the entry's id, of which a
// tombstone is left: an entry that it superseded stays superseded.
func Purge(t *record.Tx, m *core.Memory) (id string, err error) {
	p, err := ReadPromotion(t, m.ID)
	if err != nil || p == nil {
		return "", err
	}
	k, err := Read(t, p.KnowledgeID)
	if err != nil {
		return "", err
	}
	if err := t.Erase(m.Namespace, record.PromotionKey(m.ID)); err != nil {
		return "", err
	}
	if err := t.Erase(k.Namespace, record.KnowledgeKey(k.ID)); err != nil {
		return "", err
	}
	if err := record.Knowledge.Index(t, k.ID, k, nil); err != nil {
		return "", err
	}
	gone := record.Tombstone{Namespace: k.Namespace, At: t.Now().Round(0)}
	return k.ID, t.Write(k.Namespace, record.KnowledgePurgedKey(k.ID), jsontext.MustEncode(gone))
}
