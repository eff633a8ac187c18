package job_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/store/mem"
)

// TestOrdered_IsASortedSet compares the pages with a list, over splits and pages that
// become empty.
func TestOrdered_IsASortedSet(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := mem.Open()
		defer s.Close()
		set := job.ReadyJobs(job.Dream)
		var want []string
		for range rapid.IntRange(1, 8).Draw(rt, "rounds") {
			add := rapid.Bool().Draw(rt, "add")
			from, count := rapid.IntRange(0, 500).Draw(rt, "from"), rapid.IntRange(1, 300).Draw(rt, "count")
			must(t, s.Update(t.Context(), func(tx core.Tx) error {
				for i := range count {
					order, id := uint64(from+i)*7919%1009, fmt.Sprint("id-", from+i)
					text := job.Item(order, id)
					at, there := slices.BinarySearch(want, text)
					change := set.Remove
					if add {
						change = set.Add
					}
					if err := change(tx, order, id); err != nil {
						return err
					}
					if add && !there {
						want = slices.Insert(want, at, text)
					} else if !add && there {
						want = slices.Delete(want, at, at+1)
					}
				}
				return nil
			}))
			must(t, s.View(t.Context(), func(r core.Reader) error {
				got, err := set.All(r)
				if err != nil || !slices.Equal(got, want) {
					rt.Fatalf("it has %v, %v, want %v", got, err, want)
				}
				first, err := set.First(r)
				if err != nil || len(want) > 0 && first != want[0] || len(want) == 0 && first != "" {
					rt.Fatalf("the first is %q, %v", first, err)
				}
				keys, err := core.Suffixes(r, nil, 1000)
				if len(want) == 0 && len(keys) > 0 {
					rt.Fatalf("an empty set has keys %q", keys)
				}
				return err
			}))
		}
	})
}
