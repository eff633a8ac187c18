package text

import "sync"

// Index holds the words of documents. It is not safe for concurrent changes;
// searches may run at the same time.
//
// Documents are in segments, which don't change: new ones are read into a segment of their own, and
// small segments become larger ones. In the language [Auto], each text is read in the language that
// its stop words show, and a word of a query is stemmed in every language that the index has.
type Index struct {
	order    func(a, b uint32) int
	language Language
	segments []*segment
	// pending are documents that aren't in a segment yet.
	pending []analyzed
	// places are the segment and the place of each document, by its number.
	places []place
	// lengths are the words of the documents.
	lengths []uint32
	traits  []traits
	// spoken counts the documents by their language.
	spoken [maxLanguages]int
	// count is the number of documents, and length the number of their words.
	count  int
	length int64
	// spare are scores to be used again, of zeros.
	spare sync.Pool
}

// place is where a document is.
type place struct {
	segment *segment // nil if it is in no segment
	at      uint32
	here    bool
}

// New makes an index of texts of a language, whose equal scores are ordered by the
// given comparison of documents.
func New(language Language, order func(a, b uint32) int) *Index {
	return &Index{order: order, language: language}
}

// Len is the number of documents.
func (x *Index) Len() int { return x.count }

// Put adds a document, or replaces the one with that number. It is found once [Index.Settle] was
// called.
func (x *Index) Put(doc uint32, title, body string) {
	x.Remove(doc)
	x.widen(doc)
	a := x.language.analyze(doc, title, body)
	x.places[doc] = place{here: true}
	x.lengths[doc], x.traits[doc] = a.length, a.traits
	x.spoken[a.language]++
	x.count++
	x.length += int64(a.length)
	if x.pending = append(x.pending, a); len(x.pending) == segmentDocs {
		x.seal()
	}
}

// widen makes room for a document.
func (x *Index) widen(doc uint32) {
	if missing := int(doc) + 1 - len(x.places); missing > 0 {
		x.places = append(x.places, make([]place, missing)...)
		x.lengths = append(x.lengths, make([]uint32, missing)...)
		x.traits = append(x.traits, make([]traits, missing)...)
	}
}

// Remove removes a document, if it is there.
func (x *Index) Remove(doc uint32) {
	if int(doc) >= len(x.places) || !x.places[doc].here {
		return
	}
	p := x.places[doc]
	if p.segment == nil {
		x.seal()
		p = x.places[doc]
	}
	p.segment.remove(int(p.at))
	x.spoken[p.segment.languages[p.at]]--
	x.count--
	x.length -= int64(x.lengths[doc])
	x.places[doc] = place{}
}

// Settle makes what was put in findable.
func (x *Index) Settle() {
	x.seal()
	for {
		i := x.smallest()
		if i < 0 {
			return
		}
		a, b := x.segments[i], x.segments[i+1]
		merged := append(a.read(), b.read()...)
		x.segments = append(x.segments[:i], x.segments[i+1:]...)
		if len(merged) == 0 {
			x.segments = append(x.segments[:i], x.segments[i+1:]...)
			continue
		}
		x.segments[i] = x.enter(merged)
	}
}

// grows is how many times as large as the next a segment has to be, unless both are too large for
// one.
const grows = 4

// smallest is the place of the last two segments that should be one; -1 if there are none. Segments of
// which more than half was removed count as small ones.
func (x *Index) smallest() int {
	for i := len(x.segments) - 2; i >= 0; i-- {
		a, b := x.segments[i].live, x.segments[i+1].live
		if a+b <= mergedDocs && (a < grows*b || b == 0) {
			return i
		}
	}
	return -1
}

// seal makes a segment of the pending documents.
func (x *Index) seal() {
	if len(x.pending) == 0 {
		return
	}
	x.segments = append(x.segments, x.enter(x.pending))
	x.pending = nil
}

// enter makes a segment and notes where its documents are.
func (x *Index) enter(docs []analyzed) *segment {
	s := newSegment(docs)
	for at, number := range s.numbers {
		x.places[number] = place{s, uint32(at), true} //nolint:gosec // at most segmentDocs
	}
	return s
}

// Bytes estimates the memory that the index takes.
func (x *Index) Bytes() (sum int64) {
	const perDoc = 16 + 4 + 1
	for _, s := range x.segments {
		sum += s.bytes()
	}
	return sum + perDoc*int64(len(x.places))
}

// Asks reports whether a document ends with a question mark.
func (x *Index) Asks(doc uint32) bool { return x.traits[doc]&asks != 0 }

// SaysWhen reports whether a document says when something was.
func (x *Index) SaysWhen(doc uint32) bool { return x.traits[doc]&dated != 0 }
