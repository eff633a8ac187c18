package check

import (
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/sdk"
)

// promoted checks an entry against the event of its promotion and the memory that it came
// from, whose text never changes.
func (c *checker) promoted(key string, k *core.Knowledge) error {
	m, err := record.Read(c.r, k.PromotedFrom)
	if record.IsLost(err) {
		return nil // reported where promotions and memories are checked
	}
	if err != nil {
		return err
	}
	if m.Title != k.Title && k.DemotedBy == "" { // else it may have been rewritten since
		c.problem(key, "its title isn't the title of the memory that it came from")
	}
	made, found, whole, err := newest(c, k.Namespace, k.PromotedFrom, func(e *journal.MemoryPromoted) bool { return e.KnowledgeID == k.ID })
	switch {
	case err != nil:
		return err
	case found && (made.Content != record.Keyed(m.Salt, k.Content) || made.Summary != record.Keyed(m.Salt, k.Summary)):
		c.problem(key, "its content or pattern isn't what its event says")
	case found && made.DecisionID != k.DecisionID:
		c.problem(key, "its event names decision %s", bounds.Shorten(made.DecisionID))
	case !found && whole:
		c.problem(key, "the entry has no event")
	}
	return nil
}

// newest looks for the newest event of a type that is about a memory and for which match
// returns true. whole is whether the entire history was searched: of a long history only
// the newest entries are, and damage to the journal is reported elsewhere.
func newest[E journal.Event](c *checker, namespace, id string, match func(*E) bool) (event E, found, whole bool, err error) {
	seqs, err := record.HistorySeqs(c.r, id)
	if record.IsDamage(err) {
		c.problem(record.HistoryPrefix+id, "%s", sdk.AsError(err).Message)
		return event, false, false, nil
	}
	if err != nil {
		return event, false, false, err
	}
	for _, seq := range slices.Backward(seqs) {
		e, there, err := journal.Get(c.r, journal.NamespaceStream(namespace), seq)
		if journal.IsBroken(err) || err == nil && !there {
			return event, false, false, nil
		}
		if err != nil {
			return event, false, false, err
		}
		if event, is := journal.As[E](&e); is && match(&event) {
			return event, true, true, nil
		}
	}
	return event, false, len(seqs) < record.MaxHistory, nil
}
