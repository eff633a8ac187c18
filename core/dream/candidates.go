package dream

import (
	"cmp"
	"slices"
	"time"

	"github.com/reflectory/reflectory/core/memory/vector"
)

// Record is what deduplication reads of a memory. Records that are given together belong to
// one namespace and one agent.
type Record struct {
	ID string
	// Kind is the memory's kind: records of different kinds are never paired.
	Kind string
	// At is when it happened, or otherwise when it was written: the newer of two is kept.
	At time.Time
	// Form is the normal form of its text, see [text.Normal]; "" is equal to nothing.
	Form string
	// Model and Vector are its embedding. A vector of zeros, or none, is near nothing.
	Model  string
	Vector []float32
	// New is whether it was written or rewritten since the last pass.
	New bool
}

// CandidateOptions determine which pairs are looked for.
type CandidateOptions struct {
	// Full compares all with all. The default compares what is new with everything.
	Full bool
	// Near are the cosines from which on two vectors of a model are near, by the model's
	// name. Vectors of a model that isn't named here are not compared.
	Near map[string]float64
}

// Ways in which two records became candidates.
const (
	ByForm    = "form"    // their normal forms are equal
	ByVectors = "vectors" // their vectors are near
)

// Pair is two records that may say the same, as places in the list that was given.
type Pair struct {
	// Newer is the record to keep: the later one, and of two at the same time the one with the
	// larger id.
	Newer, Older int
	// By is [ByForm] or [ByVectors]. Equal forms are not reported as near too.
	By string
	// Cosine is the similarity of the vectors, of a pair of [ByVectors].
	Cosine float64
}

// MaxPairs is the largest number of newer records with which a record is paired in each
// way, the newest first. So a thousand copies of one text don't need half a million
// comparisons: each is compared with the newest of them.
const MaxPairs = 32

// Candidates finds the pairs of records that are worth comparing, sorted by the newer one, the
// newest first, and then by the older one. It is exact: no pair is missed, except beyond
// [MaxPairs].
func Candidates(records []Record, o CandidateOptions) []Pair {
	order := make([]int, len(records)) // the newest first
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return newestFirst(&records[a], &records[b]) })
	rank := make([]int, len(records))
	for at, i := range order {
		rank[i] = at
	}
	pairs := append(equalForms(records, order, o.Full), nearVectors(records, order, o)...)
	slices.SortFunc(pairs, func(a, b Pair) int {
		return cmp.Or(cmp.Compare(rank[a.Newer], rank[b.Newer]), cmp.Compare(rank[a.Older], rank[b.Older]))
	})
	return pairs
}

func newestFirst(a, b *Record) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.ID, a.ID)) }

// equalForms pairs records with one normal form.
func equalForms(records []Record, order []int, full bool) []Pair {
	type group struct{ kind, form string }
	groups := make(map[group][]int, len(records))
	var pairs []Pair
	for _, i := range order {
		r := &records[i]
		if r.Form == "" {
			continue
		}
		g := group{r.Kind, r.Form}
		n := 0
		for _, newer := range groups[g] {
			if !full && !r.New && !records[newer].New {
				continue
			}
			if n++; n > MaxPairs {
				break
			}
			pairs = append(pairs, Pair{Newer: newer, Older: i, By: ByForm})
		}
		groups[g] = append(groups[g], i)
	}
	return pairs
}

// nearVectors pairs records with near vectors of one model.
func nearVectors(records []Record, order []int, o CandidateOptions) []Pair {
	type space struct {
		kind, model string
		dims        int
	}
	spaces := map[space][]int{}
	var names []space // in the order of the newest record
	for _, i := range order {
		r := &records[i]
		s := space{r.Kind, r.Model, len(r.Vector)}
		if _, wanted := o.Near[r.Model]; !wanted || len(r.Vector) == 0 {
			continue
		}
		if spaces[s] == nil {
			names = append(names, s)
		}
		spaces[s] = append(spaces[s], i)
	}
	var pairs []Pair
	for _, s := range names {
		list := spaces[s]
		vectors, isNew := make([][]float32, len(list)), make([]bool, len(list))
		for at, i := range list {
			vectors[at], isNew[at] = records[i].Vector, o.Full || records[i].New
		}
		for _, p := range vector.Near(vectors, isNew, o.Near[s.model], MaxPairs) {
			newer, older := list[p.A], list[p.B]
			if records[newer].Form == "" || records[newer].Form != records[older].Form {
				pairs = append(pairs, Pair{Newer: newer, Older: older, By: ByVectors, Cosine: p.Cosine})
			}
		}
	}
	return pairs
}
