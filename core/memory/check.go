package memory

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/check"
)

var (
	_ core.Rebuilder = (*Memories)(nil)
	_ core.Prover    = (*Memories)(nil)
)

// Derived implements [core.Rebuilder]: the prefixes of the keys that are derived from
// records and links.
func (m *Memories) Derived() []string { return check.Derived() }

// Rows are the rows of its kinds in the description of the format.
func (m *Memories) Rows() []string { return check.Rows() }

// Check implements [core.Checker]: it proves that records, indices, vectors,
// counts, links, approvals, decisions, knowledge and events agree.
func (m *Memories) Check(ctx context.Context, r core.Reader, report func(core.Problem)) error {
	return check.Run(ctx, r, report)
}

// Rebuild implements [core.Rebuilder].
func (m *Memories) Rebuild(ctx context.Context, s core.Store) error { return check.Rebuild(ctx, s) }

// Proven implements [core.Prover]: a stream proves the records whose digests it has.
func (m *Memories) Proven(ctx context.Context, r core.Reader, stream string) ([]core.Proven, error) {
	return check.Proven(ctx, r, stream)
}
