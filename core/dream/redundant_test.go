package dream_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/dream"
)

// asked are so many different questions about the weather.
func asked(n int) (queries []string) {
	for i := range n {
		queries = append(queries, fmt.Sprintf("How was the weather in Oslo on day %d?", i))
	}
	return queries
}

// TestPlan_ArchivesTheRedundant of stale memories: what another memory says too, with nothing that
// changes it, and what was written as unimportant and fits none of many queries.
func TestPlan_ArchivesTheRedundant(t *testing.T) {
	const it = "The deploy window of the billing service opens on Tuesday"
	longer := it + ", and the mail service follows it after the nightly backup"
	change := func(f func(*dream.Item)) func(*dream.Item) { return f }
	for _, c := range []struct {
		name     string
		says     string // "" is it
		others   []string
		it, one  func(*dream.Item) // change the memory, and the first of the others
		queries  []string
		stale    dream.Stale
		archived bool
	}{
		{name: "alone"},
		{name: "alone, all", stale: dream.StaleAll, archived: true},
		{name: "the same in other words", others: []string{"On Tuesday the deploy window of the billing service opens."}, archived: true},
		{name: "the same, of a reflection", others: []string{it}, one: change(func(i *dream.Item) { i.Memory.Kind = core.KindReflection }), archived: true},
		{name: "the same, pinned", others: []string{it}, one: change(func(i *dream.Item) { i.Memory.Tags = []string{dream.Pinned} }), archived: true},
		{name: "the same, off", others: []string{it}, stale: dream.StaleOff},
		{name: "more", others: []string{longer}, archived: true},
		{name: "more, with a date", others: []string{longer + " at 2026-03-01"}, archived: true},
		{name: "less", others: []string{"The deploy window opens on Tuesday"}},
		{name: "its halves", others: []string{"The deploy window is short", "The billing service opens on Tuesday"}},
		{name: "another day", others: []string{"The deploy window of the billing service opens on Friday, and the mail service follows it"}},
		{name: "another number", says: it + " at 14:00 for 2 hours", others: []string{it + " at 14:00 for 3 hours, and the mail service follows"}},
		{name: "denied", others: []string{"The deploy window of the billing service never opens on Tuesday, and the mail service follows it"}},
		{name: "on a condition", others: []string{it + " if the nightly backup has finished"}},
		{name: "another name", says: "Anna says that the deploy window of the billing service opens on the first day of the week after the backup", others: []string{"Boris says that the deploy window of the billing service opens on the first day of the week after the backup"}},
		{name: "other roles", says: "The billing service calls the mail service", others: []string{"The mail service calls the billing service"}},
		{name: "of another agent", others: []string{it}, one: change(func(i *dream.Item) { i.Memory.AgentID = "other" })},
		{name: "of a notification", others: []string{it}, one: change(func(i *dream.Item) { i.Memory.Kind = core.KindNotification })},
		{name: "of what is superseded", others: []string{it}, one: change(func(i *dream.Item) {
			i.Links = []dream.LinkRef{{Relation: core.RelationSupersedes, Other: "x", In: true}}
		})},
		{name: "said to be another thing", others: []string{it}, it: change(func(i *dream.Item) { i.Mark.Distinct = []string{"other-0"} })},
		{name: "fits no query", queries: asked(20), archived: true},
		{name: "fits no query of few", queries: asked(19)},
		{name: "fits no query, as important as usual", queries: asked(200), it: change(func(i *dream.Item) { i.Memory.Importance = .5 })},
		{name: "fits a query", queries: append(asked(199), "When can we deploy?")},
		{name: "fits a query of long ago", queries: append(asked(200), "When can we deploy?"), archived: true},
		{name: "fits a query worse than another", queries: append(asked(199), "Which window of the old kitchen was cleaned?"), others: []string{"The window of the old kitchen was cleaned"}, archived: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.says == "" {
				c.says = it
			}
			items := []dream.Item{said("it", c.says, 0)}
			for i := range 30 { // what else is in the namespace
				items = append(items, said(fmt.Sprintf("else-%02d", i), fmt.Sprintf("note %d has nothing to do with what others say about the weather in Oslo", i), 0))
				items[i+1].Memory.AccessCount = 1
			}
			for i, content := range c.others {
				items = append(items, said(fmt.Sprint("other-", i), content, 1))
				items[31+i].Memory.AccessCount = 1
			}
			if c.it != nil {
				c.it(&items[0])
			}
			if c.one != nil {
				c.one(&items[31])
			}
			plan, err := dream.Make(t.Context(), &dream.Input{
				Namespace: "ns", Turned: true, Items: items, Queries: c.queries, At: time.Date(2026, time.August, 1, 0, 0, 0, 0, time.UTC),
				Options: dream.Options{SkipMerges: true, SkipConflicts: true, Force: true, Stale: c.stale},
			})
			if err != nil {
				t.Fatal(err)
			}
			archived := slices.ContainsFunc(plan.Steps, func(s dream.Step) bool { return s.Kind == dream.StepArchive && s.Reads[0].MemoryID == "it" })
			if archived != c.archived {
				t.Errorf("archived: %t, want %t: %+v", archived, c.archived, plan.Steps)
			}
		})
	}
}

// TestPlan_KeepsOneOfTwo stale memories that say the same.
func TestPlan_KeepsOneOfTwo(t *testing.T) {
	items := []dream.Item{said("a", "The ferry to Porto leaves at noon", 0), said("b", "The ferry to Porto leaves at noon", 1)}
	plan, err := dream.Make(t.Context(), &dream.Input{
		Namespace: "ns", Turned: true, Items: items, At: time.Date(2026, time.August, 1, 0, 0, 0, 0, time.UTC),
		Options: dream.Options{SkipMerges: true, Force: true},
	})
	if err != nil || len(plan.Steps) != 1 || len(plan.Steps[0].Reads) != 2 || len(plan.Steps[0].Changed()) != 1 {
		t.Fatalf("%+v, %v", plan, err)
	}
	if s := plan.Steps[0]; s.Reads[0].MemoryID != "a" || s.Evidence["covered_by"] != "b" || s.Reads[1].MemoryID != "b" {
		t.Errorf("%+v", s)
	}
}

func TestOptions_RefuseAnotherStale(t *testing.T) {
	for _, s := range []dream.Stale{"none", "Redundant", "all ", "true"} {
		if o := (dream.Options{Stale: s}); o.Validate() == nil {
			t.Errorf("%q is allowed", s)
		}
	}
	for _, s := range append(dream.Stales(), "") {
		if err := (&dream.Options{Stale: s}).Validate(); err != nil {
			t.Errorf("%q: %v", s, err)
		}
	}
	if got := (dream.Options{Stale: dream.StaleAll}).Or(dream.Options{Stale: dream.StaleOff}).Stale; got != dream.StaleAll {
		t.Errorf("%q comes first", got)
	}
}
