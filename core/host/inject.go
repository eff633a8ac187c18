package host

import (
	"context"
	"encoding/json"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/inject"
	"github.com/reflectory/reflectory/core/inject/policytext"
	"github.com/reflectory/reflectory/core/inject/rolemix"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

// injectedKnowledge is how many entries of knowledge a turn's context gets at most: each
// entry was proven by many turns, so a few are enough.
const injectedKnowledge = 3

// builder makes the builder of the snapshots of turns.
func (p *Prompts) builder(to *inject.Repository) *inject.Builder {
	session := sessionBlocks{p}
	return &inject.Builder{
		Repository: to, Recaller: p.memories, Decider: p.policies, Clock: p.config.Clock,
		Standing: policytext.Source{Files: p.source(PromptPolicyDir)}, Sources: []inject.Source{knowledgeSource{p}, session}, Sessions: session,
		Roles: &rolemix.Mixer{Files: p.source(RoleMixDir)}, Begin: session.begin, Memory: p.memory,
	}
}

// memory is a memory; nil if it doesn't exist.
func (p *Prompts) memory(ctx context.Context, id string) (*core.Memory, error) {
	m, err := p.memories.Get(ctx, id)
	if sdk.CodeOf(err) == sdk.NotFound {
		return nil, nil //nolint:nilnil // none is no error
	}
	return m, err
}

// knowledgeSource recalls knowledge for a turn.
type knowledgeSource struct{ prompts *Prompts }

// Blocks implements [inject.Source].
func (s knowledgeSource) Blocks(ctx context.Context, t *inject.Turn) ([]inject.Draft, error) {
	if t.Query == "" {
		return nil, nil
	}
	found, err := s.prompts.memories.Knowledge.Recall(ctx, &memory.KnowledgeQuery{Query: t.Query, Namespace: t.Namespace, Limit: injectedKnowledge, ForPrompt: true})
	if err != nil {
		return nil, err
	}
	drafts := make([]inject.Draft, len(found))
	for i := range found {
		k := found[i].Knowledge
		salt := ""
		if m, err := s.prompts.memory(ctx, k.PromotedFrom); err != nil {
			return nil, err
		} else if m != nil {
			salt = m.Salt
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
