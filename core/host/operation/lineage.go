package operation

import (
	"cmp"
	"context"
	"strconv"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
)

// histories are the operations on where memories come from, and what happened to them.
func histories() []Operation {
	return []Operation{
		define(Operation{
			Name: "memory_lineage", Method: "GET", Path: "/v1/memories/{id}/lineage", Scope: core.ScopeMemoryRead, ReadOnly: true, Idempotent: true,
			Doc: "Show what a memory was derived from, and what was derived from it, up to 6 links away.",
		}, ofMemory(func(in *MemoryLineage) *string { return &in.ID }), memoryLineage),
		define(Operation{
			Name: "memory_history", Method: "GET", Path: "/v1/memories/{id}/history", Scope: core.ScopeMemoryRead, ReadOnly: true, Idempotent: true,
			Doc: "List the journal's entries about a memory, the oldest first, even if it was purged.",
		}, ofHistory, memoryHistory),
	}
}

// MemoryLineage names a memory.
type MemoryLineage struct {
	ID string `json:"id"`
	// Depth is how many links to follow, in either direction, from 1 to
	// [memory.MaxLineageDepth]; 0 means the maximum.
	Depth int `json:"depth,omitempty"`
}

func memoryLineage(ctx context.Context, c *Call, in *MemoryLineage) (*memory.Lineage, error) {
	return c.Host.Memories.Lineage(ctx, in.ID, cmp.Or(in.Depth, memory.MaxLineageDepth), c.reaches)
}

// MemoryHistory names a memory, which may have been purged.
type MemoryHistory struct {
	ID string `json:"id"`
	Paging
}

func ofHistory(ctx context.Context, c *Call, in *MemoryHistory) (place, error) {
	of := MemoryExplain{ID: in.ID}
	at, err := ofMemoryOrPurged(ctx, c, &of)
	in.ID = of.ID
	return at, err
}

func memoryHistory(ctx context.Context, c *Call, in *MemoryHistory) (*Page[journal.Entry], error) {
	filter := *in
	filter.Paging = Paging{}
	at, limit, err := in.open(ctx, c, filter)
	if err != nil {
		return nil, err
	}
	after, _ := strconv.ParseUint(at, 10, 64) // 0 for the first page
	entries, more, err := c.Host.Memories.History(ctx, in.ID, after, limit)
	if err != nil {
		return nil, err
	}
	next := ""
	if more {
		next = strconv.FormatUint(entries[len(entries)-1].Seq, 10)
	}
	return pageOf(ctx, c, entries, next, filter)
}
