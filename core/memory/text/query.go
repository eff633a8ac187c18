package text

import (
	"math"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core/memory/top"
)

// The parameters of BM25.
const (
	// k1 is how soon further occurrences of a word stop counting, and b how much a long
	// document is penalised for its length.
	k1, b = 1.2, 0.75
	// stemmedShare is what another form of a word counts for, so that a document with
	// the exact form comes before one that is otherwise the same. From 0.8 to 1 the
	// quality test finds about as much.
	stemmedShare = 0.9
)

// Query is a text to search for, weighed by how rare its words are in some
// indices together. It is valid until one of them changes.
type Query struct {
	words []weighed
	// in are the indices, in the order of the occurrences of each word.
	in []*Index
	// length is the mean of the documents.
	length float64
	// whole is the weight of all words, also of those that no document has.
	whole float64
}

// weighed is a word of a query, in any of its forms.
type weighed struct {
	weight float64
	// in is where it occurs in each index, by rising document.
	in [][]occurrence
}

// occurrence is how often a document has a word: other forms of it count less.
type occurrence struct {
	doc   uint32
	times float32
}

// NewQuery weighs a text's words by their rarity in all the indices that will be
// searched, so that the scores from them can be compared. Forms of one word in it
// are one word.
func NewQuery(text string, in ...*Index) *Query {
	q, count, length := &Query{in: in}, 0, int64(0)
	for _, x := range in {
		count += x.count
		length += x.length
	}
	if count == 0 {
		return q
	}
	q.length = float64(length) / float64(count)
	for _, forms := range grouped(text, in) {
		w, have := weighed{in: make([][]occurrence, len(in))}, 0
		for i, x := range in {
			w.in[i] = x.occurrences(forms)
			have += len(w.in[i])
		}
		w.weight = math.Log(1 + (float64(count-have)+0.5)/(float64(have)+0.5))
		q.whole += w.weight
		if have > 0 {
			q.words = append(q.words, w)
		}
	}
	return q
}

// grouped are the words of a text in the order of their letters, with what are forms
// of one word in all languages of the indices together. What all of these leave out
// isn't among them.
func grouped(text string, in []*Index) (groups [][]string) {
	var languages []Language
	for _, x := range in {
		if !slices.ContainsFunc(languages, func(l Language) bool { return l.name == x.language.name }) {
			languages = append(languages, x.language)
		}
	}
	at := map[string]int{}
	for _, word := range slices.Compact(slices.Sorted(words(text, true))) {
		stops := 0
		var key strings.Builder
		for _, l := range languages {
			if l.stops(word) {
				stops++
			}
			if stems := l.stems(word); len(stems) > 0 {
				key.WriteString(stems[0] + "\x00")
			} else {
				key.WriteString(fold(word) + "\x01")
			}
		}
		if stops == len(languages) {
			continue
		}
		i, known := at[key.String()]
		if !known {
			i = len(groups)
			at[key.String()] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], word)
	}
	return groups
}

// occurrences are where an index has any of the forms of a word.
func (x *Index) occurrences(forms []string) (all []occurrence) {
	exact, stemmed := map[uint32]bool{}, map[uint32]bool{}
	for _, word := range forms {
		if x.language.stops(word) {
			continue
		}
		plain := fold(word)
		if term, known := x.terms[plain]; known {
			exact[term] = true
		}
		for _, term := range x.folded[plain] {
			exact[term] = true
		}
		for _, stem := range x.language.stems(word) {
			for _, term := range x.stemmed[stem] {
				stemmed[term] = true
			}
		}
	}
	for term := range exact {
		delete(stemmed, term)
		all = merge(all, x.postings[term].at, 1)
	}
	for term := range stemmed {
		all = merge(all, x.postings[term].at, stemmedShare)
	}
	return all
}

// merge adds postings to occurrences. Times are summed in steps that a float holds
// exactly, so that the order of merging leaves no trace.
func merge(all []occurrence, at []posting, share float32) []occurrence {
	const step = 1 << 10
	share = float32(math.Round(float64(share)*step)) / step
	out := make([]occurrence, 0, len(all)+len(at))
	for len(all) > 0 || len(at) > 0 {
		switch {
		case len(at) == 0 || len(all) > 0 && all[0].doc < at[0].doc:
			out, all = append(out, all[0]), all[1:]
		case len(all) == 0 || at[0].doc < all[0].doc:
			out, at = append(out, occurrence{at[0].doc, share * float32(at[0].times)}), at[1:]
		default:
			out = append(out, occurrence{at[0].doc, all[0].times + share*float32(at[0].times)})
			all, at = all[1:], at[1:]
		}
	}
	return out
}

// Whole is the score of a document of average length that has each of the query's words
// once: what a score is measured by to compare it from query to query. Words that no
// document has count as well.
func (q *Query) Whole() float64 { return q.whole }

// Top returns the k documents with the highest scores, the best first. If keep
// isn't nil only those that it accepts are taken. Documents without any of the
// query's words aren't found.
func (x *Index) Top(q *Query, k int, keep func(doc uint32) bool) []top.Hit {
	best := top.New(k, x.order)
	scores := x.scores(q)
	for doc, score := range scores {
		if score > 0 && best.Takes(score) && (keep == nil || keep(uint32(doc))) {
			best.Add(uint32(doc), score)
		}
	}
	return best.Hits()
}

// scores are the scores of all documents. The words are added in the query's order,
// so that the same sums come out each time.
func (x *Index) scores(q *Query) []float64 {
	scores := make([]float64, len(x.lengths))
	at := slices.Index(q.in, x)
	for _, w := range q.words {
		for _, o := range w.in[at] {
			scores[o.doc] += x.score(q, w.weight, o)
		}
	}
	return scores
}

// score is what one word adds to a document's.
func (x *Index) score(q *Query, weight float64, o occurrence) float64 {
	times := float64(o.times)
	return weight * times * (k1 + 1) / (times + k1*(1-b+b*float64(x.lengths[o.doc])/q.length))
}

// Score is the score of one document.
func (x *Index) Score(q *Query, doc uint32) (score float64) {
	at := slices.Index(q.in, x)
	for _, w := range q.words {
		i, found := slices.BinarySearchFunc(w.in[at], doc, func(o occurrence, doc uint32) int { return int(o.doc) - int(doc) })
		if found {
			score += x.score(q, w.weight, w.in[at][i])
		}
	}
	return score
}
