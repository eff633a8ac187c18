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

// Memories is what workflows and other surfaces do with memories.
type Memories interface {
	Observe(ctx context.Context, r *ObserveRequest) (*Memory, error)
	Reflect(ctx context.Context, r *ReflectRequest) (*ReflectResult, error)
	Recall(ctx context.Context, r *RecallRequest) (*RecallResult, error)
	Feedback(ctx context.Context, r *FeedbackRequest) (*FeedbackResult, error)
}

// Teacher lets memories learn from how a run went.
type Teacher interface {
	// Feedback ends a turn of the run.
	Feedback(ctx context.Context, r *FeedbackRequest) (*FeedbackResult, error)
	// AddDAG records a workflow's graph, in which the memories of earlier runs keep
	// their nodes.
	AddDAG(ctx context.Context, dag *WorkflowDAG) error
}
