package text

import (
	"cmp"
	"math/bits"
	"slices"
)

// tally sums how often the documents of a segment have several words.
type tally struct {
	times  []float32
	titled []bool
	places []uint32
	list   []occurrence
	seen   [segmentDocs / 64]uint64
}

// occurrence is how often a document has a word: other forms of it count less.
type occurrence struct {
	doc    uint32
	times  float32
	titled bool
}

// count returns the occurrences of a word in a segment, until the next call. Times are in steps that a
// float holds exactly, so that the order of adding leaves no trace.
func (t *tally) count(s *segment, f *forms) []occurrence {
	t.list = t.list[:0]
	if len(f.exact)+len(f.stemmed) == 1 {
		word, share := f.only()
		each(s.postings.at(word), func(place, times uint32) {
			if number := s.numbers[place]; number != gone {
				t.list = append(t.list, occurrence{number, share * float32(times/2), times&1 != 0})
			}
		})
		return t.list
	}
	if missing := len(s.numbers) - len(t.times); missing > 0 {
		t.times, t.titled = append(t.times, make([]float32, missing)...), append(t.titled, make([]bool, missing)...)
	}
	f.each(func(word uint32, share float32) {
		each(s.postings.at(int(word)), func(place, times uint32) {
			if t.times[place] == 0 {
				t.places = append(t.places, place)
			}
			t.times[place] += share * float32(times/2)
			t.titled[place] = t.titled[place] || times&1 != 0
		})
	})
	for _, place := range t.places {
		if number := s.numbers[place]; number != gone {
			t.list = append(t.list, occurrence{number, t.times[place], t.titled[place]})
		}
		t.times[place], t.titled[place] = 0, false
	}
	t.places = t.places[:0]
	return t.list
}

// having is how many documents of a segment have a word.
func (t *tally) having(s *segment, f *forms) (count int) {
	switch len(f.exact) + len(f.stemmed) {
	case 0:
		return 0
	case 1:
		word, _ := f.only()
		return s.having(word)
	}
	seen := t.seen[:(len(s.numbers)+63)/64]
	clear(seen)
	f.each(func(word uint32, _ float32) {
		each(s.postings.at(int(word)), func(place, _ uint32) { seen[place/64] |= 1 << (place % 64) })
	})
	for _, some := range seen {
		count += bits.OnesCount64(some)
	}
	for place := 0; s.removed != nil && place < len(s.numbers); place++ {
		if s.numbers[place] == gone && seen[place/64]>>(place%64)&1 != 0 {
			count--
		}
	}
	return count
}

// forms are where a segment has a word of a query among its words: the word itself, and other forms of it.
type forms struct{ exact, stemmed []uint32 }

// each calls fn with each, and what it counts for.
func (f *forms) each(fn func(word uint32, share float32)) {
	for _, word := range f.exact {
		fn(word, 1)
	}
	for _, word := range f.stemmed {
		fn(word, stemmedTimes)
	}
}

// only is the only one, and what it counts for.
func (f *forms) only() (word int, share float32) {
	f.each(func(w uint32, s float32) { word, share = int(w), s })
	return word, share
}

// marked is a word of a segment that is a form of one of several words.
type marked struct {
	place uint32
	word  int
	share float32
}

// marks are marked words, in the order of their places once sorted.
type marks []marked

// add marks the forms of a word.
func (m *marks) add(word int, f *forms) {
	f.each(func(place uint32, share float32) { *m = append(*m, marked{place, word, share}) })
}

func (m marks) sort() {
	slices.SortFunc(m, func(a, b marked) int { return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.word, b.word)) })
}

// count adds how often a document of the segment has each of the words, and notes those that its title has.
func (m marks) count(s *segment, place uint32, times []float32, titled []bool) {
	each(s.docs.at(int(place)), func(word, count uint32) {
		for len(m) > 0 && m[0].place < word {
			m = m[1:]
		}
		for _, of := range m {
			if of.place != word {
				break
			}
			times[of.word] += of.share * float32(count/2)
			titled[of.word] = titled[of.word] || count&1 != 0
		}
	})
}
