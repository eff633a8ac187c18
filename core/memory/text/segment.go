package text

import (
	"encoding/binary"
	"slices"
	"strings"
)

// segmentDocs is how many documents a segment has at most. A change to one rebuilds at most this many,
// which takes about 30 ms; a search looks each of its words up in every segment.
const segmentDocs = 4096

// gone is the number of a document that was removed from a segment.
const gone = ^uint32(0)

// segment has the words of some documents. It doesn't change, except that documents are marked as
// removed. Documents have places in it, from 0, and words too, in the order of their letters.
type segment struct {
	// numbers are the documents' numbers in the index, [gone] for those removed, and live counts the
	// others.
	numbers []uint32
	live    int
	// lengths are how many words the documents have, and languages are those they are read in.
	lengths   []uint32
	languages []uint8
	traits    []traits
	words     texts
	// postings are, for each word, how many documents have it, and for each of these, in varints: how
	// far its place is from the one before, and 2·times, plus 1 if the title has it.
	postings parts
	// docs are, for each document, its words and postings in the same form.
	docs parts
	// forms are the words that have a stem, or a spelling without accents, in common, by formKey:
	// varints of their places.
	forms      texts
	formPlaces parts
}

// texts are sorted texts in one piece.
type texts struct {
	all  string
	ends []uint32
}

func (t *texts) at(i int) string {
	start := uint32(0)
	if i > 0 {
		start = t.ends[i-1]
	}
	return t.all[start:t.ends[i]]
}

// find returns the place of a text, or where it would be.
func (t *texts) find(s string) (place int, found bool) {
	low, high := 0, len(t.ends)
	for low < high {
		mid := (low + high) / 2
		switch c := strings.Compare(t.at(mid), s); {
		case c == 0:
			return mid, true
		case c < 0:
			low = mid + 1
		default:
			high = mid
		}
	}
	return low, false
}

// newTexts are sorted texts.
func newTexts(sorted []string) texts {
	t := texts{ends: make([]uint32, len(sorted))}
	var b strings.Builder
	for i, s := range sorted {
		b.WriteString(s)
		t.ends[i] = uint32(b.Len()) //nolint:gosec // 4,096 texts, each up to 64 KiB
	}
	t.all = b.String()
	return t
}

// parts are lists of bytes in one piece.
type parts struct {
	all  []byte
	ends []uint32
}

func (p *parts) at(i int) []byte {
	start := uint32(0)
	if i > 0 {
		start = p.ends[i-1]
	}
	return p.all[start:p.ends[i]]
}

func (p *parts) end() { p.ends = append(p.ends, uint32(len(p.all))) } //nolint:gosec // see newTexts

// analyzed is a document that isn't in a segment yet.
type analyzed struct {
	number   uint32
	language uint8
	length   uint32
	traits   traits
	words    []counted
}

// counted is a word of a document.
type counted struct {
	word  string
	times uint32 // 2·times, plus 1 if the title has it
}

// analyze reads the words of a document.
func (l Language) analyze(number uint32, title, body string) analyzed {
	words := slices.Collect(indexed(title))
	titled := len(words)
	words = slices.AppendSeq(words, indexed(body))
	a := analyzed{number: number, language: l.of(words)}
	if endsAsking(body) {
		a.traits |= asks
	}
	if saysWhen(words) {
		a.traits |= dated
	}
	for i, w := range words {
		if stops(a.language, w.text) {
			continue
		}
		if !w.joined {
			a.length++
		}
		c := counted{w.text, 2}
		if i < titled {
			c.times++
		}
		a.words = append(a.words, c)
	}
	slices.SortFunc(a.words, func(a, b counted) int { return strings.Compare(a.word, b.word) })
	n := 0
	for i, w := range a.words {
		if i > 0 && w.word == a.words[n-1].word {
			a.words[n-1].times = a.words[n-1].times + w.times&^1 | w.times&1
			continue
		}
		a.words[n] = w
		n++
	}
	a.words = a.words[:n]
	return a
}

// formKey is where a segment has the words of a language with a stem; without a language, the words
// that are the same without their accents.
func formKey(language uint8, stem string) string { return string([]byte{language}) + stem }

// newSegment makes a segment of documents.
func newSegment(docs []analyzed) *segment {
	s := &segment{live: len(docs)}
	at := map[string]int{} // of a word in uses
	var uses []use
	for place := range docs {
		d := &docs[place]
		s.numbers = append(s.numbers, d.number)
		s.lengths = append(s.lengths, d.length)
		s.languages = append(s.languages, d.language)
		s.traits = append(s.traits, d.traits)
		for _, w := range d.words {
			i, known := at[w.word]
			if !known {
				i = len(uses)
				w.word = strings.Clone(w.word) // which mustn't keep its text
				at[w.word] = i
				uses = append(uses, use{word: w.word})
			}
			u := &uses[i]
			u.languages |= 1 << d.language
			u.docs = append(u.docs, posting{uint32(place), w.times}) //nolint:gosec // at most segmentDocs
		}
	}
	slices.SortFunc(uses, func(a, b use) int { return strings.Compare(a.word, b.word) })
	list := make([]string, len(uses))
	for i, u := range uses {
		list[i] = u.word
		at[u.word] = i
		s.postings.all = appendPostings(s.postings.all, u.docs)
		s.postings.end()
	}
	s.words = newTexts(list)
	for i := range docs {
		own := make([]posting, len(docs[i].words))
		for j, w := range docs[i].words {
			own[j] = posting{uint32(at[w.word]), w.times} //nolint:gosec // see newTexts
		}
		s.docs.all = appendPostings(s.docs.all, own)
		s.docs.end()
	}
	s.addForms(uses)
	return s
}

// use is where documents have a word, and their languages as bits.
type use struct {
	word      string
	languages uint32
	docs      []posting
}

// posting is a place with 2·times.
type posting struct{ place, times uint32 }

// addForms notes which words are forms of one.
func (s *segment) addForms(uses []use) {
	var stemmer stemmer
	forms := map[string][]int{}
	add := func(key string, place int) {
		if list := forms[key]; len(list) == 0 || list[len(list)-1] != place {
			forms[key] = append(list, place)
		}
	}
	for place, u := range uses {
		for in := range uint8(len(languages)) { //nolint:gosec // there are few
			if u.languages&(1<<in) == 0 {
				continue
			}
			for _, stem := range stemmer.stems(in, u.word) {
				add(formKey(in, stem), place)
			}
			if plain := folded(in, u.word); plain != u.word {
				add(formKey(noLanguage, plain), place)
			}
		}
	}
	keys := make([]string, 0, len(forms))
	for key := range forms {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		last := 0
		for _, place := range forms[key] {
			s.formPlaces.all = binary.AppendUvarint(s.formPlaces.all, uint64(place-last)) //nolint:gosec // rising
			last = place
		}
		s.formPlaces.end()
	}
	s.forms = newTexts(keys)
}

// appendPostings appends rising postings.
func appendPostings(b []byte, list []posting) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	last := uint32(0)
	for _, p := range list {
		b = binary.AppendUvarint(b, uint64(p.place-last))
		b = binary.AppendUvarint(b, uint64(p.times))
		last = p.place
	}
	return b
}

// each calls fn with postings.
func each(b []byte, fn func(place, times uint32)) {
	count, n := binary.Uvarint(b)
	b = b[n:]
	place := uint64(0)
	for range count {
		step, n := binary.Uvarint(b)
		times, m := binary.Uvarint(b[n:])
		b = b[n+m:]
		place += step
		fn(uint32(place), uint32(times)) //nolint:gosec // as they were appended
	}
}

// read returns the documents that weren't removed, as they were analyzed.
func (s *segment) read() []analyzed {
	docs := make([]analyzed, 0, s.live)
	for place, number := range s.numbers {
		if number == gone {
			continue
		}
		d := analyzed{number: number, language: s.languages[place], length: s.lengths[place], traits: s.traits[place]}
		each(s.docs.at(place), func(word, times uint32) {
			d.words = append(d.words, counted{s.words.at(int(word)), times})
		})
		docs = append(docs, d)
	}
	return docs
}

// formsOf appends the places of the words with a key, see formKey.
func (s *segment) formsOf(list []uint32, key string) []uint32 {
	i, found := s.forms.find(key)
	if !found {
		return list
	}
	place := uint64(0)
	for b := s.formPlaces.at(i); len(b) > 0; {
		step, n := binary.Uvarint(b)
		place += step
		list = append(list, uint32(place)) //nolint:gosec // as it was appended
		b = b[n:]
	}
	return list
}

// bytes is the memory that the segment takes.
func (s *segment) bytes() int64 {
	const perDoc, perList = 4 + 4 + 1 + 1, 4
	return int64(perDoc*len(s.numbers) + len(s.words.all) + len(s.forms.all) + len(s.postings.all) + len(s.docs.all) + len(s.formPlaces.all) +
		perList*(len(s.words.ends)+len(s.forms.ends)+len(s.postings.ends)+len(s.docs.ends)+len(s.formPlaces.ends)))
}
