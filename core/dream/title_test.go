package dream_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/dream"
)

// derived is a title as a memory without one gets it, in short.
func derived(content string) string { return strings.TrimSpace(content[:min(len(content), 12)]) }

// TestPlan_MergesOneTextUnderTwoTitles: titles aren't compared, and one that a memory was given
// isn't lost. Two titles of one text are no contradiction.
func TestPlan_MergesOneTextUnderTwoTitles(t *testing.T) {
	const retries = "The gateway retries twice."
	long := strings.Repeat("sehr ", 40) + "lang"
	for name, c := range map[string]struct {
		newTitle, oldTitle, newText, oldText string
		tags                                 []string
	}{
		"two titles":                       {"gateway", "retries", retries, retries, []string{"gateway", "retries"}},
		"two titles, one in another case":  {"The Gateway", "gateway", retries, retries, nil},
		"only the older has one":           {"", "retries", retries, retries, []string{"retries"}},
		"only the newer has one":           {"gateway", "", retries, retries, nil},
		"neither has one":                  {"", "", retries, retries, nil},
		"the text is written otherwise":    {"wait", "pause", "It waits 30 s", "it waits thirty seconds", []string{"wait", "pause"}},
		"derived from other forms":         {"", "", "It waits 30 s for the database", "it waits thirty seconds for the database", nil},
		"a title that is the text":         {"Gateway retries twice", "retries", "The gateway retries twice.", "The gateway retries twice.", []string{"retries"}},
		"a title on two lines":             {"gateway", "how it\n retries", retries, retries, []string{"gateway", "how it retries"}},
		"a title longer than a tag may be": {"gateway", long, retries, retries, []string{"gateway", strings.TrimSpace(long[:128])}},
		"a title that a pass would obey":   {"gateway", dream.Pinned, retries, retries, []string{"gateway"}},
		"titles that look like opposites":  {"enabled", "disabled", "The cache warms up at night", "The cache warms up at night", []string{"enabled", "disabled"}},
		"titles with numbers":              {"PR #260", "PR #480", retries, retries, []string{"PR #260", "PR #480"}},
	} {
		items := []dream.Item{said("old", c.oldText, 0), said("new", c.newText, 1)}
		for i, title := range []string{c.oldTitle, c.newTitle} {
			if items[i].Memory.Title = title; title == "" {
				items[i].Memory.Title = derived(items[i].Memory.Content)
			}
			items[i].Memory.Tags = []string{"own"}
		}
		plan, err := dream.Make(t.Context(), &dream.Input{Namespace: "ns", Items: items, Title: derived})
		if err != nil || len(plan.Steps) != 1 || plan.Steps[0].Kind != dream.StepMerge || len(plan.Refusals)+len(plan.Conflicts) != 0 {
			t.Errorf("%s: %+v, %v", name, plan, err)
			continue
		}
		kept := dream.Kept(items[1].Memory, items[0].Memory, derived)
		if want := append([]string{"own"}, c.tags...); !slices.Equal(kept.Tags, want) || kept.Title != items[1].Memory.Title {
			t.Errorf("%s: %q has tags %q, want %q", name, kept.Title, kept.Tags, want)
		}
	}
}

// TestPlan_TooManyTagsWithTitles: the titles count, too.
func TestPlan_TooManyTagsWithTitles(t *testing.T) {
	for own, refused := range map[int]bool{48: false, 49: true} {
		items := []dream.Item{said("old", "It waits", 0), said("new", "It waits", 1)}
		items[0].Memory.Title, items[1].Memory.Title, items[1].Memory.Tags = "pause", "wait", tags(0, own)
		plan, err := dream.Make(t.Context(), &dream.Input{Namespace: "ns", Items: items})
		if err != nil || (len(plan.Refusals) == 1) != refused || (len(plan.Steps) == 1) == refused {
			t.Errorf("%d tags: %+v, %v", own, plan, err)
		}
	}
}

// TestPlan_TitlesNameSubjects: texts that contradict each other don't if their titles say that
// they are about different things.
func TestPlan_TitlesNameSubjects(t *testing.T) {
	for _, c := range []struct {
		newTitle, oldTitle string
		want               int
	}{
		{"Staging", "Production", 0}, {"web-1", "web-2", 0}, {"Mail service", "Print service", 0}, {"Anna", "Ben", 0}, {"Sprint 12", "Sprint 13", 0},
		{"Production", "Production", 1}, {"production", "The Production", 1}, {"Database of production", "Production", 1}, {"", "Production", 1}, {"", "", 1},
		{"Port", "", 1},
	} {
		items := []dream.Item{said("old", "The database listens on port 5432", 0), said("new", "The database listens on port 5433", 1)}
		for i, title := range []string{c.oldTitle, c.newTitle} {
			if items[i].Memory.Title = title; title == "" {
				items[i].Memory.Title = derived(items[i].Memory.Content)
			}
		}
		plan, err := dream.Make(t.Context(), &dream.Input{Namespace: "ns", Items: items, Title: derived, Options: dream.Options{Strategy: dream.Manual}})
		if err != nil || len(plan.Conflicts) != c.want {
			t.Errorf("%q and %q: %+v, %v", c.newTitle, c.oldTitle, plan.Conflicts, err)
		}
	}
}
