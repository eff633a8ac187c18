package coretest

import (
	"iter"
	"maps"
	"slices"
	"testing"
)

// Long skips the calling test in go test -short, which is for the inner loop while code is
// written. Call it first. It is for tests that take seconds: kills, hostile plugins, several
// hosts, suites of specifications, builds of programs, all surfaces. make test runs all of them.
func Long(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long: make test runs it")
	}
}

// Cases is how many of something a test tries: few of them in go test -short, else all. As the
// step of a loop (few > all) it thins what a test goes through one by one. It is for tests that
// show the same behaviour with fewer; see [Heavy] for what make stress tries.
func Cases[T ~int | ~int32 | ~int64 | ~uint64](few, all T) T {
	if testing.Short() {
		return few
	}
	return all
}

// Some yields the cases of a table by name: in go test -short the first of every nth, else all.
func Some[C any](nth int, table map[string]C) iter.Seq2[string, C] {
	return func(yield func(string, C) bool) {
		for i, name := range slices.Sorted(maps.Keys(table)) {
			if i%Cases(nth, 1) == 0 && !yield(name, table[name]) {
				return
			}
		}
	}
}
