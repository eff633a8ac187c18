package memory

import (
	"context"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/memory/lifecycle"
	"github.com/reflectory/reflectory/core/memory/turn"
	"github.com/reflectory/reflectory/core/work"
	"github.com/reflectory/reflectory/sdk"
)

// EraseRequest asks for a memory to be erased, for example because of a person's right to
// be forgotten, or because it is wrong.
type EraseRequest struct {
	// Reason is why, in up to 1,024 bytes. It is stored with the decision.
	Reason string
	// Copies is whether the recallable memories of the namespace with the same content are
	// erased too, each by a decision of its own.
	Copies bool
}

// Erase asks the gate to purge a memory because the caller wants it erased. The request
// counts as evidence of both kinds, on which the gate decides by a special rule; the purge
// itself is like any other. A memory that is open, active or cooling is first put into the
// state of waiting for the gate; that, the decision and the purge are one transaction.
// Erase is the only way to purge a memory that was archived, consolidated or promoted. If
// it was promoted, its knowledge is purged too.
//
// The decision names the memories that have the same content, and with Copies erases them, in
// transactions of their own: an error after the first erasure comes with the decision.
func (g *Gate) Erase(ctx context.Context, id string, r EraseRequest) (d *verdict.GateDecision, err error) {
	defer g.follow(&ctx, work.Work{Kind: work.Delete, Name: "erase"}, &err)()
	if err := r.Check(); err != nil {
		return nil, err
	}
	if g.options.Gate == nil {
		return nil, gateMissing()
	}
	v, err := g.eraseOne(ctx, id, r.Reason)
	if err != nil {
		return nil, sdk.Wrap("erase memory "+bounds.Shorten(id), err)
	}
	var gone purgedFiles
	gone.add(v)
	err = g.eraseCopies(ctx, v, r, &gone)
	err = core.JoinErrors(gone.finish(ctx, g.options.Store), err)
	return v.decision, sdk.Wrap("erase memory "+bounds.Shorten(id), err)
}

// Check reports everything that is wrong with a request, and trims its reason.
func (r *EraseRequest) Check() error {
	var p bounds.Problems
	if r.Reason = strings.TrimSpace(r.Reason); r.Reason == "" {
		p.Add("reason", "is blank: an erasure needs a reason")
	}
	p.Over("reason", len(r.Reason), maxReasonBytes, "bytes")
	return p.Err()
}

// eraseOne erases a memory in a transaction.
func (g *Gate) eraseOne(ctx context.Context, id, reason string) (*conclusion, error) {
	v := &conclusion{request: &RevalidateRequest{}, decisionID: g.options.IDs.NewID()}
	err := g.records.UpdateAsking(ctx, func(t *record.Tx) error { return g.erase(ctx, t, id, reason, v) })
	if err == nil {
		err = v.refusal
	}
	return v, err
}

// eraseCopies notes in the decision which memories have the content of the purged one. If they
// are wanted too, it erases them, and the decision also names what was derived from them.
func (g *Gate) eraseCopies(ctx context.Context, v *conclusion, r EraseRequest, gone *purgedFiles) error {
	d := v.decision
	if d.NextAction != verdict.NextPurge {
		return nil
	}
	for {
		same, err := g.sameContent(ctx, v.memory)
		if d.SameContent = same; err != nil || len(same) == 0 || !r.Copies {
			return err
		}
		for _, id := range same {
			copied, err := g.eraseOne(ctx, id, r.Reason)
			if err != nil && sdk.ReasonOf(err) != "memory_purged" {
				return err
			}
			d.SameContent = d.SameContent[1:]
			if err != nil {
				continue // by another caller
			}
			gone.add(copied)
			d.ErasedCopies = append(d.ErasedCopies, id)
			if given := copied.decision.GivenTo; given != nil {
				d.GivenTo.Runs = slices.Compact(slices.Sorted(slices.Values(append(d.GivenTo.Runs, given.Runs...))))
				d.GivenTo.Reflections = append(d.GivenTo.Reflections, given.Reflections...)
			}
		}
	}
}

// sameContent are the ids of the recallable memories of a purged memory's namespace that have its
// content, sorted, at most [core.MaxRelated].
func (g *Gate) sameContent(ctx context.Context, purged *core.Memory) (ids []string, err error) {
	err = g.records.View(ctx, func(r core.Reader) error {
		for _, state := range core.MemoryStates() {
			if !state.Recallable() {
				continue
			}
			start := record.IndexStart(record.StatePrefix, purged.Namespace, string(state))
			err := core.ScanPrefix(r, start, func(key, _ []byte) (bool, error) {
				memory, err := readIndexed(r, record.PlaceID(key[len(start):]), key)
				if err == nil && memory.Content == purged.Content {
					ids = append(ids, memory.ID)
				}
				return true, core.JoinErrors(err, ctx.Err())
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	slices.Sort(ids)
	return ids[:min(len(ids), core.MaxRelated)], err
}

func (g *Gate) erase(ctx context.Context, t *record.Tx, id, reason string, v *conclusion) error {
	v.decision, v.refusal, v.with = nil, nil, nil
	began := g.options.Clock.Now()
	memory, err := record.Read(t, id)
	if err != nil {
		return err
	}
	c, err := g.newCase(t, memory, v.request)
	if err != nil {
		return err
	}
	if c.Governance.Failure != nil {
		v.refusal = unreadableSettings(c.Governance)
		return t.Record(memory.Namespace, turn.Halted(c.Governance), id)
	}
	if c.Memory, err = v.awaitGate(t, memory); err != nil {
		return err
	}
	c.Erase = reason
	d, err := g.options.Gate.Decide(ctx, t, c)
	if err != nil {
		return err
	}
	v.latency = g.records.MillisSince(began)
	return g.carryOut(ctx, t, v, c, d)
}

// awaitGate makes a live memory wait for the gate, and returns it in its new state. Any other
// memory already waits, can be purged from its present state, or can't be purged at all.
func (v *conclusion) awaitGate(t *record.Tx, memory *core.Memory) (*core.Memory, error) {
	switch memory.State {
	case core.StateRevalidatePending, core.StateArchived, core.StateConsolidated, core.StatePromoted:
		return memory, lifecycle.Check(memory.State, core.StatePurged, lifecycle.ByGate)
	}
	if err := lifecycle.Check(memory.State, core.StateRevalidatePending, lifecycle.ByErasure); err != nil {
		return nil, err
	}
	after := *memory
	after.State, after.StateBefore = core.StateRevalidatePending, memory.State
	err := record.Transition(t, memory, &after, journal.MemoryTransitioned{
		Cause: string(lifecycle.ByErasure), AgentID: t.Caller().Label, Formula: lifecycle.Formula,
	})
	return &after, err
}
