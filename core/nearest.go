package core

import "fmt"

// maxNearestWord bounds the words that are compared: names are short.
const maxNearestWord = 64

// Nearest returns the candidate that is a likely misspelling away from a word,
// the first of the nearest ones, or "". Up to a third of the word's letters may
// differ, and at least one.
func Nearest(word string, candidates []string) string {
	best, distance := "", 1+max(1, len(word)/3)
	for _, candidate := range candidates {
		if d := editDistance(word, candidate); d < distance {
			best, distance = candidate, d
		}
	}
	return best
}

// DidYouMean is a hint that names the [Nearest] candidate to a word, or what
// the caller has to say where none is near.
func DidYouMean(word string, candidates []string, otherwise string) string {
	if near := Nearest(word, candidates); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return otherwise
}

// editDistance counts the bytes to insert, delete, replace or swap with their
// neighbour to turn one word into another (optimal string alignment).
func editDistance(a, b string) int {
	if len(a) > maxNearestWord || len(b) > maxNearestWord {
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
