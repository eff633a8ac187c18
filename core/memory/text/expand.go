package text

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core/memory/top"
)

// The parameters of [Query.Expand], as the relevance model RM3 has them.
const (
	// expandedWords is how many words are added, and expandedShare the weight of all of them; the
	// query's own words have the rest.
	expandedWords = 20
	expandedShare = 0.2
)

// Expansion is the words that are typical of documents which a query found.
type Expansion struct {
	query *Query
	words []*expanded
}

// expanded is a word of an expansion, as it is found in a segment, with other forms of it.
type expanded struct {
	form  string
	place uint32
	in    *segment
	// language is the one in which it was found, and stems what its forms have in common there.
	language uint8
	stems    []string
	// share is its part of the texts in which it was found.
	share float64
	// all are its forms, and most is more than the weight of all, which is computed only if that is
	// enough.
	all          []*expanded
	most, weight float64
}

// Example is a document that a query found, with its share of what was found.
type Example struct {
	In    *Index
	Doc   uint32
	Share float64
}

// Expand returns the words that are typical of documents which the query found. The query's own words, and
// words of titles, aren't among them.
func (q *Query) Expand(examples []Example) *Expansion {
	found := map[string]*expanded{}
	for _, e := range examples {
		p := e.In.places[e.Doc]
		if p.segment == nil {
			continue
		}
		length := max(1, float64(e.In.lengths[e.Doc]))
		each(p.segment.docs.at(int(p.at)), func(place, times uint32) {
			word := p.segment.words.at(int(place))
			if times&1 != 0 {
				return
			}
			w := found[word]
			if w == nil {
				w = &expanded{form: word, place: place, in: p.segment, language: p.segment.languages[p.at]}
				found[word] = w
			}
			w.share += e.Share * float64(times/2) / length
		})
	}
	x := &Expansion{query: q, words: q.mostTypical(slices.Collect(maps.Values(found)))}
	sum := 0.0
	for _, w := range x.words {
		sum += w.weight
	}
	for _, w := range x.words {
		w.weight *= expandedShare / (1 - expandedShare) * float64(len(q.words)) / sum
	}
	return x
}

// mostTypical are the words with the most weight, which is their share times how rare they are. Forms of one
// word are one, the first of them by their letters, and forms of the query's words are left out.
func (q *Query) mostTypical(words []*expanded) (list []*expanded) {
	slices.SortFunc(words, func(a, b *expanded) int { return strings.Compare(a.form, b.form) })
	at := map[string]*expanded{}
	for _, w := range words {
		if stem, known := w.in.stem(int(w.place), w.language); !known {
			w.stems = q.stemmer.stems(w.language, w.form)
		} else if stem != "" {
			w.stems = []string{stem}
		}
		key := groupKey(w.language, w.form, w.stems)
		if q.stems[key] {
			continue
		}
		first := at[key]
		if first == nil {
			first = w
			at[key] = w
			list = append(list, w)
		}
		first.all = append(first.all, w)
		first.most += w.share * q.rarity(w.in.having(int(w.place)))
	}
	slices.SortFunc(list, func(a, b *expanded) int { return cmp.Or(cmp.Compare(b.most, a.most), strings.Compare(a.form, b.form)) })
	best := top.New(expandedWords, noOrder)
	for i, w := range list {
		if w.most < best.Least() {
			list = list[:i]
			break
		}
		for _, form := range w.all {
			w.weight += form.share * q.rarity(form.in.having(int(form.place))+q.having(form.form, form.in))
		}
		best.Add(0, w.weight)
	}
	slices.SortFunc(list, func(a, b *expanded) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), strings.Compare(a.form, b.form))
	})
	return list[:min(len(list), expandedWords)]
}

// Scores are what some documents of each of the query's indices score for the words. Their own words are
// read, so that it costs the same whether few or many others have them.
func (e *Expansion) Scores(docs [][]uint32) []*Scores {
	q := e.query
	in := map[*segment]*marks{}
	weights := make([]float64, len(e.words))
	for word, w := range e.words {
		k := &keys{words: []string{w.form}}
		for _, stem := range w.stems {
			k.stems = append(k.stems, formKey(w.language, stem))
		}
		have := 0
		for _, x := range q.in {
			for _, s := range x.segments {
				f := k.lookUp(s, false)
				f.each(func(place uint32, _ float32) { have += s.having(int(place)) })
				if in[s] == nil {
					in[s] = &marks{}
				}
				in[s].add(word, &f)
			}
		}
		weights[word] = w.weight * q.rarity(min(have, q.count))
	}
	for _, m := range in {
		m.sort()
	}
	scores := make([]*Scores, len(q.in))
	for i, x := range q.in {
		scores[i] = x.noScores()
		for _, doc := range docs[i] {
			scores[i].Add(doc, q.scoreOwn(x, doc, weights, *in[x.places[doc].segment]))
		}
	}
	return scores
}

// scoreOwn is what a document scores for words that are marked in its segment.
func (q *Query) scoreOwn(x *Index, doc uint32, weights []float64, m marks) (score float64) {
	var times [expandedWords]float32
	var titled [expandedWords]bool
	p := x.places[doc]
	m.count(p.segment, p.at, times[:], titled[:])
	for i, n := range times {
		if n > 0 {
			score += x.score(q, weights[i], n, doc)
		}
	}
	return score
}
