package memory

import (
	"context"

	"github.com/reflectory/reflectory/core"
)

// SessionNames returns the names of the sessions that had a turn, in their order, at most
// as many as the limit.
func (m *Memories) SessionNames(ctx context.Context, limit int) (names []string, err error) {
	err = m.options.Store.View(ctx, func(r core.Reader) error {
		names = nil
		return core.ScanPrefix(r, []byte(sessionPrefix), func(key, _ []byte) (bool, error) {
			names = append(names, string(key[len(sessionPrefix):]))
			return len(names) < limit, ctx.Err()
		})
	})
	return names, err
}
