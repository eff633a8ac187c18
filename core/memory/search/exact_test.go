package search_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core/memory/search"
)

// all is what was found, with what it scores.
func all(found []search.Found) string {
	var b strings.Builder
	for _, f := range found {
		fmt.Fprintf(&b, "%s %v %v %v %v\n", f.ID, f.Score, f.P, f.Why.Fused, f.Why.LexicalRank)
	}
	return b.String()
}

// TestSearch_SkipsOnlyWhatCantBeFound changes memories and searches them in between. What is found and its scores
// are the same in an index that loads them at once, and in a search that skips nothing, since a model's vectors
// might choose any memory.
func TestSearch_SkipsOnlyWhatCantBeFound(t *testing.T) {
	for _, sources := range []int{0, 40} {
		t.Run(fmt.Sprint(sources, " sources"), func(t *testing.T) {
			r := rand.New(rand.NewPCG(7, uint64(sources)))
			words := rand.NewZipf(r, 1.1, 3, 400)
			word := func() string {
				return fmt.Sprint("the wor", strings.Repeat(string(rune('a'+words.Uint64()%26)), 1+int(words.Uint64()/26)), []string{"", "s", "ing", "ed"}[r.IntN(4)], " ")
			}
			sentence := func(most int) (s string) {
				for range 1 + r.IntN(most) {
					s += word()
				}
				return s
			}
			s := &store{}
			followed := search.New(s, search.Options{})
			for round := range 8 {
				for range []int{1500, 40}[min(round, 1)] { // so few that the segment with most of them stays
					id := fmt.Sprint("m", r.IntN(900))
					if r.IntN(5) == 0 {
						s.commit("ns", id, nil)
						continue
					}
					d := doc(id, sentence(40))
					d.Tags, d.At = []string{fmt.Sprint("tag", r.IntN(3))}, time.Date(2026, time.Month(1+r.IntN(12)), 1+r.IntN(28), 0, 0, 0, 0, time.UTC)
					if d.Content = fmt.Sprint(r.IntN(2000)); r.IntN(4) == 0 {
						d.Title = sentence(3)
					}
					if sources > 0 && r.IntN(10) > 0 {
						d.Source = fmt.Sprint("source", r.IntN(sources))
					}
					s.commit("ns", id, d)
				}
				fresh := search.New(s, search.Options{})
				for i := range 25 {
					q := search.Query{Text: sentence(1 + i%9), Now: time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC), Nearest: search.Nearest, Limit: 50, Most: 50}
					switch i % 5 {
					case 1:
						q.Filter.Tags = []string{"tag1"}
					case 2:
						q.Text = "when was " + q.Text
					case 3:
						q.Text += " in may 2026"
					}
					q.Filter.Namespace = "ns"
					want := all(find(t, fresh, q))
					if got := all(find(t, followed, q)); got != want {
						t.Fatalf("round %d, %q: an index that followed finds\n%s, one that loads all\n%s", round, q.Text, got, want)
					}
					q.Model, q.Vector = "a model of no memory", []float32{1}
					if got := all(find(t, followed, q)); got != want {
						t.Fatalf("round %d, %q: without skipping\n%s, with it\n%s", round, q.Text, got, want)
					}
				}
			}
		})
	}
}
