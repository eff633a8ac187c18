package text

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// The parameters of BM25, and of what is added to it. They were fitted on half of LoCoMo, see
// core/memory/search's quality test.
const (
	// k1 is how soon further occurrences of a word stop counting.
	k1 = 0.9
	// b is how much a long document is penalised for its length: shortB where documents have at most
	// shortWords on average, longB from longWords on, and between them in proportion.
	shortB, longB         = 0.4, 0.75
	shortWords, longWords = 50, 100
	// stemmedTimes is what another form of a word counts for, so that a document with
	// the exact form comes before one that is otherwise the same. From 0.8 to 1 the
	// quality test finds about as much.
	// It is in steps of a 1024th, which a float32 adds exactly.
	stemmedTimes = 922.0 / 1024
	// misspelledShare is what a word counts for that differs by one letter from a word of the query
	// that no document has. Both have at least misspelledLength letters.
	misspelledShare  = 0.8
	misspelledLength = 4
)

// Query is a text to search for, weighed by how rare its words are in some
// indices together. It is valid until one of them changes.
type Query struct {
	// words are those that documents have, the one with the most weight first.
	words []weighed
	in    []*Index
	// count is the number of documents, and length the mean of their words.
	count  int
	length float64
	// base and perWord say how many times a document has to have a word for half of its weight: more for
	// each of the document's words.
	base, perWord float64
	// whole is the weight of all words, also of those that no document has.
	whole float64
	// unknown are the words that no document has.
	unknown []weighed
	// stems are the query's words as groupKey has them.
	stems   map[string]bool
	stemmer stemmer
	// when is whether the query asks when something was.
	when  bool
	tally tally
}

// weighed is a word of a query, in any of its forms.
type weighed struct {
	weight float64
	// have is how many documents have it, and in where the segments of each index do; nil if none has it.
	have int
	in   [][]forms
	// tells is whether it says something that a title has it: most titles don't.
	tells bool
	// similar is whether documents only have words that differ from it by one letter, named whether the
	// query writes it like a name, and time whether it says when something was.
	similar, named, time bool
}

// NewQuery weighs a text's words by their rarity in all the indices that will be
// searched, so that the scores from them can be compared. Forms of one word in it
// are one word.
func NewQuery(text string, in ...*Index) *Query {
	q, length := &Query{in: in, stems: map[string]bool{}}, int64(0)
	for _, x := range in {
		q.count += x.count
		length += x.length
	}
	if q.count == 0 {
		return q
	}
	q.length = max(1, float64(length)/float64(q.count))
	b := q.lengthPenalty()
	q.base, q.perWord = k1*(1-b), k1*b/q.length
	names := nameWords(text)
	for _, g := range q.grouped(text) {
		w := q.weigh(1, g.forms)
		w.named, w.time = slices.ContainsFunc(g.forms, func(form string) bool { return names[form] }), slices.ContainsFunc(g.forms, isTime)
		if len(w.in) == 0 && g.joined { // written apart, it is found by its parts
			continue
		}
		q.whole += w.weight
		if len(w.in) > 0 {
			q.words = append(q.words, w)
		} else {
			q.unknown = append(q.unknown, w)
		}
	}
	slices.SortStableFunc(q.words, func(a, b weighed) int { return cmp.Compare(b.weight, a.weight) })
	return q
}

// wordForms are the words of a query that are forms of one.
type wordForms struct {
	forms  []string
	joined bool
}

// grouped are the words of a text in the order of their letters, with what are forms of one word in
// the text's language together. What that language leaves out isn't among them.
func (q *Query) grouped(text string) (groups []wordForms) {
	words := slices.Collect(indexed(text))
	q.when = asksWhen(words)
	in := q.language(words)
	slices.SortFunc(words, func(a, b word) int { return strings.Compare(a.text, b.text) })
	at := map[string]int{}
	for _, w := range slices.Compact(words) {
		if q.leavesOut(in, w.text) {
			continue
		}
		key := groupKey(in, w.text, q.stemmer.stems(in, w.text))
		i, known := at[key]
		if !known {
			i = len(groups)
			at[key] = i
			q.stems[key] = true
			groups = append(groups, wordForms{joined: true})
		}
		groups[i].forms = append(groups[i].forms, w.text)
		groups[i].joined = groups[i].joined && w.joined
	}
	return groups
}

// language is the language of a query's words: the indices' language, if they have one; otherwise the
// one that its stop words show, or most documents have.
func (q *Query) language(words []word) uint8 {
	auto := slices.ContainsFunc(q.in, func(x *Index) bool { return x.language.auto })
	if !auto {
		return q.in[0].language.place
	}
	var spoken [maxLanguages]int
	most := uint8(0)
	for i := range spoken {
		for _, x := range q.in {
			spoken[i] += x.spoken[i]
		}
		if spoken[i] > spoken[most] {
			most = uint8(i) //nolint:gosec // there are 32
		}
	}
	for i := range words {
		if stopWords()[words[i].text] != 0 {
			return Language{auto: true}.of(words)
		}
	}
	return most
}

// leavesOut reports whether a word of a query is left out: by the query's language, and each index that has
// one language.
func (q *Query) leavesOut(in uint8, word string) bool {
	for _, x := range q.in {
		if !x.language.auto && !stops(x.language.place, word) {
			return false
		}
	}
	return stops(in, word)
}

// groupKey is what forms of a word with some stems have in common.
func groupKey(in uint8, word string, stems []string) string {
	if len(stems) > 0 {
		return stems[0]
	}
	return folded(in, word)
}

// weigh finds where words that are forms of one occur, and how much they count: a share of how rare
// they are. For words that no document has, these are similar ones.
func (q *Query) weigh(share float64, words []string) weighed {
	w := q.find(words, false)
	if w.have == 0 {
		if w = q.find(words, true); w.have > 0 {
			w.similar = true
			share *= misspelledShare
		} else {
			w.in, share = nil, 1
		}
	}
	w.weight = share * q.rarity(w.have)
	return w
}

// rarity is the weight of a word that so many documents have.
func (q *Query) rarity(have int) float64 {
	return math.Log(1 + (float64(q.count-have)+0.5)/(float64(have)+0.5))
}

// find returns where any of some words occur.
func (q *Query) find(words []string, similar bool) (w weighed) {
	w.in = make([][]forms, len(q.in))
	for i, x := range q.in {
		k := q.keys(x, words)
		w.in[i] = make([]forms, len(x.segments))
		for j, s := range x.segments {
			w.in[i][j] = k.lookUp(s, similar)
			w.have += q.tally.having(s, &w.in[i][j])
		}
	}
	most := mostTitles * float64(q.count)
	w.tells = float64(w.have) <= most || float64(q.titled(&w)) <= most
	return w
}

// titled counts the titles that have a word.
func (q *Query) titled(w *weighed) (count int) {
	for i, x := range q.in {
		for j, s := range x.segments {
			for _, o := range q.tally.count(s, &w.in[i][j]) {
				if o.titled {
					count++
				}
			}
		}
	}
	return count
}

// keys are what the words of a segment are looked up by.
type keys struct {
	// forms are words as they are, without accents too, and plain and stems the keys of formKey.
	forms, words, plain, stems []string
}

// keys are the keys of words that are forms of one, in an index.
func (q *Query) keys(x *Index, forms []string) *keys {
	k := &keys{forms: forms}
	for _, form := range forms {
		k.words = append(k.words, form)
		plain := fold(form)
		if plain != form {
			k.words = append(k.words, plain)
		}
		k.plain = append(k.plain, formKey(noLanguage, plain))
		for in, count := range x.spoken {
			if count == 0 {
				continue
			}
			for _, stem := range q.stemmer.stems(uint8(in), form) { //nolint:gosec // there are 32
				k.stems = append(k.stems, formKey(uint8(in), stem)) //nolint:gosec // there are 32
			}
		}
	}
	return k
}

// lookUp returns the places of a segment's words that are any of the forms, but for accents, and of
// those that have their stems; or of those that differ from one by a letter.
func (k *keys) lookUp(s *segment, similar bool) (f forms) {
	if similar {
		for _, form := range k.forms {
			f.stemmed = s.similar(f.stemmed, form)
		}
	} else {
		for _, word := range k.words {
			if i, found := s.words.find(word); found {
				f.exact = append(f.exact, uint32(i)) //nolint:gosec // see end
			}
		}
		for _, key := range k.plain {
			f.exact = s.formsOf(f.exact, key)
		}
		for _, key := range k.stems {
			f.stemmed = s.formsOf(f.stemmed, key)
		}
	}
	slices.Sort(f.exact)
	slices.Sort(f.stemmed)
	f.exact = slices.Compact(f.exact)
	f.stemmed = slices.DeleteFunc(slices.Compact(f.stemmed), func(word uint32) bool { return slices.Contains(f.exact, word) })
	return f
}

// similar appends the places of the words that differ from one by a letter: one more, one less, another
// one, or two that changed places.
func (s *segment) similar(list []uint32, word string) []uint32 {
	letters := utf8.RuneCountInString(word)
	if letters < misspelledLength {
		return list
	}
	half := 0
	for range letters / 2 {
		_, n := utf8.DecodeRuneInString(word[half:])
		half += n
	}
	// One edit leaves what is before a letter as it is, or what is behind it.
	_, n := utf8.DecodeRuneInString(word[half:])
	head, tail := word[:half], word[half+n:]
	add := func(i int, w string) {
		if oneEdit(word, w) && utf8.RuneCountInString(w) >= misspelledLength {
			list = append(list, uint32(i)) //nolint:gosec // see end
		}
	}
	from, _ := s.words.find(head)
	for i := from; i < s.words.len() && strings.HasPrefix(s.words.at(i), head); i++ {
		add(i, s.words.at(i))
	}
	last, start := word[len(word)-1], uint32(0)
	for i := range s.words.len() {
		end := s.words.ends.at(i)
		if end > start && s.words.all[end-1] == last && strings.HasSuffix(s.words.all[start:end], tail) {
			add(i, s.words.all[start:end])
		}
		start = end
	}
	return list
}

// oneEdit reports whether two different words differ by one letter.
func oneEdit(a, b string) bool {
	for len(a) > 0 && len(b) > 0 {
		x, n := utf8.DecodeRuneInString(a)
		y, m := utf8.DecodeRuneInString(b)
		if x == y {
			a, b = a[n:], b[m:]
			continue
		}
		second, k := utf8.DecodeRuneInString(a[n:])
		third, l := utf8.DecodeRuneInString(b[m:])
		return a[n:] == b[m:] || a[n:] == b || a == b[m:] ||
			k > 0 && l > 0 && second == y && third == x && a[n+k:] == b[m+l:]
	}
	return utf8.RuneCountInString(a)+utf8.RuneCountInString(b) == 1
}

// Whole is the score of a document of average length that has each of the query's
// words once: what a score is measured by to compare it from query to query. Words that no
// document has count as well.
func (q *Query) Whole() float64 { return q.whole }

// AsksWhen reports whether the query asks when something was.
func (q *Query) AsksWhen() bool { return q.when }

// having is how many documents have a word, without the documents of one segment.
func (q *Query) having(word string, but *segment) (count int) {
	for _, x := range q.in {
		for _, s := range x.segments {
			if s == but {
				continue
			}
			if i, found := s.words.find(word); found {
				count += s.having(i)
			}
		}
	}
	return count
}
