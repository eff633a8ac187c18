package text

import (
	"math"
	"slices"

	"github.com/reflectory/reflectory/core/memory/top"
)

const (
	// alikeShare is the share of their pieces that two words have in common at least to be alike: half
	// of them where one letter in seven differs.
	alikeShare = 0.3
	// alikeWords is how many words of a text are looked up.
	alikeWords = 64
)

// alike are the words of a text by their pieces: three letters, with the ends of the word as letters.
type alike struct {
	// sizes are how many pieces each word has, and words the words that have a piece, as bits.
	sizes []int
	words map[uint64]uint64
	// may says of the last bits of a piece whether any word might have it.
	may    [1 << 12]bool
	common []int
}

// pieces calls fn with the pieces of a word.
func pieces(word string, fn func(piece uint64)) {
	const bits, mask = 21, 1<<63 - 1 // a letter has 21 bits
	last, seen := uint64(1), 1
	add := func(letter uint64) {
		last = (last<<bits | letter) & mask
		if seen++; seen >= 3 {
			fn(last)
		}
	}
	for _, r := range word {
		add(uint64(r)) //nolint:gosec // not below 0
	}
	add(2)
}

func newAlike(text string) *alike {
	a := &alike{words: map[uint64]uint64{}}
	known := map[string]bool{}
	for word := range Words(text) {
		if known[word] || len(a.sizes) == alikeWords {
			continue
		}
		known[word] = true
		own := uint64(1) << len(a.sizes)
		size := 0
		pieces(word, func(piece uint64) {
			size++
			a.words[piece] |= own
			a.may[piece%uint64(len(a.may))] = true
		})
		a.sizes = append(a.sizes, size)
	}
	a.common = make([]int, len(a.sizes))
	return a
}

// share is how much the word that is most alike has in common with a word: twice the common pieces
// over all pieces of both; 0 if that is too little.
func (a *alike) share(word string) (most float64) {
	size, met := 0, false
	pieces(word, func(piece uint64) {
		size++
		if !a.may[piece%uint64(len(a.may))] {
			return
		}
		for i, have := 0, a.words[piece]; have != 0; i, have = i+1, have>>1 {
			if have&1 != 0 {
				a.common[i]++
				met = true
			}
		}
	})
	if !met {
		return 0
	}
	for i, n := range a.common {
		most = max(most, 2*float64(n)/float64(size+a.sizes[i]))
	}
	clear(a.common)
	if most < alikeShare {
		return 0
	}
	return most
}

// Alike returns the k documents whose words look most like a text's: for a text that has no word of
// theirs, such as one with a mistake in every word. It reads the words of all documents.
func (x *Index) Alike(text string, k int, keep func(doc uint32) bool) []top.Hit {
	a := newAlike(text)
	scores := x.noScores()
	defer scores.Free()
	for _, s := range x.segments {
		for i := range s.words.len() {
			share := a.share(s.words.at(i))
			if share == 0 {
				continue
			}
			rarity := math.Log(1 + float64(s.live)/float64(1+s.having(i)))
			each(s.postings.at(i), func(place, _ uint32) {
				if number := s.numbers[place]; number != gone {
					scores.Add(number, share*share*rarity)
				}
			})
		}
	}
	slices.Sort(scores.Docs) // so that the order of the segments leaves no trace
	return x.Best(scores, k, keep)
}
