package dream

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/text"
)

// A stale memory may be the only one that says something, and what nobody asked about so far may be
// asked tomorrow. So a pass archives only what can be done without: what another memory says too, and
// what was written as unimportant and never fitted a question. That an importance fades with time shows
// neither.

// Stale determines which stale memories a pass archives.
type Stale string

// The choices; "" is [StaleRedundant].
const (
	StaleRedundant Stale = "redundant" // those that another live memory covers, or that no query ever fitted
	StaleAll       Stale = "all"       // every stale memory
	StaleOff       Stale = "off"       // none
)

// Stales lists every choice.
func Stales() []Stale { return []Stale{StaleRedundant, StaleAll, StaleOff} }

// MaxQueries is how many queries a pass looks at: the namespace's last ones.
const MaxQueries = 200

const (
	// leastQueries is how many queries there must be to say that a memory fits none.
	leastQueries = 20
	// fittingShare is the share of the best memory's score from which on a memory fits a query: below it, a
	// recall cuts it off.
	fittingShare = .5
	// coveredShare is the share of a memory's words, by their rarity, that another one must have to cover
	// it, and maxCovering is how many are compared with it at most, the newest first.
	coveredShare = .9
	maxCovering  = 1000
	// usualImportance is the importance of a memory whose author gave none: it says nothing.
	usualImportance = .5
)

// redundancy knows what the memories of a plan say, and what was asked for.
type redundancy struct {
	*planner
	// words are the words of each draft, and having are the drafts that have a word, the newest first.
	words  []map[string]bool
	having map[string][]int
	// places are the places of the drafts, and fits says of each whether it fitted a query; nil before
	// it is needed.
	places map[*draft]int
	fits   []bool
}

// redundant reads the live memories.
func (p *planner) redundant() *redundancy {
	r := &redundancy{planner: p, words: make([]map[string]bool, len(p.drafts)), having: map[string][]int{}, places: map[*draft]int{}}
	for i, d := range p.drafts {
		r.places[d] = i
		if !d.says() {
			continue
		}
		r.words[i] = map[string]bool{}
		for w := range strings.FieldsSeq(text.Normal(d.text())) {
			if !r.words[i][w] {
				r.words[i][w] = true
				r.having[w] = append(r.having[w], i)
			}
		}
	}
	return r
}

// says reports whether a recall finds what the memory says.
func (d *draft) says() bool {
	return d.State.Live() && d.Kind != core.KindNotification &&
		!slices.ContainsFunc(d.links, func(l LinkRef) bool { return l.In && l.Relation == core.RelationSupersedes })
}

// text is what the memory says: its content, and its title if that says something else.
func (d *draft) text() string {
	if strings.HasPrefix(d.Content, d.Title) {
		return d.Content
	}
	return d.Title + "\n" + d.Content
}

// why is why a memory can be done without, as evidence of a step; nil if it can't. coverer is the memory
// that says the same, if one does.
func (r *redundancy) why(d *draft) (evidence map[string]string, coverer *draft) {
	if c := r.covers(d); c != nil {
		return map[string]string{"covered_by": c.ID}, c
	}
	if d.Importance < usualImportance && len(r.Queries) >= leastQueries && !r.fitted(d) {
		return map[string]string{"fits_no_query_of": decimal(float64(min(len(r.Queries), MaxQueries)))}, nil
	}
	return nil, nil
}

// covers is another memory that says what a memory says; nil if none does.
func (r *redundancy) covers(d *draft) *draft {
	at := r.places[d]
	whole, own := 0.0, make([]string, 0, len(r.words[at]))
	for w := range r.words[at] {
		own = append(own, w)
	}
	slices.SortFunc(own, func(a, b string) int { // the rarest first
		return cmp.Or(cmp.Compare(len(r.having[a]), len(r.having[b])), cmp.Compare(a, b))
	})
	for _, w := range own {
		whole += r.rarity(w)
	}
	// Whatever covers it has one of its rarest words, which together weigh more than may be missing.
	tried, missing := map[int]bool{at: true}, 0.0
	for _, w := range own {
		if missing > (1-coveredShare)*whole {
			break
		}
		missing += r.rarity(w)
		for _, i := range r.having[w] {
			if len(tried) > maxCovering {
				return nil
			}
			if tried[i] {
				continue
			}
			tried[i] = true
			other := r.drafts[i]
			if other.says() && other.AgentID == d.AgentID && !d.distinct(other) && r.share(own, i) >= coveredShare*whole && saysAll(other.text(), d.text()) {
				return other
			}
		}
	}
	return nil
}

// share is how much of some words a draft has.
func (r *redundancy) share(words []string, i int) (sum float64) {
	for _, w := range words {
		if r.words[i][w] {
			sum += r.rarity(w)
		}
	}
	return sum
}

// rarity is how much a word tells.
func (r *redundancy) rarity(word string) float64 {
	have := float64(len(r.having[word]))
	return math.Log(1 + (float64(len(r.drafts))-have+.5)/(have+.5))
}

// saysAll reports whether a text has every fact and name of another, and restricts what it says no more
// and no less: it has the same negations, conditions and the like.
func saysAll(whole, part string) bool {
	more, less := readWords(text.Active(text.Tokens(whole))), readWords(text.Active(text.Tokens(part)))
	all, some := facts(more), facts(less)
	for fact := range some {
		if !all[fact] {
			return false
		}
	}
	for _, w := range less {
		if w.Capital && !contains(more, w) {
			return false
		}
	}
	for fact := range all {
		if !some[fact] && !adds(fact.class) {
			return false
		}
	}
	return differentlyNegated(less, more) == nil && oppositeWords(less, more) == nil && !align(less, more).reordered
}

// adds reports whether a fact of a class is something more that a text says, and changes nothing else in it.
func adds(class string) bool {
	switch class {
	case Number, Unit, Date, Version, Identifier:
		return true
	}
	return false
}

// said is a fact with its class.
type said struct{ class, fact string }

// facts are the facts of the hard classes.
func facts(words []word) map[said]bool {
	all := map[said]bool{}
	for i := range words {
		if isHard(words[i].class) {
			all[said{words[i].class, words[i].fact}] = true
		}
	}
	return all
}

// fitted reports whether a memory fitted one of the queries.
func (r *redundancy) fitted(d *draft) bool {
	if r.fits == nil {
		r.fit()
	}
	return r.fits[r.places[d]]
}

// fit finds which memories fitted a query.
func (r *redundancy) fit() {
	r.fits = make([]bool, len(r.drafts))
	index := text.New(text.LanguageOf(cmp.Or(r.Language, core.DefaultLanguage)), func(a, b uint32) int { return cmp.Compare(a, b) })
	for i, d := range r.drafts {
		if d.says() {
			index.Put(uint32(i), "", d.text()) //nolint:gosec // far fewer memories
		}
	}
	index.Settle()
	for _, query := range r.Queries[:min(len(r.Queries), MaxQueries)] {
		scores := index.Scores(text.NewQuery(query, index), nil)
		best := 0.0
		for _, i := range scores.Docs {
			best = max(best, scores.Of[i])
		}
		for _, i := range scores.Docs {
			r.fits[i] = r.fits[i] || scores.Of[i] >= fittingShare*best
		}
		scores.Free()
	}
}
