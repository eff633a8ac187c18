package top_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/reflectory/reflectory/core/memory/top"
)

func byNumber(a, b uint32) int { return cmp.Compare(a, b) }

// TestListKeepsTheBest compares with sorting all, where many scores are equal.
func TestListKeepsTheBest(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, k := range []int{0, 1, 5, 99, 100, 101} {
		var all []top.Hit
		for doc := range uint32(100) {
			all = append(all, top.Hit{Doc: doc, Score: float64(rnd.IntN(10))})
		}
		rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		list := top.New(k, byNumber)
		for _, h := range all {
			if list.Takes(h.Score) {
				list.Add(h.Doc, h.Score)
			}
		}
		slices.SortFunc(all, func(a, b top.Hit) int {
			return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Doc, b.Doc))
		})
		if got, want := list.Hits(), all[:min(k, len(all))]; !slices.Equal(got, want) {
			t.Errorf("k %d: got %v, want %v", k, got, want)
		}
	}
}

func TestAddRefusesWhatTakesWould(t *testing.T) {
	list := top.New(1, byNumber)
	list.Add(1, 2)
	list.Add(2, 1)
	list.Add(3, 2)
	if got := list.Hits(); len(got) != 1 || got[0].Doc != 1 {
		t.Errorf("got %v", got)
	}
}
