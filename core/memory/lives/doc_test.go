// Package lives_test lets agents live with the product's memory: hundreds of turns in which they meet
// questions as people word them, act on what is recalled, and report how it went. Next to each are
// agents with the same questions and luck that remember in simpler ways. make lives prints the table.
package lives_test

import (
	"cmp"
	"os"
	"strconv"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
)

func TestMain(m *testing.M) { os.Exit(coretest.WithPlain(m).Run()) }

// seedsEnv is how many lives of each kind make lives lives. Without it the tests live a few lives of
// some kinds, which show that this works.
const seedsEnv = "REFLECTORY_LIVES_SEEDS"

// firstEnv is the first seed of make lives, 0 unless set. What was chosen by some lives is measured by others.
const firstEnv = "REFLECTORY_LIVES_FIRST"

// few is how many lives of each kind are lived without [seedsEnv].
const few = 2

// seeds is how many lives of each kind are lived, and whether they are of all kinds and whole.
func seeds(t *testing.T) (n int, whole bool) {
	t.Helper()
	value := os.Getenv(seedsEnv)
	if value == "" {
		return few, false
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 2 {
		t.Fatalf("%s is %q, want a number from 2", seedsEnv, value)
	}
	return n, true
}

// seedOf is the seed of the life of a number, from 0.
func seedOf(t *testing.T, number int) uint64 {
	t.Helper()
	value := os.Getenv(firstEnv)
	first, err := strconv.ParseUint(cmp.Or(value, "0"), 10, 32)
	if err != nil {
		t.Fatalf("%s is %q, want a number", firstEnv, value)
	}
	return first + uint64(number)
}
