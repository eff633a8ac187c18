package lives_test

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
)

// The usual constants of BM25 for short texts.
const (
	bm25K1 = .9
	bm25B  = .4
	// nearBM25 is the share of the best score from which the simple ways of remembering choose.
	nearBM25 = .65
)

// bm25 finds notes by their words, and knows nothing of the product.
type bm25 struct {
	notes []indexed
	in    map[string]int // how many notes have a word
	words int
}

// indexed is a note by its words.
type indexed struct {
	id     string
	counts map[string]int
	length int
}

// alike is a note with how well it matches.
type alike struct {
	id    string
	score float64
}

func stems(text string) (list []string) {
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		env := snowballstem.NewEnv(word)
		english.Stem(env)
		list = append(list, env.Current())
	}
	return list
}

func (x *bm25) add(n note) {
	if x.in == nil {
		x.in = map[string]int{}
	}
	i := indexed{id: n.id, counts: map[string]int{}}
	for _, word := range stems(n.content) {
		if i.counts[word]++; i.counts[word] == 1 {
			x.in[word]++
		}
		i.length++
	}
	x.words += i.length
	x.notes = append(x.notes, i)
}

// find returns the notes that share a word with a query, the best first.
func (x *bm25) find(query string) (list []alike) {
	asked := stems(query)
	slices.Sort(asked)
	asked = slices.Compact(asked)
	mean := float64(x.words) / float64(len(x.notes))
	for _, n := range x.notes {
		score := 0.0
		for _, word := range asked {
			if count := float64(n.counts[word]); count > 0 {
				idf := math.Log(1 + (float64(len(x.notes)-x.in[word])+.5)/(float64(x.in[word])+.5))
				score += idf * count / (count + bm25K1*(1-bm25B+bm25B*float64(n.length)/mean))
			}
		}
		if score > 0 {
			list = append(list, alike{n.id, score})
		}
	}
	slices.SortFunc(list, byScore)
	return list
}

// near are the notes that match nearly as well as the best one.
func (x *bm25) near(query string) []alike {
	list := x.find(query)
	return slices.DeleteFunc(list, func(a alike) bool { return a.score < nearBM25*list[0].score })
}

func byScore(a, b alike) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.id, b.id)) }
