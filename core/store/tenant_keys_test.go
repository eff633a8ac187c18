package store

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A move takes each kind of record, or FORMAT.md says why it stays.
func TestTenantKeys_EachPrefixIsDecided(t *testing.T) {
	page, err := os.ReadFile("FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(page), "\n## Moving a tenant\n")
	section, after, found := strings.Cut(rest, "\n## ")
	if !found {
		t.Fatal("FORMAT.md doesn't say what a move of a tenant takes")
	}
	prefixes := func(text string) (list []string) {
		for _, row := range strings.Split(text, "\n") {
			cell, _, _ := strings.Cut(strings.TrimPrefix(row, "| "), " | ")
			if cell == row || !strings.HasPrefix(row, "| ") {
				continue
			}
			for _, key := range regexp.MustCompile("`([a-z-]+/)").FindAllStringSubmatch(cell, -1) {
				list = append(list, key[1])
			}
		}
		slices.Sort(list)
		return slices.Compact(list)
	}
	stay := prefixes(section)
	c := &collecting{ids: tenantIDs{}}
	for _, root := range tenantRoots() {
		c.ids[root] = nil
	}
	owned := slices.Collect(maps.Keys(c.owners()))
	owned = append(owned, "event/", "event-head/", "event-new/")
	cut := regexp.MustCompile("(?s)\n## Proof.*?\n## Events.*?\n## Pruning") // whose tables have fields and streams
	for _, prefix := range prefixes(cut.ReplaceAllString(before+after, "")) {
		if slices.Contains(owned, prefix) == slices.Contains(stay, prefix) {
			t.Errorf("%s: taken %v, stays %v: name it in owners() of tenant_keys.go if it moves with a tenant, otherwise in FORMAT.md's keys that stay",
				prefix, slices.Contains(owned, prefix), slices.Contains(stay, prefix))
		}
	}
	for _, prefix := range owned {
		if first, _, _ := strings.Cut(prefix, "/"); !strings.Contains(before, "`"+first+"/") {
			t.Errorf("FORMAT.md has no %s", prefix)
		}
	}
}
