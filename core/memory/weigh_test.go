package memory_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/sdk"
)

func TestWeigh_DecidesInEveryStateAndWritesNothing(t *testing.T) {
	w := living(t, openPebble(t), decides(verdict.NextPurge, 1), deferred)
	for _, state := range core.MemoryStates() {
		if state == core.StatePurged {
			continue
		}
		m := w.observe(t, core.ObserveRequest{Content: string(state)})
		m.State = state
		if err := w.Put(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		before := dump(t, w.store)
		d, err := w.Gate.Weigh(t.Context(), m.ID, revalidate)
		if err != nil || d.NextAction != verdict.NextPurge || d.ID != "" {
			t.Errorf("%s: %+v, error %v", state, d, err)
		}
		if diff := cmp.Diff(before, dump(t, w.store)); diff != "" {
			t.Errorf("%s: it wrote:\n%s", state, diff)
		}
	}
	_, err := w.Gate.Weigh(t.Context(), "nobody", revalidate)
	wantReason(t, err, sdk.NotFound, "memory_not_found")
}

func TestWeigh_GivesTheGateAllOfTheRequest(t *testing.T) {
	var asked *verdict.GateCase
	half := .5
	w := living(t, openPebble(t), gateFunc(func(c *verdict.GateCase) (*verdict.GateDecision, error) {
		asked = c
		return &verdict.GateDecision{}, nil
	}), nil)
	m := w.observe(t, core.ObserveRequest{Content: "c"})
	request := memory.RevalidateRequest{Omega: policypoint.OmegaFactors{UpstreamStatus: &half}, Notes: []string{"n"}}
	if _, err := w.Gate.Weigh(t.Context(), m.ID, request); err != nil {
		t.Fatal(err)
	}
	if asked.Memory.ID != m.ID || asked.Governance == nil || asked.Omega != request.Omega || asked.Notes[0] != "n" {
		t.Errorf("%+v", asked)
	}
}

func TestThereIsNoWeighingWithoutAGate(t *testing.T) {
	w := living(t, openPebble(t), nil, nil)
	_, err := w.Gate.Weigh(t.Context(), "any", revalidate)
	wantReason(t, err, sdk.Unavailable, "gate_missing")
}
