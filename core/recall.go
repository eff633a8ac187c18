package core

import (
	"context"

	"github.com/reflectory/reflectory/sdk"
)

// Recaller recalls memories for plugins, read only.
type Recaller interface {
	// Recall returns the memories of the run's namespace that fit best. A run
	// that has none, or "", is refused.
	Recall(ctx context.Context, runID string, r *sdk.RecallRequest) (*sdk.RecallResponse, error)
}
