package operation

import (
	"context"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory"
)

// knowledge are the operations on promoted knowledge.
func knowledge() []Operation {
	return []Operation{
		define(Operation{
			Name: "knowledge_get", Method: "GET", Path: "/v1/knowledge/{id}", Scope: core.ScopeMemoryRead, ReadOnly: true, Idempotent: true,
			Doc: "Show a whole entry of knowledge.",
		}, ofKnowledge, knowledgeGet),
		define(Operation{
			Name: "knowledge_list", Method: "GET", Path: "/v1/knowledge", Scope: core.ScopeMemoryRead, ReadOnly: true, Idempotent: true,
			Doc: "List knowledge, the newest first.",
		}, inNamespace(func(in *KnowledgeList) *string { return &in.Namespace }), knowledgeList),
		define(Operation{
			Name: "knowledge_recall", Method: "POST", Path: "/v1/knowledge/recall", Scope: core.ScopeMemoryRead, ReadOnly: true, Idempotent: true,
			Doc: "Find the knowledge that fits a text best.",
		}, inTree(func(in *memory.KnowledgeQuery) (*string, bool) { return &in.Namespace, in.Subtree }), knowledgeRecall),
		define(Operation{
			Name: "knowledge_supersede", Method: "POST", Path: "/v1/knowledge/{id}/supersede", Scope: core.ScopeMemoryWrite, Idempotent: true,
			Doc: "Mark an entry of knowledge as superseded by another of its namespace. It stays.",
		}, ofSuperseded, knowledgeSupersede),
	}
}

// KnowledgeGet names an entry.
type KnowledgeGet struct {
	ID string `json:"id"`
}

func ofKnowledge(ctx context.Context, c *Call, in *KnowledgeGet) (place, error) {
	return c.atKnowledge(ctx, &in.ID)
}

// atKnowledge finds an entry by its id or, for a caller that reaches every namespace, the
// start of its id, completes the id, and returns the entry's place.
func (c *Call) atKnowledge(ctx context.Context, id *string) (place, error) {
	absent := absence(memory.KnowledgeNotFound, *id)
	find := c.Host.Memories.Knowledge.Get
	if c.reaches("**") {
		find = c.Host.Memories.Knowledge.Find
	}
	found, err := find(ctx, *id)
	if err != nil {
		return place{}, c.known(err, absent)
	}
	*id = found.ID
	return place{namespaces: []string{found.Namespace}, absent: absent}, nil
}

func knowledgeGet(ctx context.Context, c *Call, in *KnowledgeGet) (*core.Knowledge, error) {
	return c.Host.Memories.Knowledge.Get(ctx, in.ID)
}

// KnowledgeList selects entries.
type KnowledgeList struct {
	Namespace string `json:"namespace,omitempty"`
	// Superseded includes entries that another entry replaced.
	Superseded bool `json:"superseded,omitempty"`
	// Since leaves out entries that were promoted before; the zero time selects all.
	Since time.Time `json:"since,omitzero"`
	Paging
}

func (in *KnowledgeList) check() error {
	return core.JoinErrors(checkNamespace(in.Namespace), in.Paging.check())
}

func knowledgeList(ctx context.Context, c *Call, in *KnowledgeList) (*Page[*core.Knowledge], error) {
	filter := *in
	filter.Paging = Paging{}
	after, limit, err := in.open(ctx, c, filter)
	if err != nil {
		return nil, err
	}
	list, next, err := c.Host.Memories.Knowledge.List(ctx, memory.KnowledgeFilter{
		Namespace: in.Namespace, Superseded: in.Superseded, Since: in.Since, Limit: limit, After: after,
	})
	if err != nil {
		return nil, err
	}
	return pageOf(ctx, c, list, next, filter)
}

// KnowledgeRecalled is what was found, the best first.
type KnowledgeRecalled struct {
	Knowledge []memory.RecalledKnowledge `json:"knowledge"`
}

func knowledgeRecall(ctx context.Context, c *Call, in *memory.KnowledgeQuery) (*KnowledgeRecalled, error) {
	found, err := c.Host.Memories.Knowledge.Recall(ctx, in)
	if err != nil {
		return nil, err
	}
	return &KnowledgeRecalled{orEmpty(found)}, nil
}

// KnowledgeSupersede names an entry, and the entry that replaces it.
type KnowledgeSupersede struct {
	ID string `json:"id"`
	By string `json:"by"`
}

// ofSuperseded is the place of both entries. An entry that the caller doesn't reach is
// treated as missing.
func ofSuperseded(ctx context.Context, c *Call, in *KnowledgeSupersede) (place, error) {
	var at place
	for _, id := range []*string{&in.ID, &in.By} {
		one, err := c.atKnowledge(ctx, id)
		if err == nil && !c.reaches(one.namespaces[0]) {
			err = one.absent()
		}
		if err != nil {
			return place{}, err
		}
		at.namespaces, at.absent = append(at.namespaces, one.namespaces...), one.absent
	}
	return at, nil
}

func knowledgeSupersede(ctx context.Context, c *Call, in *KnowledgeSupersede) (*core.Knowledge, error) {
	if err := c.Host.Memories.Knowledge.Supersede(ctx, in.ID, in.By); err != nil {
		return nil, err
	}
	return c.Host.Memories.Knowledge.Get(ctx, in.ID)
}
