package store

import (
	"context"

	"github.com/reflectory/reflectory/core"
)

// Migration is a step in one transaction.
type Migration = func(core.Tx) error

// PrepareTo prepares a store for a program whose formats' steps are each one transaction.
func PrepareTo(ctx context.Context, s core.Store, format int, steps []Migration) error {
	f := Formats{Newest: format}
	for _, step := range steps {
		f.Steps = append(f.Steps, Step{Whole: step})
	}
	return f.Prepare(ctx, s)
}
