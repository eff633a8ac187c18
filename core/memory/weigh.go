package memory

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/core/memory/turn"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/sdk"
)

// Weigh returns what the gate would decide on a memory now, whatever the memory's
// state. It writes nothing and has no consequences, unlike [Gate.Revalidate].
func (g *Gate) Weigh(ctx context.Context, id string, r RevalidateRequest) (d *verdict.GateDecision, err error) {
	if g.options.Gate == nil {
		return nil, gateMissing()
	}
	err = g.records.View(ctx, func(reader core.Reader) error {
		memory, err := record.Read(reader, id)
		if err != nil {
			return err
		}
		c, err := g.newCase(reader, memory, &r)
		if err != nil {
			return err
		}
		d, err = g.options.Gate.Decide(ctx, policypoint.Unrecorded{Reader: reader}, c)
		return err
	})
	return d, sdk.Wrap("weigh memory "+bounds.Shorten(id), err)
}

// newCase is what the gate knows about a memory.
func (g *Gate) newCase(r core.Reader, memory *core.Memory, request *RevalidateRequest) (c *verdict.GateCase, err error) {
	c = &verdict.GateCase{Memory: memory, Omega: request.Omega, Notes: request.Notes}
	if c.Governance, err = g.records.Governance(r, memory.Namespace); err != nil {
		return nil, err
	}
	if c.Effect, err = effectOf(r, memory, c.Governance); err != nil {
		return nil, err
	}
	merged, err := mergedInto(r, memory.ID)
	if err != nil {
		return nil, err
	}
	for _, victim := range merged {
		c.Merged = append(c.Merged, victim.ID)
	}
	c.Turn, err = turn.Counter(r, memory.Namespace)
	return c, err
}

// effectOf is what a memory's trial shows, where its namespace experiments: nil elsewhere, and for a memory that
// nothing puts to the test.
func effectOf(r core.Reader, m *core.Memory, g *core.Governance) (*core.Effect, error) {
	if g.Experiment != core.ExperimentOn {
		return nil, nil //nolint:nilnil // none is no error
	}
	of, err := record.ReadTrial(r, m.ID)
	if err != nil || len(of.Rows) == 0 && !m.Signals.RidesAlong() {
		return nil, err
	}
	return of.Effect(), nil
}

func gateMissing() error {
	return sdk.Errorf(sdk.Unavailable, "gate_missing", "there is no gate here").
		WithHint("set one in the memories' options, such as core/gate")
}
