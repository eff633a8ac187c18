package memory

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

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
