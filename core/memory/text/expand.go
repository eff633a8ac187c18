package text

import (
	"cmp"
	"maps"
	"slices"
	"strings"
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
	words []expanded
}

// expanded is a word of an expansion, in the language in which it was found.
type expanded struct {
	form           string
	language       uint8
	rarity, weight float64
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
				w = &expanded{form: word, language: p.segment.languages[p.at], rarity: q.rarity(q.having(word))}
				found[word] = w
			}
			w.weight += e.Share * float64(times/2) / length * w.rarity
		})
	}
	x := &Expansion{query: q, words: q.mostTypical(slices.Collect(maps.Values(found)))}
	sum := 0.0
	for _, w := range x.words {
		sum += w.weight
	}
	for i := range x.words {
		x.words[i].weight *= expandedShare / (1 - expandedShare) * float64(len(q.words)) / sum
	}
	return x
}

// mostTypical are the words with the most weight. Forms of one word are one, the first of them by their
// letters, and forms of the query's words are left out.
func (q *Query) mostTypical(words []*expanded) (list []expanded) {
	slices.SortFunc(words, func(a, b *expanded) int { return strings.Compare(a.form, b.form) })
	at := map[string]int{}
	for _, w := range words {
		key := q.groupKey(w.language, w.form)
		if q.stems[key] {
			continue
		}
		if i, known := at[key]; known {
			list[i].weight += w.weight
			continue
		}
		at[key] = len(list)
		list = append(list, *w)
	}
	slices.SortFunc(list, func(a, b expanded) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), strings.Compare(a.form, b.form))
	})
	return list[:min(len(list), expandedWords)]
}

// marked is a word of a segment that is a form of an expansion's word.
type marked struct {
	place uint32
	word  int
	share float32
}

// Scores are what some documents of each of the query's indices score for the words. Their own words are
// read, so that it costs the same whether few or many others have them.
func (e *Expansion) Scores(docs [][]uint32) []*Scores {
	q := e.query
	forms := map[*segment][]marked{}
	weights := make([]float64, len(e.words))
	for word, w := range e.words {
		k := &keys{words: []string{w.form}}
		for _, stem := range q.stemmer.stems(w.language, w.form) {
			k.stems = append(k.stems, formKey(w.language, stem))
		}
		have := 0
		for _, x := range q.in {
			for _, s := range x.segments {
				exact, stemmed := k.lookUp(s, false)
				have += s.most(exact) + s.most(stemmed)
				forms[s] = mark(mark(forms[s], word, 1, exact), word, stemmedTimes, stemmed)
			}
		}
		weights[word] = w.weight * q.rarity(min(have, q.count))
	}
	for _, list := range forms {
		slices.SortFunc(list, func(a, b marked) int { return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.word, b.word)) })
	}
	scores := make([]*Scores, len(q.in))
	for i, x := range q.in {
		scores[i] = x.noScores()
		for _, doc := range docs[i] {
			scores[i].Add(doc, q.scoreOwn(x, doc, weights, forms[x.places[doc].segment]))
		}
	}
	return scores
}

func mark(list []marked, word int, share float32, places []uint32) []marked {
	for _, place := range places {
		list = append(list, marked{place, word, share})
	}
	return list
}

// scoreOwn is what a document scores for words that are marked in its segment.
func (q *Query) scoreOwn(x *Index, doc uint32, weights []float64, forms []marked) (score float64) {
	var times [expandedWords]float32
	p := x.places[doc]
	each(p.segment.docs.at(int(p.at)), func(place, count uint32) {
		for len(forms) > 0 && forms[0].place < place {
			forms = forms[1:]
		}
		if len(forms) > 0 && forms[0].place == place {
			times[forms[0].word] += forms[0].share * float32(count/2)
		}
	})
	for i, n := range times {
		if n > 0 {
			score += x.score(q, weights[i], n, doc)
		}
	}
	return score
}
