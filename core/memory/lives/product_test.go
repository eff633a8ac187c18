package lives_test

import (
	"context"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/governance"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/memory/embed"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/policy"
)

// namespace is where the agents remember.
const namespace = "agents"

// product is the product's memory, with the policies and the gate that it comes with.
type product struct {
	*memory.Memories
	t        *testing.T
	writer   *journal.Writer
	clock    *coretest.Clock
	governor *governance.Governor
	// tools are what the tools of a turn showed, for its report.
	tools []core.ToolOutcome
	// withheld is what the last recall left out by chance.
	withheld []string
}

func newProduct(t *testing.T) *product {
	t.Helper()
	p := &product{t: t, clock: &coretest.Clock{}}
	store := mem.Open()
	policies := policy.New(policy.AllPoints(), policy.Options{})
	p.writer = &journal.Writer{Store: store, Clock: p.clock}
	p.governor = governance.New(p.writer)
	var err error
	p.Memories, err = memory.New(memory.Options{
		Store: store, Clock: p.clock, IDs: &coretest.IDs{}, Random: &coretest.Random{}, Embedder: embed.Hashed{},
		Governor: p.governor, Reflection: policies, Retention: policies,
		Gate: gate.New(policies), Evidence: gate.Evidence{},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// govern sets how the namespace is governed.
func (p *product) govern(settings ...string) *product {
	p.t.Helper()
	if len(settings) == 0 {
		return p
	}
	if _, err := p.governor.Set(p.t.Context(), namespace, settings...); err != nil {
		p.t.Fatal(err)
	}
	return p
}

// as is a user of the memory.
func (p *product) as(who string) context.Context {
	return core.WithCaller(p.t.Context(), core.Caller{Subject: who, Label: who})
}

func (p *product) learn(n note) {
	p.t.Helper()
	p.clock.Advance(time.Second)
	if _, err := p.Observe(p.t.Context(), &core.ObserveRequest{ID: n.id, Namespace: namespace, Title: "note", Content: n.content}); err != nil {
		p.t.Fatal(err)
	}
}

func (p *product) recall(q request) (ids []string) {
	p.t.Helper()
	p.clock.Advance(time.Minute)
	found, err := p.Recall(p.as(q.who), &core.RecallRequest{
		Session: q.session, Turn: q.turn, Query: q.question, RecallFilter: core.RecallFilter{Namespace: namespace},
	})
	if err != nil {
		p.t.Fatal(err)
	}
	p.withheld = found.Withheld
	for _, m := range found.Memories {
		ids = append(ids, m.ID)
	}
	return ids
}

func (p *product) report(r report) {
	p.t.Helper()
	outcome := core.OutcomeFailure
	if r.success {
		outcome = core.OutcomeSuccess
	}
	_, err := p.Feedback(p.as(r.who), &core.FeedbackRequest{Session: r.session, Turn: r.turn, Outcome: outcome, Source: "tool", Used: r.named, Reply: r.reply, ToolOutcomes: p.tools})
	if err != nil {
		p.t.Fatal(err)
	}
}
