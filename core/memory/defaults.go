package memory

import "slices"

// The defaults of a new memory.
const (
	defaultPriority   = 5
	defaultImportance = 0.5
	defaultConfidence = 1.0
)

// distinct returns the tags without repetitions, in the same order.
func distinct(tags []string) []string {
	var list []string
	for _, tag := range tags {
		if !slices.Contains(list, tag) {
			list = append(list, tag)
		}
	}
	return list
}

// orDefault returns the value that a pointer points to, or a default for nil.
func orDefault[T int | float64](p *T, value T) T {
	if p == nil {
		return value
	}
	return *p
}
