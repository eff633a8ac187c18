package store

import (
	"context"

	"github.com/reflectory/reflectory/core"
)

// Fenceable is a store that is open already, with what [WithFence] needs of one: a
// transaction is refused if the fence in its context refuses it.
func Fenceable(s core.Store) core.Store { return &fenceable{fenced{Store: s}} }

// fenceable passes on what its store can do besides.
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

// Compact implements [Compacter]. A store that needs none does nothing.
func (s *fenceable) Compact(ctx context.Context, from, to []byte) error {
	if c, ok := s.Store.(Compacter); ok {
		return c.Compact(ctx, from, to)
	}
	return nil
}

// WithoutFence returns a context without the fences of [WithFence], for a write that is
// right or wrong by something else.
func WithoutFence(ctx context.Context) context.Context {
	return context.WithValue(ctx, fenceKey{}, Fence(nil))
}
