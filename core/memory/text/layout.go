package text

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
)

// Version names how words are read, stemmed and laid out. It changes whenever an index that is kept
// would differ from one that is made now, as TestLayout proves: for another layout, another list of
// stop words, or a new version of the stemmers.
const Version = "1"

// A segment is one string, the same in memory and where it is kept, so that it is read without being
// decoded. All numbers of 4 bytes are little-endian:
//
//	size              what
//	8 × 4             D, W, F: the documents, words and forms; then the sizes of the five lists
//	D × 4             how many words each document has
//	W × 4             where each word ends in the list of words
//	W × 4             where the postings of each word end in theirs
//	D × 4             where the words of each document end in theirs
//	F × 4             where each form ends in the list of forms
//	F × 4             where the places of each form end in theirs
//	D                 the language of each document
//	D                 the traits of each document
//	the lists         words, postings, documents, forms, places of forms
//
// Words and forms are sorted. See [segment] for what the lists hold.
const (
	layoutCounts = 3
	layoutLists  = 5
	layoutHead   = 4 * (layoutCounts + layoutLists)
)

// numbers are numbers of 4 bytes.
type numbers string

func (n numbers) len() int { return len(n) / 4 }

func (n numbers) at(i int) uint32 {
	s := n[4*i : 4*i+4]
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}

// list is texts in one piece.
type list struct {
	all  string
	ends numbers
	// heads are how every step-th text of a sorted list begins, see [begins]: near each other, they are
	// searched in a tenth of the time of the texts.
	heads []uint64
}

// step is how many texts there are to a head.
const step = 16

func (l *list) len() int { return l.ends.len() }

func (l *list) at(i int) string {
	start := uint32(0)
	if i > 0 {
		start = l.ends.at(i - 1)
	}
	return l.all[start:l.ends.at(i)]
}

// begins is the first eight bytes of a text, in an order that theirs doesn't contradict.
func begins(s string) (n uint64) {
	for i := range 8 {
		if n <<= 8; i < len(s) {
			n |= uint64(s[i])
		}
	}
	return n
}

// sorted makes heads for a list in order.
func (l *list) sorted() {
	l.heads = make([]uint64, 0, (l.len()+step-1)/step)
	for i := 0; i < l.len(); i += step {
		l.heads = append(l.heads, begins(l.at(i)))
	}
}

// find returns the place of a text in a sorted list, or where it would be.
func (l *list) find(s string) (place int, found bool) {
	head := begins(s)
	before, _ := slices.BinarySearch(l.heads, head) // the heads that are smaller
	after := before
	for after < len(l.heads) && l.heads[after] == head {
		after++
	}
	low, high := step*max(0, before-1), min(step*after, l.len())
	for low < high {
		mid := (low + high) / 2
		switch text := l.at(mid); {
		case text == s:
			return mid, true
		case text < s:
			low = mid + 1
		default:
			high = mid
		}
	}
	return low, false
}

// writtenList is a list that is being made.
type writtenList struct {
	all  []byte
	ends []uint32
}

func (l *writtenList) end() { l.ends = append(l.ends, uint32(len(l.all))) } //nolint:gosec // 16,384 documents, each up to 64 KiB

func (l *writtenList) add(s string) {
	l.all = append(l.all, s...)
	l.end()
}

// layOut makes the string of a segment.
func layOut(docs []analyzed, words, postings, own, forms, places *writtenList) string {
	lists := [layoutLists]*writtenList{words, postings, own, forms, places}
	size := layoutHead + (4+1+1)*len(docs)
	for _, l := range lists {
		size += 4*len(l.ends) + len(l.all)
	}
	b := make([]byte, 0, size)
	number := func(n int) { b = binary.LittleEndian.AppendUint32(b, uint32(n)) } //nolint:gosec // see end
	for _, n := range []int{len(docs), len(words.ends), len(forms.ends)} {
		number(n)
	}
	for _, l := range lists {
		number(len(l.all))
	}
	for i := range docs {
		b = binary.LittleEndian.AppendUint32(b, docs[i].length)
	}
	for _, l := range lists {
		for _, end := range l.ends {
			b = binary.LittleEndian.AppendUint32(b, end)
		}
	}
	for i := range docs {
		b = append(b, docs[i].language)
	}
	for i := range docs {
		b = append(b, byte(docs[i].traits))
	}
	for _, l := range lists {
		b = append(b, l.all...)
	}
	return string(b)
}

var errLayout = errors.New("it isn't laid out as a segment")

// openSegment is the segment of a string that [layOut] made. The lists' contents aren't looked at: who
// keeps the string keeps a digest of it too.
func openSegment(all string) (*segment, error) {
	if len(all) < layoutHead {
		return nil, errLayout
	}
	head, rest := numbers(all[:layoutHead]), all[layoutHead:]
	docs, words, forms := int(head.at(0)), int(head.at(1)), int(head.at(2))
	counts := [layoutLists]int{words, words, docs, forms, forms}
	size := (4 + 1 + 1) * docs
	for i, n := range counts {
		size += 4*n + int(head.at(layoutCounts+i))
	}
	if docs > segmentDocs || size != len(rest) {
		return nil, errLayout
	}
	take := func(n int) (part string) {
		part, rest = rest[:n], rest[n:]
		return part
	}
	s := &segment{all: all, lengths: numbers(take(4 * docs))}
	lists := [layoutLists]*list{&s.words, &s.postings, &s.docs, &s.forms, &s.formPlaces}
	for i, l := range lists {
		l.ends = numbers(take(4 * counts[i]))
	}
	s.languages, s.traits = take(docs), take(docs)
	for i, l := range lists {
		l.all = take(int(head.at(layoutCounts + i)))
		if !l.rises() {
			return nil, errLayout
		}
	}
	for i := range docs {
		if int(s.languages[i]) >= maxLanguages {
			return nil, errLayout
		}
	}
	s.words.sorted()
	s.forms.sorted()
	s.noteForms()
	return s, nil
}

// rises reports whether the ends are in order, up to the end.
func (l *list) rises() bool {
	last := uint32(0)
	for i := range l.len() {
		end := l.ends.at(i)
		if end < last {
			return false
		}
		last = end
	}
	return int(last) == len(l.all)
}

// Part is a segment of an index, as it can be kept: its words, and the documents at its places, [Gone]
// for those that were removed. Docs is the index's: it is valid until the index changes.
type Part struct {
	// Name is the SHA-256 of Words, in hexadecimal.
	Name  string
	Words string
	Docs  []uint32
}

// Gone is a document that was removed.
const Gone = gone

// PartDocs is how many documents a part with these words has, if it is one.
func PartDocs(words string) int {
	if len(words) < layoutHead {
		return 0
	}
	return min(int(numbers(words).at(0)), segmentDocs)
}

// PartName is the name of a part with these words.
func PartName(words string) string {
	sum := sha256.Sum256([]byte(words))
	return hex.EncodeToString(sum[:])
}

// Parts are the segments of the index. One in which documents were removed is made again first, unless
// kept says that it is kept as it was, by its name: its words are still in what is kept.
func (x *Index) Parts(kept func(name string) bool) (list []Part) {
	x.Settle()
	for _, s := range x.segments {
		if s.name == "" {
			s.name = PartName(s.all)
		}
		if s.live < len(s.numbers) && !kept(s.name) {
			docs := s.read()
			if len(docs) == 0 {
				continue
			}
			s = x.enter(docs)
			s.name = PartName(s.all)
		}
		list = append(list, Part{Name: s.name, Words: s.all, Docs: s.numbers})
		x.segments[len(list)-1] = s
	}
	clear(x.segments[len(list):])
	x.segments = x.segments[:len(list)]
	return list
}

// Attach adds the words of documents that [Index.Parts] returned, under the given numbers. The index
// has none of them yet.
func (x *Index) Attach(words string, docs []uint32) error {
	s, err := openSegment(words)
	if err != nil || len(s.languages) != len(docs) {
		return errLayout
	}
	s.numbers, s.live = docs, len(docs)
	for at, doc := range docs {
		if doc == gone {
			s.remove(at)
			continue
		}
		x.widen(doc)
		x.places[doc] = place{s, uint32(at), true} //nolint:gosec // at most segmentDocs
		x.lengths[doc], x.traits[doc] = s.lengths.at(at), traits(s.traits[at])
		x.spoken[s.languages[at]]++
		x.count++
		x.length += int64(x.lengths[doc])
	}
	if s.live > 0 {
		x.segments = append(x.segments, s)
	}
	return nil
}
