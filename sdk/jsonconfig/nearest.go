package jsonconfig

import "strings"

// maxName is the longest name that is compared, in bytes, so that the work stays
// small whatever a config holds.
const maxName = 64

// nearest returns the name that begins with the given one, or is at most a third
// of its letters away, or "".
func nearest(name string, names []string) string {
	if len(name) > maxName {
		return ""
	}
	best, bound := "", max(1, len(name)/3)+1
	for _, candidate := range names {
		if len(name) > 2 && strings.HasPrefix(candidate, name) {
			return candidate
		}
		if d := distance(name, candidate); d < bound {
			best, bound = candidate, d
		}
	}
	return best
}

// distance is the Levenshtein distance of two short names, in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
