package text

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"
)

// segmentDocs is how many documents a segment has at most, when many are put in at once: a search looks
// each of its words up in every segment. mergedDocs is how many have the segments that are made of
// smaller ones: a change makes one again, of this many or fewer, which takes about 30 ms.
const segmentDocs, mergedDocs = 16384, 4096

// gone is the number of a document that was removed from a segment.
const gone = ^uint32(0)

// segment has the words of some documents. It doesn't change, except that documents are marked as
// removed. Documents have places in it, from 0, and words too, in the order of their letters.
type segment struct {
	// all is the whole of it; see layout.go. name is its digest, once that is needed.
	all, name string
	// numbers are the documents' numbers in the index, [gone] for those removed, and live counts the
	// others.
	numbers []uint32
	live    int
	// removed counts, for each word, the removed documents that have it; nil if none was removed.
	removed []uint32
	// lengths are how many words the documents have, and languages are the languages that they are read
	// in, a byte each, as are traits.
	lengths           numbers
	languages, traits string
	words             list
	// postings are, for each word, in varints: how many documents have it, and for each of these how far
	// its place is from the one before, and 2·times, plus 1 if the title has it.
	postings list
	// docs are, for each document, its words and postings in the same form.
	docs list
	// forms are the words that have a stem, or a spelling without accents, in common, by formKey:
	// varints of their places.
	forms, formPlaces list
	// formsOfWords are the forms of each word, by their places: a word's forms begin where formStarts says.
	formStarts, formsOfWords []uint32
}

// noteForms sets the forms of words.
func (s *segment) noteForms() {
	s.formStarts = make([]uint32, s.words.len()+1)
	var places []uint32
	for form := range s.forms.len() {
		places = s.placesOf(places[:0], form)
		for _, word := range places {
			s.formStarts[word]++
		}
	}
	all := uint32(0)
	for word, n := range s.formStarts {
		all += n
		s.formStarts[word] = all // the end, which moves to the start
	}
	s.formsOfWords = make([]uint32, all)
	for form := range s.forms.len() {
		places = s.placesOf(places[:0], form)
		for _, word := range places {
			s.formStarts[word]--
			s.formsOfWords[s.formStarts[word]] = uint32(form) //nolint:gosec // see end
		}
	}
}

// stem is the stem of a word in the language of a document that has it; "" if it has none. It isn't known of
// words with accents, which may have two.
func (s *segment) stem(word int, language uint8) (stem string, known bool) {
	if !isASCII(s.words.at(word)) {
		return "", false
	}
	for _, form := range s.formsOfWords[s.formStarts[word]:s.formStarts[word+1]] {
		if key := s.forms.at(int(form)); key[0] == language {
			return key[1:], true
		}
	}
	return "", true
}

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
	var uses []use
	at := map[string]int{} // of a word in uses
	for place := range docs {
		d := &docs[place]
		for _, w := range d.words {
			i, known := at[w.word]
			if !known {
				i = len(uses)
				at[w.word] = i
				uses = append(uses, use{word: w.word})
			}
			u := &uses[i]
			u.languages |= 1 << d.language
			u.docs = append(u.docs, posting{uint32(place), w.times}) //nolint:gosec // at most segmentDocs
		}
	}
	slices.SortFunc(uses, func(a, b use) int { return strings.Compare(a.word, b.word) })
	var words, postings, own writtenList
	for i, u := range uses {
		at[u.word] = i
		words.add(u.word)
		postings.all = appendPostings(postings.all, u.docs)
		postings.end()
	}
	for i := range docs {
		list := make([]posting, len(docs[i].words))
		for j, w := range docs[i].words {
			list[j] = posting{uint32(at[w.word]), w.times} //nolint:gosec // see end
		}
		own.all = appendPostings(own.all, list)
		own.end()
	}
	forms, places := formsOf(uses)
	s, err := openSegment(layOut(docs, &words, &postings, &own, forms, places))
	if err != nil {
		panic(err) // the two disagree on the layout
	}
	for i := range docs {
		s.numbers = append(s.numbers, docs[i].number)
	}
	s.live = len(docs)
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

// formsOf are the words that are forms of one, and their places.
func formsOf(uses []use) (keys, places *writtenList) {
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
	keys, places = &writtenList{}, &writtenList{}
	for _, key := range slices.Sorted(maps.Keys(forms)) {
		keys.add(key)
		last := 0
		for _, place := range forms[key] {
			places.all = binary.AppendUvarint(places.all, uint64(place-last)) //nolint:gosec // rising
			last = place
		}
		places.end()
	}
	return keys, places
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

// uvarint reads a number as [binary.Uvarint] does, and returns what follows it.
func uvarint(s string) (n uint64, rest string) {
	for i := range min(len(s), binary.MaxVarintLen64) {
		n |= uint64(s[i]&0x7f) << (7 * i)
		if s[i] < 0x80 {
			return n, s[i+1:]
		}
	}
	return 0, ""
}

// each calls fn with postings.
func each(s string, fn func(place, times uint32)) {
	_, s = uvarint(s)
	place := uint64(0)
	for len(s) > 0 {
		var step, times uint64
		if len(s) > 1 && s[0]|s[1] < 0x80 { // as nearly all are
			step, times, s = uint64(s[0]), uint64(s[1]), s[2:]
		} else {
			step, s = uvarint(s)
			times, s = uvarint(s)
		}
		place += step
		fn(uint32(place), uint32(times)) //nolint:gosec // as they were appended
	}
}

// having is how many documents have a word, by its place.
func (s *segment) having(word int) int {
	n, _ := uvarint(s.postings.at(word))
	if s.removed != nil {
		n -= uint64(s.removed[word])
	}
	return int(n) //nolint:gosec // at most segmentDocs
}

// remove marks the document at a place as removed.
func (s *segment) remove(place int) {
	if s.removed == nil {
		s.removed = make([]uint32, s.words.len())
	}
	each(s.docs.at(place), func(word, _ uint32) { s.removed[word]++ })
	s.numbers[place] = gone
	s.live--
}

// read returns the documents that weren't removed, as they were analyzed.
func (s *segment) read() []analyzed {
	docs := make([]analyzed, 0, s.live)
	for place, number := range s.numbers {
		if number == gone {
			continue
		}
		d := analyzed{number: number, language: s.languages[place], length: s.lengths.at(place), traits: traits(s.traits[place])}
		each(s.docs.at(place), func(word, times uint32) {
			d.words = append(d.words, counted{s.words.at(int(word)), times})
		})
		docs = append(docs, d)
	}
	return docs
}

// formsOf appends the places of the words with a key, see formKey.
func (s *segment) formsOf(list []uint32, key string) []uint32 {
	if i, found := s.forms.find(key); found {
		list = s.placesOf(list, i)
	}
	return list
}

// placesOf appends the places of the words of a form.
func (s *segment) placesOf(list []uint32, i int) []uint32 {
	place := uint64(0)
	for b := s.formPlaces.at(i); len(b) > 0; {
		var step uint64
		step, b = uvarint(b)
		place += step
		list = append(list, uint32(place)) //nolint:gosec // as it was appended
	}
	return list
}

// bytes is the memory that the segment takes.
func (s *segment) bytes() int64 {
	return int64(len(s.all) + 4*(len(s.numbers)+len(s.removed)+len(s.formStarts)+len(s.formsOfWords)))
}
