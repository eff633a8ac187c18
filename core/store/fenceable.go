package store

import (
	"context"

	"github.com/reflectory/reflectory/core"
)

// Fenceable makes a store that is already open obey [WithFence]: a transaction is refused
// if the fence in its context refuses it.
func Fenceable(s core.Store) core.Store { return &fenceable{fenced{Store: s}} }

// fenceable also has the optional methods of its store.
type fenceable struct{ fenced }

var (
	_ core.Scrubber = (*fenceable)(nil)
	_ Compacter     = (*fenceable)(nil)
)

// Update implements [core.Store].
func (s *fenceable) Update(ctx context.Context, fn func(core.Tx) error) error {
	if fence := fenceOf(ctx); fence != nil {
		return (&fenced{s.Store, fence}).Update(ctx, fn)
	}
	return s.Store.Update(ctx, fn)
}

// Compact implements [Compacter]. A store that needs no compaction does nothing.
func (s *fenceable) Compact(ctx context.Context, from, to []byte) error {
	if c, ok := s.Store.(Compacter); ok {
		return c.Compact(ctx, from, to)
	}
	return nil
}

// WithoutFence returns a context without the fences of [WithFence], for a write that is
// protected in another way.
func WithoutFence(ctx context.Context) context.Context {
	return context.WithValue(ctx, fenceKey{}, Fence(nil))
}
