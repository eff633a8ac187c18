package text

// Builder makes an index of many documents at once, which takes less time and
// memory than to put them in one by one: a list of postings is made when it is
// known how long it has to be.
type Builder struct {
	index *Index
	// times are how often each word of each document occurs there, in the order of
	// the documents and then of their terms.
	times []uint32
	uses  []use
	// again are the documents that were put in before.
	again []uint32
	texts []string
}

// use is how documents use a term.
type use struct {
	// last is one more than the place in times of its newest document, and count is
	// how many documents have it.
	last, count uint32
}

// NewBuilder makes one for an index of such a language and order; see [New].
func NewBuilder(language Language, order func(a, b uint32) int) *Builder {
	return &Builder{index: New(language, order)}
}

// Put adds a document, or replaces it. New documents must come in the order of their
// numbers.
func (b *Builder) Put(doc uint32, text string) {
	x := b.index
	if int(doc) < len(x.docs) {
		b.again, b.texts = append(b.again, doc), append(b.texts, text)
		return
	}
	start := uint32(len(b.times))
	length := uint32(0)
	for word := range words(text, true) {
		if x.language.stops(word) {
			continue
		}
		length++
		term := x.term(word)
		if int(term) == len(b.uses) {
			b.uses = append(b.uses, use{})
		}
		u := &b.uses[term]
		if u.last > start {
			b.times[u.last-1]++
			continue
		}
		b.times = append(b.times, 1)
		u.last, u.count = uint32(len(b.times)), u.count+1
		x.found = append(x.found, term)
	}
	x.enter(doc, length)
}

// Index returns the index, and ends the building.
func (b *Builder) Index() *Index {
	x := b.index
	for term, u := range b.uses {
		x.postings[term].at = make([]posting, 0, u.count)
	}
	n := 0
	for doc := range x.docs {
		for _, term := range x.docs[doc].terms {
			l := &x.postings[term]
			l.at = append(l.at, posting{uint32(doc), b.times[n]})
			n++
		}
	}
	for i, doc := range b.again {
		x.Put(doc, b.texts[i])
	}
	return x
}
