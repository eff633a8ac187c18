package memory

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/sdk"
)

// RunNamespaces returns the namespace of a run's memories; "" is none.
type RunNamespaces interface {
	RunNamespace(ctx context.Context, runID string) (string, error)
}

// Recaller recalls memories for plugins, within the namespace of the run that they
// serve, and records nothing.
type Recaller struct {
	Memories *Memories
	Runs     RunNamespaces
}

var _ core.Recaller = (*Recaller)(nil)

// Recall implements [core.Recaller].
func (p *Recaller) Recall(ctx context.Context, runID string, r *sdk.RecallRequest) (*sdk.RecallResponse, error) {
	namespace := ""
	if runID != "" {
		var err error
		if namespace, err = p.Runs.RunNamespace(ctx, runID); err != nil {
			return nil, err
		}
	}
	if namespace == "" {
		return nil, sdk.Errorf(sdk.Denied, "run_without_namespace", "run %q has no namespace, so nothing can be recalled for it", bounds.Shorten(runID)).
			WithHint("give one when the run is started").
			WithAction("run", "namespace", nil, "workflow", nil)
	}
	request := &core.RecallRequest{Query: r.Query, Limit: r.Limit}
	request.Namespace, request.Tags = namespace, r.Tags
	for _, kind := range r.Kinds {
		request.Kinds = append(request.Kinds, core.MemoryKind(kind))
	}
	result, err := p.Memories.Recall(ctx, request)
	if err != nil {
		return nil, err
	}
	response := &sdk.RecallResponse{Memories: make([]sdk.RecalledMemory, 0, len(result.Memories))}
	for _, found := range result.Memories {
		memory := found.Memory
		response.Memories = append(response.Memories, sdk.RecalledMemory{
			ID: memory.ID, Namespace: memory.Namespace, Kind: string(memory.Kind), Title: memory.Title, Content: memory.Content,
			// Boosts may raise a score above 1, the maximum that plugins are promised.
			Tags: memory.Tags, CreatedAt: memory.CreatedAt, Score: min(1, found.Score),
		})
	}
	return response, nil
}
