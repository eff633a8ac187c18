package memory

import (
	"context"
	"math"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/memory/knowledge"
	"github.com/reflectory/reflectory/core/memory/lifecycle"
	"github.com/reflectory/reflectory/core/memory/turn"
	"github.com/reflectory/reflectory/sdk"
)

// A purge has two parts. The transaction of the gate's decision removes the memory from the
// store, with everything that is derived from it. The deleted bytes are still in the store's
// files, which are cleaned after the commit: the cleaning takes long, and it may fail when
// the purge can no longer be undone.

// writePurge removes the memory and records the event, which holds digests only. The
// memory's tombstone and the record of the decision stay.
func (v *conclusion) writePurge(t *record.Tx, o *Options) error {
	memory := v.memory
	merged, err := mergedInto(t, memory.ID)
	if err != nil {
		return err
	}
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
	if err := turn.ForgetTexts(t, memory); err != nil {
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
	err = t.Record(memory.Namespace, journal.MemoryPurged{
		Gated: v.gated(), Title: record.Keyed(memory.Salt, memory.Title), Content: record.Keyed(memory.Salt, memory.Content), KnowledgeID: entry,
	}, memory.ID)
	if err != nil {
		return err
	}
	for _, victim := range merged {
		if err := v.purgeWith(t, o, victim); err != nil {
			return err
		}
	}
	return nil
}

// mergedInto are the memories that were merged into a memory, and so say the same.
func mergedInto(r core.Reader, id string) (list []*core.Memory, err error) {
	links, err := record.LinksFrom(r, id, core.RelationConsolidatedFrom, math.MaxInt)
	for _, l := range links {
		victim, err := record.Read(r, l.To)
		switch {
		case record.IsGone(err):
		case err != nil:
			return nil, err
		case victim.State == core.StateConsolidated && victim.MergedInto == id:
			list = append(list, victim)
		}
	}
	return list, err
}

// purgeWith purges a memory that was merged into the purged memory, by the same evidence,
// with its own decision.
func (v *conclusion) purgeWith(t *record.Tx, o *Options, victim *core.Memory) error {
	made := *v.decision
	made.ID, made.MemoryID, made.GivenTo = o.IDs.NewID(), victim.ID, nil
	made.Reason = "it was merged into memory " + v.memory.ID + ", which is purged: " + made.Reason
	after := *victim
	after.State = core.StatePurged
	with := &conclusion{request: v.request, memory: victim, after: &after, turn: v.turn, decision: &made, latency: v.latency}
	if err := lifecycle.Check(victim.State, after.State, lifecycle.ByGate); err != nil {
		return err
	}
	if err := with.record(t); err != nil {
		return err
	}
	if err := with.writePurge(t, o); err != nil {
		return err
	}
	v.with = append(v.with, with)
	return nil
}

// givenTo lists the memories that reflect on a memory that is about to be purged.
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

// purgedFiles is what purges left in the store's files, once their transactions are committed. A
// sweep collects all its purges, since cleaning up after a thousand purges takes little
// longer than after one.
type purgedFiles struct {
	// given has an entry for each purge, with the memories derived from it.
	given []core.GivenTo
	// results are the same entries in the decisions that are the results of the purges.
	results []*core.GivenTo
}

// add notes what a committed decision purged.
func (r *purgedFiles) add(v *conclusion) {
	if v.decision != nil && v.decision.GivenTo != nil {
		r.given = append(r.given, *v.decision.GivenTo)
		r.results = append(r.results, v.decision.GivenTo)
	}
	for _, with := range v.with {
		r.add(with)
	}
}

// finish removes the rest of what was purged, if the store keeps files, and adds to the results the places
// where copies of it stay. At this point the purges are committed. Its errors are
// sdk.Conflict, reason "purge_held", if a reader that began earlier holds the purged data
// for too long, and "purge_unfinished", with the class of its cause, if the files can't be
// cleaned. The store then continues by itself.
func (r *purgedFiles) finish(ctx context.Context, s core.Store) error {
	scrubber, ok := s.(core.Scrubber)
	if !ok || len(r.given) == 0 {
		return nil
	}
	if copied, ok := s.(core.ScrubberWithCopies); ok {
		for i, result := range r.results {
			result.RetainedIn = copied.RetainedIn()
			r.given[i].RetainedIn = result.RetainedIn
		}
	}
	held, err := scrubber.Scrub(ctx)
	if err != nil {
		return r.named(sdk.Errorf(sdk.CodeOf(err), "purge_unfinished", "the purge is done, but files of the store may still hold what was purged: %w", err).
			WithHint("fix the cause: the next command that opens the store removes the rest"))
	}
	if held != "" {
		return r.named(sdk.Errorf(sdk.Conflict, "purge_held", "the purge is done, but files of the store still hold what was purged, because of %s", held).
			WithHint("once that ends, the next purge removes the rest, or closing the store does"))
	}
	return nil
}

// named adds to an error the names of the purged memories.
func (r *purgedFiles) named(e *sdk.Error) error {
	ids := make([]string, len(r.given))
	for i := range r.given {
		ids[i] = r.given[i].MemoryID
	}
	return e.WithDetail("purged", ids)
}
