package sdk

import (
	"fmt"
	"strings"
)

const (
	// maxNearestWord limits what is compared, in bytes. Names are short, and the work
	// stays small for any input from outside.
	maxNearestWord = 64
	// minBeginning is how many bytes of a name are needed to count as its beginning.
	minBeginning = 3
)

// Nearest returns the candidate that somebody most likely meant by a word, or "". It is
// the first of the nearest misspellings, in which up to a quarter of the word's
// letters, and at least one, may differ. Otherwise it is the first candidate that
// begins with the word.
func Nearest(word string, candidates []string) string {
	if len(word) > maxNearestWord {
		return ""
	}
	best, bound, begun := "", 1+max(1, len(word)/4), ""
	for _, candidate := range candidates {
		if d := editDistance(word, candidate); d < bound {
			best, bound = candidate, d
		}
		if begun == "" && len(word) >= minBeginning && strings.HasPrefix(candidate, word) {
			begun = candidate
		}
	}
	if best == "" {
		return begun
	}
	return best
}

// DidYouMean is a hint that names the [Nearest] candidate to a word, or else the
// caller's own text.
func DidYouMean(word string, candidates []string, fallback string) string {
	if near := Nearest(word, candidates); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return fallback
}

// editDistance counts how many bytes must be inserted, deleted, replaced or swapped
// with their neighbour to turn one word into another (optimal string alignment).
func editDistance(a, b string) int {
	if len(b) > maxNearestWord {
		return maxNearestWord
	}
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			replace := last[j]
			if a[i] != b[j] {
				replace++
			}
			row[j+1] = min(replace, row[j]+1, last[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
