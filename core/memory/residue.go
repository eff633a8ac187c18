package memory

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// residue is what has to leave the store's files, once the transactions are committed
// that removed it from the store. A sweep collects that of all its purges: to be rid of
// a thousand takes little longer than of one.
type residue struct {
	keys [][]byte
	// given are the purges, with who was given the memories.
	given []core.GivenTo
}

// add notes what a decision that is committed purged.
func (r *residue) add(v *verdict) {
	r.keys = append(r.keys, v.purged...)
	if v.decision != nil && v.decision.GivenTo != nil {
		r.given = append(r.given, *v.decision.GivenTo)
	}
}

// finish removes it, where the store keeps files. A reader that began before the purge
// may hold it for longer, which is sdk.Conflict, reason "purge_held", of a purge that
// is done: what is left goes with the next, or when the store is closed.
func (r *residue) finish(ctx context.Context, s core.Store) error {
	scrubber, ok := s.(core.Scrubber)
	if !ok || len(r.keys) == 0 {
		return nil
	}
	held, err := scrubber.Scrub(ctx, r.keys)
	if err != nil {
		return sdk.Wrap("remove what was purged from the store's files", err)
	}
	if held != "" {
		return sdk.Errorf(sdk.Conflict, "purge_held", "the purge is done, but files of the store hold what was purged still, for %s", held).
			WithHint("it goes once that has ended, with the next purge or as the store is closed")
	}
	return nil
}
