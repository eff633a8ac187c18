package table

import (
	"context"

	"github.com/reflectory/reflectory/core"
)

// Part is some kinds that are checked and rebuilt together, in their order.
type Part []interface {
	Derived() []string
	Rows() []string
	check(ctx context.Context, r core.Reader, report func(core.Problem)) error
	Rebuild(ctx context.Context, s core.Store) error
}

var _ core.Rebuilder = Part{}

// Derived implements [core.Rebuilder].
func (p Part) Derived() (list []string) {
	for _, k := range p {
		list = append(list, k.Derived()...)
	}
	return list
}

// Rows are the rows of its kinds in the description of the format.
func (p Part) Rows() (list []string) {
	for _, k := range p {
		list = append(list, k.Rows()...)
	}
	return list
}

// Check implements [core.Checker].
func (p Part) Check(ctx context.Context, r core.Reader, report func(core.Problem)) (err error) {
	for i := 0; err == nil && i < len(p); i++ {
		err = p[i].check(ctx, r, report)
	}
	return err
}

// check is Check of what is declared.
func (k *Kind[R]) check(ctx context.Context, r core.Reader, report func(core.Problem)) error {
	return k.Check(ctx, r, report, nil)
}

// Rebuild implements [core.Rebuilder].
func (p Part) Rebuild(ctx context.Context, s core.Store) (err error) {
	for i := 0; err == nil && i < len(p); i++ {
		err = p[i].Rebuild(ctx, s)
	}
	return err
}
