package operation

import (
	"context"
	"encoding/json"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/inject"
)

// A workflow is a caller's text, and its nodes may name any memories and namespaces. So
// what a node does with memories is checked like the operation of the same name, with the
// scopes and namespaces of the caller that started or resumed the run: a run can't bypass
// them.

// runMemories are the memories as the nodes of a caller's run access them.
type runMemories struct{ call *Call }

var _ core.Memories = runMemories{}

// may refuses what the caller couldn't do by calling the operation directly.
func (m runMemories) may(ctx context.Context, name string, in any) error {
	o, err := Find(name)
	if err != nil {
		return err
	}
	return m.call.check(ctx, &o, in)
}

// Observe implements [core.Memories].
func (m runMemories) Observe(ctx context.Context, r *core.ObserveRequest) (*core.Memory, error) {
	if err := m.may(ctx, "memory_observe", r); err != nil {
		return nil, err
	}
	return m.call.Host.Memories.Observe(ctx, r)
}

// Reflect implements [core.Memories].
func (m runMemories) Reflect(ctx context.Context, r *core.ReflectRequest) (*core.ReflectResult, error) {
	if err := m.may(ctx, "memory_reflect", r); err != nil {
		return nil, err
	}
	return m.call.Host.Memories.Reflect(ctx, r)
}

// Recall implements [core.Memories].
func (m runMemories) Recall(ctx context.Context, r *core.RecallRequest) (*core.RecallResult, error) {
	if err := m.may(ctx, "memory_recall", r); err != nil {
		return nil, err
	}
	found, err := memoryRecall(ctx, m.call, r)
	if err != nil {
		return nil, err
	}
	return found.RecallResult, nil
}

// Inject implements [action.Injector].
func (m runMemories) Inject(ctx context.Context, request json.RawMessage) (any, error) {
	r, err := inject.ReadRequest(request)
	if err != nil {
		return nil, err
	}
	if err := m.may(ctx, "snapshot_build", r); err != nil {
		return nil, err
	}
	return snapshotBuild(ctx, m.call, r)
}

// Feedback implements [core.Memories].
func (m runMemories) Feedback(ctx context.Context, r *core.FeedbackRequest) (*core.FeedbackResult, error) {
	if err := m.may(ctx, "memory_feedback", r); err != nil {
		return nil, err
	}
	return memoryFeedback(ctx, m.call, r)
}
