package text

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxMet is how many words of a query, the rarest that documents have, are looked for by [Meeting.Of].
const maxMet = 64

// Meeting tells which of a query's words documents have. Words for a time, such as May and 2024, are
// left out: a document's own time answers them.
type Meeting struct {
	in    []*Index
	words []weighed
	whole float64
	count int
	// names are the places of words that are written like names, and unknown is whether no document
	// has one of these.
	names   uint64
	unknown bool
}

// Met is how a document meets a query.
type Met struct {
	// Share is how much of the query's words it has, by how rare they are, in [0,1].
	Share float64
	// Surprise is how far it is from having them by chance: the sum of how rare they are, less the
	// logarithm of how many documents there are.
	Surprise float64
	Names    Names
}

// Names is what a document has of the names in a query.
type Names uint8

// The query has no name; no document has one of the names; this one lacks one; it has all.
const (
	NoNames Names = iota
	UnknownName
	LacksName
	HasNames
)

// Meeting is what [Meeting.Of] needs to know of a query.
func (q *Query) Meeting() *Meeting {
	m := &Meeting{in: q.in, count: max(1, q.count)}
	for _, w := range slices.Concat(q.words, q.unknown) {
		if w.time {
			continue
		}
		m.whole += w.weight
		if known := w.in != nil && !(w.named && w.similar); known {
			m.words = append(m.words, w)
		} else if w.named {
			m.unknown = true
		}
	}
	slices.SortStableFunc(m.words, func(a, b weighed) int { return cmp.Compare(b.weight, a.weight) })
	m.words = m.words[:min(len(m.words), maxMet)]
	for i, w := range m.words {
		if w.named {
			m.names |= 1 << i
		}
	}
	return m
}

// Of is how documents of an index, one of the query's, meet it. Their own words are read.
func (m *Meeting) Of(in int, docs []uint32) []Met {
	x, list := m.in[in], make([]Met, len(docs))
	var own []uint32
	for i, doc := range docs {
		p, has := x.places[doc], uint64(0)
		own = own[:0]
		if p.segment != nil {
			each(p.segment.docs.at(int(p.at)), func(word, _ uint32) { own = append(own, word) })
		}
		at := slices.Index(x.segments, p.segment)
		any := func(word uint32) bool {
			_, found := slices.BinarySearch(own, word)
			return found
		}
		for bit := range m.words {
			if len(own) == 0 {
				break
			}
			if f := &m.words[bit].in[in][at]; slices.ContainsFunc(f.exact, any) || slices.ContainsFunc(f.stemmed, any) {
				has |= 1 << bit
			}
		}
		list[i] = m.met(has)
	}
	return list
}

// met is how a document with some of the words meets the query.
func (m *Meeting) met(has uint64) Met {
	sum := 0.0
	for i, w := range m.words {
		if has>>i&1 != 0 {
			sum += w.weight
		}
	}
	d := Met{Surprise: sum - math.Log(float64(m.count))}
	if m.whole > 0 {
		d.Share = sum / m.whole
	}
	switch {
	case m.unknown:
		d.Names = UnknownName
	case m.names == 0:
	case m.names&^has != 0:
		d.Names = LacksName
	default:
		d.Names = HasNames
	}
	return d
}

// nameWords are the words of a text that are written like names: with a capital, and not as the first of a
// sentence.
func nameWords(text string) map[string]bool {
	list, first := map[string]bool{}, true
	for field := range strings.FieldsSeq(norm.NFKC.String(text)) {
		letters := strings.TrimLeftFunc(field, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if r, _ := utf8.DecodeRuneInString(letters); unicode.IsUpper(r) && !first {
			for w := range indexed(field) {
				list[w.text] = true
			}
		}
		last, _ := utf8.DecodeLastRuneInString(field)
		first = strings.ContainsRune(".!?:;", last)
	}
	return list
}

// isTime reports whether a word names a month, a day of the week, a year or the like.
func isTime(word string) bool { return moments()[word] || isYear(word) }
