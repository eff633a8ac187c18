package text

import (
	"cmp"
	"slices"
	"strings"
)

// Index holds the words of documents. It is not safe for concurrent changes;
// searches may run at the same time.
type Index struct {
	order    func(a, b uint32) int
	language Language
	// terms numbers the words, and postings are by that number; free are numbers
	// without a word.
	terms    map[string]uint32
	postings []list
	free     []uint32
	// stemmed are the terms that have a stem in common, and folded the terms that are the
	// same word except for their accents, without the one that has none.
	stemmed, folded map[string][]uint32
	docs            []document
	// lengths are the words of the documents.
	lengths []uint32
	// found are the words of the document that is put in, to use their memory again.
	found []uint32
	// count is the number of documents, and length the number of their words; places counts
	// the postings.
	count  int
	length int64
	places int64
}

// list is where a word occurs, by rising document.
type list struct {
	word string
	at   []posting
}

type posting struct{ doc, times uint32 }

// document is what has to be undone when a document is removed.
type document struct {
	terms []uint32
	here  bool
}

// New makes an index of texts of a language, whose equal scores are ordered by the
// given comparison of documents.
func New(language Language, order func(a, b uint32) int) *Index {
	return &Index{
		order: order, language: language, terms: map[string]uint32{},
		stemmed: map[string][]uint32{}, folded: map[string][]uint32{},
	}
}

// Len is the number of documents.
func (x *Index) Len() int { return x.count }

// Put adds a document, or replaces the one with that number.
func (x *Index) Put(doc uint32, text string) {
	x.Remove(doc)
	length := uint32(0)
	for word := range words(text, true) {
		if x.language.stops(word) {
			continue
		}
		length++
		if term := x.term(word); x.postings[term].add(doc) {
			x.found = append(x.found, term)
		}
	}
	x.enter(doc, length)
}

// enter notes that a document is there, with the terms that were found in it.
func (x *Index) enter(doc uint32, length uint32) {
	if missing := int(doc) + 1 - len(x.docs); missing > 0 {
		x.docs = append(x.docs, make([]document, missing)...)
		x.lengths = append(x.lengths, make([]uint32, missing)...)
	}
	x.docs[doc] = document{terms: slices.Clone(x.found), here: true}
	x.lengths[doc] = length
	x.count++
	x.length += int64(length)
	x.places += int64(len(x.found))
	x.found = x.found[:0]
}

// add counts the word once more in a document, and reports whether it is the
// first time.
func (l *list) add(doc uint32) bool {
	i, found := find(l.at, doc)
	if found {
		l.at[i].times++
		return false
	}
	l.at = slices.Insert(l.at, i, posting{doc, 1})
	return true
}

// Remove removes a document, if it is there.
func (x *Index) Remove(doc uint32) {
	if int(doc) >= len(x.docs) || !x.docs[doc].here {
		return
	}
	for _, term := range x.docs[doc].terms {
		l := &x.postings[term]
		if i, found := find(l.at, doc); found {
			l.at = slices.Delete(l.at, i, i+1)
		}
		if len(l.at) == 0 {
			x.drop(term)
			x.free = append(x.free, term)
		}
	}
	x.count--
	x.length -= int64(x.lengths[doc])
	x.places -= int64(len(x.docs[doc].terms))
	x.docs[doc] = document{}
}

// term returns the number of a word, a new one if it has none.
func (x *Index) term(word string) uint32 {
	if n, known := x.terms[word]; known {
		return n
	}
	// The word is part of its text, which mustn't stay in memory for it.
	word = strings.Clone(word)
	n := uint32(len(x.postings))
	if last := len(x.free) - 1; last >= 0 {
		n, x.free = x.free[last], x.free[:last]
		x.postings[n].word = word
	} else {
		x.postings = append(x.postings, list{word: word})
	}
	x.terms[word] = n
	for _, stem := range x.language.stems(word) {
		x.stemmed[stem] = append(x.stemmed[stem], n)
	}
	if plain := fold(word); plain != word {
		x.folded[plain] = append(x.folded[plain], n)
	}
	return n
}

// drop takes out a term that no document has any more.
func (x *Index) drop(term uint32) {
	l := &x.postings[term]
	for _, stem := range x.language.stems(l.word) {
		without(x.stemmed, stem, term)
	}
	if plain := fold(l.word); plain != l.word {
		without(x.folded, plain, term)
	}
	delete(x.terms, l.word)
	*l = list{}
}

func without(terms map[string][]uint32, key string, term uint32) {
	list := terms[key]
	if i := slices.Index(list, term); i >= 0 {
		list = slices.Delete(list, i, i+1)
	}
	if terms[key] = list; len(list) == 0 {
		delete(terms, key)
	}
}

func find(at []posting, doc uint32) (int, bool) {
	// Most documents are new, and come last.
	n := len(at)
	switch {
	case n == 0 || at[n-1].doc < doc:
		return n, false
	case at[n-1].doc == doc:
		return n - 1, true
	}
	return slices.BinarySearchFunc(at, doc, func(p posting, doc uint32) int { return cmp.Compare(p.doc, doc) })
}

// Bytes estimates the memory that the index takes.
func (x *Index) Bytes() int64 {
	// A posting is stored in its list, which has room to grow, and in its document.
	const perTerm, perDoc, perPosting = 200, 40, 8 + 2 + 4
	return perTerm*int64(len(x.postings)) + perDoc*int64(len(x.docs)) + perPosting*x.places
}
