package operation

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

// memories are the operations on memories.
func memories() []Operation {
	return []Operation{
		define(Operation{
			Name: "memory_observe", named: true, Method: "POST", Path: "/v1/memories", Scope: core.ScopeMemoryWrite,
			Doc: "Store a new memory.",
		}, ofObserved, memoryObserve),
		define(Operation{
			Name: "memory_observe_all", named: true, Method: "POST", Path: "/v1/memories/batch", Scope: core.ScopeMemoryWrite,
			Doc: "Store up to 1,000 new memories in one transaction: all of them, or none.",
		}, ofBatch, memoryObserveAll),
		define(Operation{
			Name: "memory_reflect", named: true, Method: "POST", Path: "/v1/reflections", Scope: core.ScopeMemoryWrite,
			Doc: "Store a memory that is derived from others, one deeper than the deepest of them.",
		}, ofSources, memoryReflect),
		define(Operation{
			Name: "memory_recall", named: true, Method: "POST", Path: "/v1/recall", Scope: core.ScopeMemoryRead,
			Doc: "Find the memories that fit a text best, as the tool retrieve does; with a session, as one of its turns.",
		}, ofRecall, memoryRecall),
		define(Operation{
			Name: "memory_feedback", Method: "POST", Path: "/v1/feedback", Scope: core.ScopeMemoryWrite, Idempotent: true,
			Doc: "Say how a turn went, and which of its memories were used.",
		}, ofTurn, memoryFeedback),
		define(Operation{
			Name: "memory_get", Method: "GET", Path: "/v1/memories/{id}", Scope: core.ScopeMemoryRead, ReadOnly: true, Idempotent: true,
			Doc: "Show a whole memory, with its links.",
		}, ofLinkedMemory, memoryGet),
		define(Operation{
			Name: "memory_list", listed: true, Method: "GET", Path: "/v1/memories", Scope: core.ScopeMemoryRead, ReadOnly: true, Idempotent: true,
			Doc: "List memories, the newest first.",
		}, inTree(func(in *MemoryList) (*string, bool) { return &in.Namespace, in.Subtree }), memoryList),
		define(Operation{
			Name: "memory_namespaces", listed: true, Method: "GET", Path: "/v1/namespaces", Scope: core.ScopeMemoryRead, ReadOnly: true, Idempotent: true,
			Doc: "List the namespaces that hold memories.",
		}, onHost[MemoryNamespaces], memoryNamespaces),
		define(Operation{
			Name: "memory_link", Method: "POST", Path: "/v1/memories/{from}/links", Scope: core.ScopeMemoryWrite, Idempotent: true,
			Doc: "Link two memories.",
		}, ofLink, memoryLink),
		define(Operation{
			Name: "memory_explain", Method: "GET", Path: "/v1/memories/{id}/explain", Scope: core.ScopeMemoryRead, ReadOnly: true, Idempotent: true,
			Doc: "Say why a memory is in its state, even if it was purged.",
		}, ofMemoryOrPurged, memoryExplain),
		define(Operation{
			Name: "memory_restore", Method: "POST", Path: "/v1/memories/{id}/restore", Scope: core.ScopeMemoryWrite, Idempotent: true,
			Doc: "Make an archived or consolidated memory active again.",
		}, ofMemory(func(in *MemoryRestore) *string { return &in.ID }), memoryRestore),
		define(Operation{
			Name: "memory_sweep", Method: "POST", Path: "/v1/sweep", Scope: core.ScopeMemoryErase, Destructive: true, Long: true, Job: job.Workflow,
			Doc: "Have the retention policy evaluate every memory of a namespace.",
		}, inNamespace(func(in *MemorySweep) *string { return &in.Namespace }), memorySweep),
		define(Operation{
			Name: "memory_reembed", Method: "POST", Path: "/v1/reembed", Scope: core.ScopeOperate, Idempotent: true, Long: true, Job: job.Reembed,
			Doc: "Recompute the vectors of a namespace with the configured model.",
		}, inNamespace(func(in *MemoryReembed) *string { return &in.Namespace }), memoryReembed),
	}
}

// ofObserved is the place of a new memory: its namespace, and the namespaces of the memories that it
// supersedes. Without a namespace of its own it is where the first of these is.
func ofObserved(ctx context.Context, c *Call, in *core.ObserveRequest) (place, error) {
	var of place
	var err error
	if len(in.Supersedes) > 0 {
		of, err = c.atMemories(ctx, in.Supersedes)
		if err != nil {
			return of, err
		}
		if len(of.namespaces) > 0 {
			in.Namespace = cmp.Or(in.Namespace, of.namespaces[0])
		}
	}
	at, err := inNamespace(func(in *core.ObserveRequest) *string { return &in.Namespace })(ctx, c, in)
	if err != nil || !c.reaches(in.Namespace) {
		return at, err
	}
	of.namespaces = append(of.namespaces, at.namespaces...)
	return of, err
}

func memoryObserve(ctx context.Context, c *Call, in *core.ObserveRequest) (*core.Memory, error) {
	asked := *in
	asked.IdempotencyKey = c.named(in.IdempotencyKey, 0)
	return c.Host.Memories.Observe(ctx, &asked)
}

// MemoryObserveAll asks for new memories.
type MemoryObserveAll struct {
	Items []*core.ObserveRequest `json:"items"`
}

// MemoryObservedAll counts the results.
type MemoryObservedAll struct {
	// Observed counts new memories, and Repeated the memories that were already stored,
	// by their idempotency keys. WithoutVector counts the memories that are only found by
	// their words.
	Observed      int `json:"observed"`
	Repeated      int `json:"repeated"`
	WithoutVector int `json:"without_vector,omitempty"`

	ids []string
}

func ofBatch(ctx context.Context, c *Call, in *MemoryObserveAll) (place, error) {
	var at place
	for i, r := range in.Items {
		p, err := ofObserved(ctx, c, r)
		if err != nil {
			return place{}, sdk.Wrap(itemName(i), err)
		}
		at.namespaces = append(at.namespaces, p.namespaces...)
	}
	slices.Sort(at.namespaces)
	at.namespaces = slices.Compact(at.namespaces)
	return at, nil
}

func memoryObserveAll(ctx context.Context, c *Call, in *MemoryObserveAll) (*MemoryObservedAll, error) {
	items, own := make([]*core.ObserveRequest, len(in.Items)), false
	for i, item := range in.Items {
		asked := *item
		asked.IdempotencyKey = c.named(item.IdempotencyKey, i)
		items[i], own = &asked, own || item.IdempotencyKey != ""
	}
	stored, repeated, err := c.Host.Memories.ObserveAll(ctx, items)
	if !own {
		repeated = 0 // by this call, before a crash
	}
	if err != nil {
		return nil, err
	}
	out := &MemoryObservedAll{Observed: len(stored) - repeated, Repeated: repeated}
	for _, m := range stored {
		out.ids = append(out.ids, m.ID)
		if m.EmbeddingModel == "" {
			out.WithoutVector++
		}
	}
	return out, nil
}

// ofSources is the place of a reflection: the namespaces of its sources, and its own.
func ofSources(ctx context.Context, c *Call, in *core.ReflectRequest) (place, error) {
	at, err := c.atMemories(ctx, in.SourceIDs)
	if err == nil && in.Namespace != "" {
		at.namespaces = append(at.namespaces, in.Namespace)
	}
	return at, err
}

func memoryReflect(ctx context.Context, c *Call, in *core.ReflectRequest) (*core.ReflectResult, error) {
	asked := *in
	asked.IdempotencyKey = c.named(in.IdempotencyKey, 0)
	return c.Host.Memories.Reflect(ctx, &asked)
}

// Recalled is what a recall returned or, if it found nothing, the namespaces that have
// memories.
type Recalled struct {
	*core.RecallResult
	Namespaces []memory.NamespaceCount `json:"namespaces,omitempty"`
}

// MemoryGet names a memory.
type MemoryGet struct {
	ID string `json:"id"`
}

// Memory is a memory with its links.
type Memory struct {
	*core.Memory
	LinksFrom []core.Link `json:"links_from"`
	LinksTo   []core.Link `json:"links_to"`
}

func memoryGet(ctx context.Context, c *Call, _ *MemoryGet) (*Memory, error) {
	if c.links.Err != nil {
		return nil, c.links.Err
	}
	return &Memory{c.memory, c.seenLinks(ctx, c.links.From), c.seenLinks(ctx, c.links.To)}, nil
}

// MemoryList selects memories: see [memory.ListFilter].
type MemoryList struct {
	Namespace string             `json:"namespace,omitempty"`
	Subtree   bool               `json:"subtree,omitempty"`
	Kinds     []core.MemoryKind  `json:"kinds,omitempty"`
	States    []core.MemoryState `json:"states,omitempty"`
	Tags      []string           `json:"tags,omitempty"`
	AgentID   string             `json:"agent_id,omitempty"`
	// Current leaves out memories that recall doesn't return, such as those that another supersedes.
	Current bool `json:"current,omitempty"`
	// Since leaves out memories that were written before; the zero time selects all.
	Since time.Time `json:"since,omitzero"`
	Paging
}

// Memories is a page of memories or, if the page is empty, the namespaces that have
// memories.
type Memories struct {
	Page[*core.Memory]
	Namespaces []memory.NamespaceCount `json:"namespaces,omitempty"`
}

func (in *MemoryList) filter() memory.ListFilter {
	return memory.ListFilter{Namespace: in.Namespace, Subtree: in.Subtree, Kinds: in.Kinds, States: in.States, Tags: in.Tags, AgentID: in.AgentID, Current: in.Current, Since: in.Since}
}

func (in *MemoryList) check() error {
	f := in.filter()
	f.Namespace = cmp.Or(f.Namespace, config.DefaultNamespace)
	return core.JoinErrors(f.Check(), in.Paging.check())
}

func memoryList(ctx context.Context, c *Call, in *MemoryList) (*Memories, error) {
	filter := *in
	filter.Paging = Paging{}
	after, limit, err := in.open(ctx, c, filter)
	if err != nil {
		return nil, err
	}
	selected := in.filter()
	selected.Limit, selected.After = limit, after
	page, err := c.Host.Memories.List(ctx, selected)
	if err != nil {
		return nil, err
	}
	shown, err := pageOf(ctx, c, page.Memories, page.Next, filter)
	if err != nil {
		return nil, err
	}
	out := &Memories{Page: *shown}
	if len(out.Items) == 0 && out.NextPageToken == "" {
		out.Namespaces, err = c.elsewhere(ctx)
	}
	return out, err
}

// MemoryNamespaces asks for all namespaces that the caller reaches.
type MemoryNamespaces struct{}

func memoryNamespaces(ctx context.Context, c *Call, _ *MemoryNamespaces) (*Page[memory.NamespaceCount], error) {
	list, err := c.namespaces(ctx)
	if err != nil {
		return nil, err
	}
	return allOf(list), nil
}

// namespaces are the namespaces with memories that the caller reaches.
func (c *Call) namespaces(ctx context.Context) ([]memory.NamespaceCount, error) {
	list, err := c.Host.Memories.Namespaces(ctx)
	return slices.DeleteFunc(list, func(n memory.NamespaceCount) bool { return !c.reaches(n.Namespace) }), err
}

// maxElsewhere is how many namespaces an empty result names.
const maxElsewhere = 10

// elsewhere are the namespaces with the most memories, for an empty result.
func (c *Call) elsewhere(ctx context.Context) ([]memory.NamespaceCount, error) {
	list, err := c.namespaces(ctx)
	slices.SortStableFunc(list, func(a, b memory.NamespaceCount) int { return cmp.Compare(b.Memories, a.Memories) })
	return list[:min(len(list), maxElsewhere)], err
}

func ofLink(ctx context.Context, c *Call, in *memory.LinkRequest) (place, error) {
	ids := []string{in.From, in.To}
	at, err := c.atMemories(ctx, ids)
	in.From, in.To = ids[0], ids[1]
	return at, err
}

func memoryLink(ctx context.Context, c *Call, in *memory.LinkRequest) (*core.Link, error) {
	link, err := c.Host.Memories.Link(ctx, in)
	if err != nil {
		return nil, err
	}
	return link, nil
}

// MemoryExplain names a memory, which may have been purged.
type MemoryExplain struct {
	ID string `json:"id"`
}

// ofMemoryOrPurged is ofMemory for requests that also work after a memory's purge.
func ofMemoryOrPurged(ctx context.Context, c *Call, in *MemoryExplain) (place, error) {
	absent := absence(memory.NotFound, in.ID)
	at, err := c.atMemory(ctx, &in.ID)
	if sdk.ReasonOf(err) == "memory_purged" {
		purged := sdk.AsError(err).Details
		namespace, _ := purged["namespace"].(string)
		if id, is := purged["memory_id"].(string); is {
			in.ID = id
		}
		return place{namespaces: []string{namespace}, absent: absent}, nil
	}
	return at, err
}

func memoryExplain(ctx context.Context, c *Call, in *MemoryExplain) (*memory.Explanation, error) {
	e, err := c.Host.Memories.Explain(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	e.LinksFrom, e.LinksTo = c.seenLinks(ctx, e.LinksFrom), c.seenLinks(ctx, e.LinksTo)
	return e, nil
}

// MemoryRestore names a memory.
type MemoryRestore struct {
	ID string `json:"id"`
}

func memoryRestore(ctx context.Context, c *Call, in *MemoryRestore) (*core.Memory, error) {
	return c.Host.Memories.Restore(ctx, in.ID)
}

// MemorySweep names a namespace.
type MemorySweep struct {
	Namespace string `json:"namespace,omitempty"`
}

func memorySweep(ctx context.Context, c *Call, in *MemorySweep) (*memory.SweepResult, error) {
	result, err := c.Host.Memories.Gate.Sweep(ctx, in.Namespace, func(p memory.SweepProgress) {
		c.progress(Progress{What: "memories", Done: int64(p.Evaluated + p.Gated)})
	})
	if result != nil {
		for i := range result.Purged {
			result.Purged[i] = *c.givenTo(ctx, &result.Purged[i])
		}
	}
	return result, err
}

// MemoryReembed names a namespace.
type MemoryReembed struct {
	Namespace string `json:"namespace,omitempty"`
}

func memoryReembed(ctx context.Context, c *Call, in *MemoryReembed) (*memory.ReembedProgress, error) {
	return c.Host.Memories.Vectors.Reembed(ctx, in.Namespace, func(p memory.ReembedProgress) {
		c.progress(Progress{What: "memories", Done: p.Looked, Total: p.Total})
	})
}
