package memory

import (
	"context"
	"math"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/memory/knowledge"
	"github.com/reflectory/reflectory/core/memory/turn"
	"github.com/reflectory/reflectory/sdk"
)

// A purge has two parts. The transaction of the gate's decision removes the memory from the
// store, with all that is kept of it elsewhere. What was deleted is in the store's files
// still, so these are cleaned once the transaction is committed, outside of it: that takes
// long, and may fail when the purge can't be taken back any more.

// writePurge removes the memory, and tells of it. Its tombstone and the record of the
// decision stay; the event holds digests only.
func (v *verdict) writePurge(t *record.Tx, o *Options) error {
	memory := v.memory
	given, err := givenTo(t, memory.ID)
	if err != nil {
		return err
	}
	t.BeginPurge()
	for _, f := range o.Forgetters {
		runs, err := f.Forget(t, memory.ID)
		if err != nil {
			return err
		}
		given.Runs = append(given.Runs, runs...)
	}
	slices.Sort(given.Runs)
	given.Runs = slices.Compact(given.Runs)
	v.decision.GivenTo = given
	if err := record.Remove(t, memory); err != nil {
		return err
	}
	if err := turn.ForgetUsers(t, memory); err != nil {
		return err
	}
	entry, err := knowledge.Purge(t, memory)
	if err != nil {
		return err
	}
	if err := t.MarkPurged(o.Store, memory.ID); err != nil {
		return err
	}
	event := v.transitioned(t)
	event.MemoryID, event.Before, event.After = memory.ID, memory.State, core.StatePurged
	event.TTLScore = memory.Signals.TTLScore
	if err := t.Record(memory.Namespace, event, memory.ID); err != nil {
		return err
	}
	return t.Record(memory.Namespace, journal.MemoryPurged{
		Gated: v.gated(), Title: record.Keyed(memory.Salt, memory.Title), Content: record.Keyed(memory.Salt, memory.Content), KnowledgeID: entry,
	}, memory.ID)
}

// givenTo names the memories that reflect on one that is to be purged.
func givenTo(r core.Reader, id string) (*core.GivenTo, error) {
	ends, err := record.LinksTo(r, id, math.MaxInt)
	given := &core.GivenTo{MemoryID: id, Runs: []string{}, Reflections: []string{}}
	for _, e := range ends {
		if e.Relation == core.RelationReflectsOn {
			given.Reflections = append(given.Reflections, e.From)
		}
	}
	return given, err
}

// residue is what purges left in the store's files, once their transactions are
// committed. A sweep collects all its purges: to be rid of a thousand takes little longer
// than of one.
type residue struct {
	// given are the purges, with who was given the memories.
	given []core.GivenTo
}

// add notes what a decision that is committed purged.
func (r *residue) add(v *verdict) {
	if v.decision != nil && v.decision.GivenTo != nil {
		r.given = append(r.given, *v.decision.GivenTo)
	}
}

// finish removes it, where the store keeps files. Its errors are of purges that are
// done: sdk.Conflict, reason "purge_held", where a reader that began before holds what
// was purged for longer, and "purge_unfinished", of the cause's class, where the files
// can't be rid of it. The store goes on from there by itself.
func (r *residue) finish(ctx context.Context, s core.Store) error {
	scrubber, ok := s.(core.Scrubber)
	if !ok || len(r.given) == 0 {
		return nil
	}
	held, err := scrubber.Scrub(ctx)
	if err != nil {
		return r.named(sdk.Errorf(sdk.CodeOf(err), "purge_unfinished", "the purge is done, but files of the store may hold what was purged still: %w", err).
			WithHint("see to that cause: the next command that opens the store removes it"))
	}
	if held != "" {
		return r.named(sdk.Errorf(sdk.Conflict, "purge_held", "the purge is done, but files of the store hold what was purged still, for %s", held).
			WithHint("it goes once that has ended, with the next purge or as the store is closed"))
	}
	return nil
}

// named says in an error which memories were purged.
func (r *residue) named(e *sdk.Error) error {
	ids := make([]string, len(r.given))
	for i := range r.given {
		ids[i] = r.given[i].MemoryID
	}
	return e.WithDetail("purged", ids)
}
