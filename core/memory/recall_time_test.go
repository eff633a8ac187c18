package memory_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// TestRecall_SelectsByTime: by when something happened, or else was stored; and by what was known.
func TestRecall_SelectsByTime(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		w := living(t, s, nil, nil)
		begin := w.clock.Now()
		day := func(n int) time.Time { return begin.AddDate(0, 0, n) }
		observe := func(id, occurred string, supersedes ...string) {
			w.observe(t, core.ObserveRequest{ID: id, Title: id, Content: "word " + id, Attributes: core.Attributes{OccurredAt: occurred}, Supersedes: supersedes})
		}
		observe("old", "")
		observe("march", day(-100).Format(time.RFC3339))
		w.clock.Advance(10 * 24 * time.Hour)
		observe("new", "", "old")
		w.clock.Advance(10 * 24 * time.Hour)
		observe("newest", "", "new")
		for name, tt := range map[string]struct {
			filter core.RecallFilter
			want   string
		}{
			"all":                             {core.RecallFilter{}, "march newest"},
			"from a day":                      {core.RecallFilter{From: day(1)}, "newest"},
			"from the very moment":            {core.RecallFilter{From: day(20)}, "newest"},
			"from after it":                   {core.RecallFilter{From: day(20).Add(time.Millisecond)}, ""},
			"to a day":                        {core.RecallFilter{To: day(1)}, "march"},
			"to the very moment":              {core.RecallFilter{To: day(20)}, "march"},
			"between":                         {core.RecallFilter{From: day(-101), To: day(-99)}, "march"},
			"in another zone":                 {core.RecallFilter{From: day(-101).In(time.FixedZone("", 7200)), To: day(-99)}, "march"},
			"known at first":                  {core.RecallFilter{AsOf: day(1)}, "march old"},
			"known once one was replaced":     {core.RecallFilter{AsOf: day(10)}, "march new"},
			"known before all":                {core.RecallFilter{AsOf: day(-1)}, ""},
			"known now":                       {core.RecallFilter{AsOf: day(30)}, "march newest"},
			"known, with what was superseded": {core.RecallFilter{AsOf: day(12), IncludeSuperseded: true}, "march new old"},
			"known, and from":                 {core.RecallFilter{AsOf: day(12), From: day(1)}, "new"},
		} {
			got := []string{}
			for _, m := range w.both(t, core.RecallRequest{Query: "word", Limit: 10, RecallFilter: tt.filter}).Memories {
				got = append(got, m.ID)
			}
			if slices.Sort(got); strings.Join(got, " ") != tt.want {
				t.Errorf("%s: recalled %v, want %q", name, got, tt.want)
			}
		}
		r := core.RecallRequest{Query: "word", RecallFilter: core.RecallFilter{From: day(2), To: day(2)}}
		if _, err := w.Recall(t.Context(), &r); sdk.CodeOf(err) != sdk.Invalid || !strings.Contains(err.Error(), "to ") {
			t.Errorf("an empty span: %v", err)
		}
	})
}
