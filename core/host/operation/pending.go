package operation

import (
	"context"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

// pending are the operations on pending reflections.
func pending() []Operation {
	return []Operation{
		define(Operation{
			Name: "memory_pending", listed: true, Method: "GET", Path: "/v1/pending", Scope: core.ScopeApprove, ReadOnly: true, Idempotent: true,
			Doc: "List the reflections that wait for approval.",
		}, ofWaiting, memoryPending),
		define(Operation{
			Name: "memory_approve", Method: "POST", Path: "/v1/pending/{id}/approve", Scope: core.ScopeApprove,
			Doc: "Approve a reflection that waits for approval: it is checked again, and written.",
		}, ofPending(func(in *MemoryApprove) *string { return &in.ID }), memoryApprove),
		define(Operation{
			Name: "memory_reject", Method: "POST", Path: "/v1/pending/{id}/reject", Scope: core.ScopeApprove, Destructive: true,
			Doc: "Reject a reflection that waits for approval.",
		}, ofPending(func(in *MemoryReject) *string { return &in.ID }), memoryReject),
	}
}

// ofPending is the place of a pending reflection, named by its id or, for a caller that
// reaches every namespace, the start of its id.
func ofPending[In any](id func(*In) *string) func(context.Context, *Call, *In) (place, error) {
	return func(ctx context.Context, c *Call, in *In) (place, error) {
		given := id(in)
		absent := absence(memory.PendingNotFound, *given)
		found, err := c.Host.Memories.FindPending(ctx, *given)
		if !c.reaches("**") {
			switch code := sdk.CodeOf(err); {
			case err == nil && found.ID != *given, code == sdk.NotFound, code == sdk.Invalid, code == sdk.Conflict:
				return place{}, absent()
			}
		}
		if err != nil {
			return place{}, err
		}
		*given = found.ID
		return place{namespaces: []string{found.Namespace}, absent: absent}, nil
	}
}

// MemoryPending selects pending reflections: in a namespace, or in all that the caller
// reaches.
type MemoryPending struct {
	Namespace string `json:"namespace,omitempty"`
	// Since leaves out what was requested before; the zero time selects all.
	Since time.Time `json:"since,omitzero"`
	Paging
}

func ofWaiting(_ context.Context, _ *Call, in *MemoryPending) (place, error) {
	if in.Namespace == "" {
		return place{}, nil
	}
	return place{namespaces: []string{in.Namespace}}, nil
}

func (in *MemoryPending) check() error {
	return core.JoinErrors(checkNamespace(in.Namespace), in.Paging.check())
}

func memoryPending(ctx context.Context, c *Call, in *MemoryPending) (*Page[*memory.Pending], error) {
	filter := *in
	filter.Paging = Paging{}
	after, limit, err := in.open(ctx, c, filter)
	if err != nil {
		return nil, err
	}
	list, err := c.Host.Memories.Pending(ctx, memory.PendingFilter{
		Namespace: in.Namespace, Reaches: c.reaches, Since: in.Since, After: after, Limit: limit + 1, // one more shows whether there is a next page
	})
	if err != nil {
		return nil, err
	}
	next := ""
	if len(list) > limit {
		list = list[:limit]
		next = list[limit-1].ID
	}
	return pageOf(ctx, c, list, next, filter)
}

// MemoryApprove names a pending reflection.
type MemoryApprove struct {
	ID string `json:"id"`
}

func memoryApprove(ctx context.Context, c *Call, in *MemoryApprove) (*core.ReflectResult, error) {
	return c.Host.Memories.Approve(ctx, in.ID)
}

// MemoryReject names a pending reflection, and the reason why it is rejected.
type MemoryReject struct {
	ID string `json:"id"`
	// Reason has up to 1,024 bytes; the journal keeps its digest.
	Reason string `json:"reason,omitempty"`
}

func memoryReject(ctx context.Context, c *Call, in *MemoryReject) (*memory.Pending, error) {
	return c.Host.Memories.Reject(ctx, in.ID, in.Reason)
}
