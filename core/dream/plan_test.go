package dream_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/dream"
	"github.com/reflectory/reflectory/sdk"
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
	plan, err := dream.Make(t.Context(), &dream.Input{Namespace: "ns", Items: items, Options: dream.Options{Strategy: dream.MergeConflicts}})
	if err != nil || len(plan.Steps) != 1 || plan.Steps[0].Kind != dream.StepMerge || plan.Steps[0].Reads[0].MemoryID != "new" {
		t.Errorf("merged: %+v, %v", plan.Steps, err)
	}
	items[0].Memory.Importance = .9
	plan, err = dream.Make(t.Context(), &dream.Input{Namespace: "ns", Items: items})
	if err != nil || len(plan.Steps) != 0 || len(plan.Conflicts) != 1 {
		t.Errorf("%+v, %v", plan, err)
	}
	items[0].Memory.Importance, items[0].Memory.Tags = .2, []string{dream.Pinned}
	plan, err = dream.Make(t.Context(), &dream.Input{Namespace: "ns", Items: items})
	if err != nil || len(plan.Steps) != 0 || len(plan.Conflicts) != 0 {
		t.Errorf("pinned: %+v, %v", plan, err)
	}
}

// TestPlan_FindsContradictionsByVectors: of a calibrated model, from a cosine of .80 on, also
// where the words differ; of another model never. A judge that finds the same in both is
// believed where only a word differs.
func TestPlan_FindsContradictionsByVectors(t *testing.T) {
	pair := func(a, b string, cosine float64) []dream.Item {
		items := []dream.Item{said("old", a, 0), said("new", b, 1)}
		items[0].Vector, items[1].Vector = []float32{1, 0}, []float32{float32(cosine), float32(math.Sqrt(1 - cosine*cosine))}
		for i := range items {
			items[i].Memory.EmbeddingModel = "m"
		}
		return items
	}
	conflicts := func(items []dream.Item, near map[string]float64, judge dream.Judge) []dream.Conflict {
		t.Helper()
		plan, err := dream.Make(t.Context(), &dream.Input{Namespace: "ns", Items: items, Near: near, Judge: judge, Options: dream.Options{Strategy: dream.Manual, SkipMerges: true}})
		if err != nil {
			t.Fatal(err)
		}
		return plan.Conflicts
	}
	const ada, bob = "The gateway of the archive has a timeout of 30 s", "The archive gateway's timeout is 60 s"
	calibrated := map[string]float64{"m": .95}
	if got := conflicts(pair(ada, bob, .81), calibrated, nil); len(got) != 1 || got[0].Class != dream.Number || got[0].Newer != "new" {
		t.Errorf("near ones of a calibrated model: %+v", got)
	}
	for name, got := range map[string][]dream.Conflict{
		"far ones":                           conflicts(pair(ada, bob, .79), calibrated, nil),
		"near ones of a model that isn't it": conflicts(pair(ada, bob, .99), nil, nil),
		"near ones about other subjects":     conflicts(pair("The nightly backup job of the archive runs at 3 am", "Every archive copy begins at 5 am", .99), calibrated, nil),
	} {
		if len(got) != 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	const purple, violet = "The door of the shed is purple", "The door of the shed is violet"
	if got := conflicts(pair(purple, violet, .9), calibrated, nil); len(got) != 1 || got[0].Class != dream.Value {
		t.Fatalf("a word differs: %+v", got)
	}
	for same, want := range map[bool]int{true: 0, false: 1} {
		if got := conflicts(pair(purple, violet, .9), calibrated, verdict(same)); len(got) != want {
			t.Errorf("a judge says %t: %+v", same, got)
		}
	}
	if got := conflicts(pair(ada, bob, .9), calibrated, verdict(true)); len(got) != 1 {
		t.Errorf("a judge is asked about a number: %+v", got)
	}
	once := &judge{}
	plan, err := dream.Make(t.Context(), &dream.Input{Namespace: "ns", Items: pair(purple, violet, .96), Near: calibrated, Judge: once, Options: dream.Options{Strategy: dream.Manual}})
	if err != nil || len(plan.Refusals) != 1 || len(plan.Conflicts) != 1 || once.asked != 1 {
		t.Errorf("a judge is asked %d times about a pair: %+v, %v", once.asked, plan, err)
	}
}

// A judge whose answer is no verdict decides nothing: the pair is neither merged nor archived as
// a contradiction.
func TestPlan_NoVerdictDecidesNothing(t *testing.T) {
	purple, violet := said("purple", "The door of the shed is purple", 0), said("violet", "The door of the shed is violet", 1)
	for _, near := range []float64{.9, .96} {
		angle := math.Acos(near)
		for i, item := range []*dream.Item{&purple, &violet} {
			item.Memory.Importance, item.Memory.EmbeddingModel = .1, "m"
			item.Vector = []float32{float32(math.Cos(angle * float64(i))), float32(math.Sin(angle * float64(i)))}
		}
		plan := func(judge dream.Judge) *dream.Plan {
			made, err := dream.Make(t.Context(), &dream.Input{Namespace: "ns", Items: []dream.Item{violet, purple}, Near: map[string]float64{"m": .92}, Judge: judge})
			if err != nil {
				t.Fatal(err)
			}
			return made
		}
		if decided := plan(verdict(false)); len(decided.Steps)+len(decided.Conflicts) == 0 {
			t.Errorf("at %g nothing is decided anyway: %+v", near, decided)
		}
		if none := plan(noVerdict{}); len(none.Steps)+len(none.Conflicts) != 0 {
			t.Errorf("at %g: %+v, %+v", near, none.Steps, none.Conflicts)
		}
	}
}

// noVerdict is a judge whose answers can't be read.
type noVerdict struct{}

func (noVerdict) Same(context.Context, string, string) (bool, error) {
	return false, sdk.Errorf(sdk.Invalid, core.ReasonNoVerdict, "the reply was cut off")
}

// verdict is a judge that always says this.
type verdict bool

func (v verdict) Same(context.Context, string, string) (bool, error) { return bool(v), nil }

// TestPlan_ArchivesATenth of a namespace in a day at most, and so nothing of a small one,
// unless it is forced.
func TestPlan_ArchivesATenth(t *testing.T) {
	for _, c := range []struct {
		of, lately int
		force      bool
		want       int
	}{{9, 0, false, 0}, {10, 0, false, 1}, {9, 1, false, 0}, {29, 1, false, 2}, {9, 0, true, 9}} {
		var items []dream.Item
		for i := range c.of {
			content := strings.Repeat(string(rune('a'+i)), 5) + " sleeps"
			items = append(items, said(content, content, 0))
		}
		plan, err := dream.Make(t.Context(), &dream.Input{
			Namespace: "ns", At: said("", "", 30).Memory.CreatedAt, Items: items, Turned: true, ArchivedLately: c.lately, Options: dream.Options{Stale: dream.StaleAll, Force: c.force, SkipMerges: true, SkipConflicts: true},
		})
		if err != nil || len(plan.Steps) != c.want {
			t.Errorf("%+v: %+v, %v", c, plan.Steps, err)
		}
	}
}

// TestPlan_MergesWhatMatchesTheKeeper itself: a memory that is near only to one that was
// merged stays.
func TestPlan_MergesWhatMatchesTheKeeper(t *testing.T) {
	items := []dream.Item{said("oldest", "Anna plays the violin truly", 0), said("older", "Anna really plays the violin", 1), said("newest", "Anna plays the violin indeed", 2)}
	for i, degrees := range []float64{0, 18, 36} { // cosines of .95 between neighbours, and of .81
		angle := degrees * math.Pi / 180
		items[i].Memory.EmbeddingModel, items[i].Vector = "m", []float32{float32(math.Cos(angle)), float32(math.Sin(angle))}
	}
	plan, err := dream.Make(t.Context(), &dream.Input{Namespace: "ns", Items: items, Near: map[string]float64{"m": .92}, Options: dream.Options{SkipConflicts: true}})
	if err != nil || len(plan.Steps) != 1 || plan.Steps[0].Reads[0].MemoryID != "newest" || plan.Steps[0].Reads[1].MemoryID != "older" {
		t.Errorf("%+v, %v", plan.Steps, err)
	}
}

// TestPlan_MergesWithinAnAgentAndAKind, unless the two have more tags than a memory may have.
func TestPlan_MergesWithinAnAgentAndAKind(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(m *core.Memory)
		merged  int
		refused []dream.Refusal
	}{
		"alike":         {func(*core.Memory) {}, 1, []dream.Refusal{}},
		"another agent": {func(m *core.Memory) { m.AgentID = "robot" }, 0, []dream.Refusal{}},
		"another kind":  {func(m *core.Memory) { m.Kind = core.KindSemantic }, 0, []dream.Refusal{}},
		"pinned":        {func(m *core.Memory) { m.Tags = []string{dream.Pinned} }, 0, []dream.Refusal{}},
		"50 tags":       {func(m *core.Memory) { m.Tags = tags(25, 25) }, 1, []dream.Refusal{}},
		"51 tags":       {func(m *core.Memory) { m.Tags = tags(25, 26) }, 0, []dream.Refusal{{Newer: "new", Older: "old", Class: dream.TooManyTags}}},
	} {
		items := []dream.Item{said("old", "It waits 30 s", 0), said("new", "it waits thirty seconds", 1)}
		items[0].Memory.Tags = tags(0, 25)
		c.change(items[1].Memory)
		plan, err := dream.Make(t.Context(), &dream.Input{Namespace: "ns", Items: items, Options: dream.Options{SkipConflicts: true}})
		if err != nil || len(plan.Steps) != c.merged || !slices.Equal(plan.Refusals, c.refused) {
			t.Errorf("%s: %+v, refused %+v, %v", name, plan.Steps, plan.Refusals, err)
		}
	}
}

// tags are n tags from a number on.
func tags(from, n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprint("t", from+i))
	}
	return list
}
