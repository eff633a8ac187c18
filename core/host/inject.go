package host

import (
	"context"
	"encoding/json"

	"github.com/reflectory/reflectory/core/inject"
	"github.com/reflectory/reflectory/core/inject/policytext"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

// injectedKnowledge is how many entries of knowledge a turn's context gets at most: each
// entry was proven by many turns, so a few are enough.
const injectedKnowledge = 3

// newInjections makes the builder of the snapshots of turns.
func (h *Host) newInjections() *inject.Builder {
	return &inject.Builder{
		Repository: h.Snapshots, Recaller: h.Memories, Decider: h.Policies, Clock: h.config.Clock,
		Standing: h.promptPolicies(), Sources: []inject.Source{knowledgeSource{h}, sessionBlocks{h}}, Sessions: sessionBlocks{h}, Roles: h.roleMixer(), Begin: sessionBlocks{h}.begin, Salt: h.saltOf,
	}
}

// promptPolicies are the operator's blocks.
func (h *Host) promptPolicies() inject.Source {
	return policytext.Source{Files: h.promptFiles(PromptPolicyDir)}
}

// saltOf is the salt of a memory; "" if the memory doesn't exist.
func (h *Host) saltOf(ctx context.Context, memoryID string) (string, error) {
	m, err := h.Memories.Get(ctx, memoryID)
	if sdk.CodeOf(err) == sdk.NotFound {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return m.Salt, nil
}

// knowledgeSource recalls knowledge for a turn.
type knowledgeSource struct{ host *Host }

// Blocks implements [inject.Source].
func (s knowledgeSource) Blocks(ctx context.Context, t *inject.Turn) ([]inject.Draft, error) {
	if t.Query == "" {
		return nil, nil
	}
	found, err := s.host.Memories.RecallKnowledge(ctx, &memory.KnowledgeQuery{Query: t.Query, Namespace: t.Namespace, Limit: injectedKnowledge})
	if err != nil {
		return nil, err
	}
	drafts := make([]inject.Draft, len(found))
	for i := range found {
		k := found[i].Knowledge
		salt, err := s.host.saltOf(ctx, k.PromotedFrom)
		if err != nil {
			return nil, err
		}
		drafts[i] = inject.RecalledKnowledge(k, salt, i)
	}
	return drafts, nil
}

// hostInjector builds the snapshots of a run's nodes without restrictions.
type hostInjector struct{ builder *inject.Builder }

// Inject implements [action.Injector].
func (i hostInjector) Inject(ctx context.Context, request json.RawMessage) (any, error) {
	r, err := inject.ReadRequest(request)
	if err != nil {
		return nil, err
	}
	return i.builder.Build(ctx, r, inject.FromOperator)
}
