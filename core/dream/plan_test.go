package dream_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/dream"
)

func TestOrganizationReport_IsReadAfterItsHeader(t *testing.T) {
	for text, want := range map[string]*dream.OrganizationReport{
		"no report, consolidated: 3": nil,
		"## organization report":     {},
		"x\n## Organization Report\nConsolidated: 3\nremoved=4\nconsolidated: 9": {Consolidated: 3, Removed: 4},
		"## ORGANIZATION REPORT\n- re-indexed: 7":                                {Reindexed: 7},
		"## Organization Report\nre_indexed = 7, re indexed: 8":                  {Reindexed: 7},
		"## Organization Report\nremoved: 99999999999999999999":                  {},
		"consolidated: 5\n## Organization Report\nremoved: 1":                    {Removed: 1},
	} {
		got := dream.ParseOrganizationReport(text)
		if (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

func FuzzParseOrganizationReport(f *testing.F) {
	f.Add("## Organization Report\nconsolidated: 1")
	f.Fuzz(func(t *testing.T, text string) {
		if r := dream.ParseOrganizationReport(text); r != nil && (r.Consolidated < 0 || r.Removed < 0 || r.Reindexed < 0) {
			t.Errorf("%q: %+v", text, r)
		}
	})
}

func TestOptions_ImportanceFades(t *testing.T) {
	for decay, want := range map[string]float64{
		"": math.Exp(-.4), "exponential": math.Exp(-.4), "exponential:0.01": math.Exp(-1), "linear": .6, "linear:0.02": 0,
		"step:99h": 0, "step:100": 1, "power_law:0.5": math.Pow(101, -.5),
	} {
		o := dream.Options{Decay: decay}
		if err := o.Validate(); err != nil {
			t.Errorf("%q: %v", decay, err)
		}
		if got := o.Effective(.5, 0, 100); math.Abs(got-want/2) > 1e-9 {
			t.Errorf("%q: %g, want %g", decay, got, want/2)
		}
	}
	for _, decay := range []string{"none", "step", "step:-1h", "power_law", "linear:x", ":1"} {
		o := dream.Options{Decay: decay, Strategy: "best", StaleBelow: 2}
		if err := o.Validate(); err == nil || strings.Count(err.Error(), "not") < 3 {
			t.Errorf("%q: %v", decay, err)
		}
	}
}

// said is a memory of little importance.
func said(id, content string, days int) dream.Item {
	at := time.Date(2026, time.April, 1+days, 0, 0, 0, 0, time.UTC)
	return dream.Item{Memory: &core.Memory{
		ID: id, Namespace: "ns", Kind: core.KindObservation, Title: content, Content: content, State: core.StateOpen, Importance: .2,
		CreatedAt: at, UpdatedAt: at,
	}}
}

func TestPlan_DecidesContradictions(t *testing.T) {
	items := []dream.Item{
		said("old", "JWT tokens of the mail service expire after 1 hour", 0), said("new", "JWT tokens of the mail service expire after 24 hours", 1),
		said("else", "The rent of the flat is due in May", 2),
	}
	items[0].Memory.Signals.Successes = 5
	for strategy, archived := range map[dream.Strategy]string{
		"": "old", dream.KeepNewest: "old", dream.KeepHighestImportance: "old", dream.EvidenceWeighted: "new", dream.Manual: "",
	} {
		plan, err := dream.Make(t.Context(), &dream.Input{Namespace: "ns", At: time.Date(2026, time.May, 1, 0, 0, 0, 0, time.UTC), Items: items, Options: dream.Options{Strategy: strategy}})
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case archived == "":
			if len(plan.Steps) != 0 || len(plan.Conflicts) != 1 || plan.Conflicts[0].Newer != "new" {
				t.Errorf("%s: %+v", strategy, plan)
			}
		case len(plan.Steps) != 1 || plan.Steps[0].Kind != dream.StepConflict || plan.Steps[0].Reads[1].MemoryID != archived:
			t.Errorf("%s: %+v", strategy, plan.Steps)
		}
	}
	items[0].Memory.Importance = .9
	plan, err := dream.Make(t.Context(), &dream.Input{Namespace: "ns", Items: items})
	if err != nil || len(plan.Steps) != 0 || len(plan.Conflicts) != 1 {
		t.Errorf("%+v, %v", plan, err)
	}
}
