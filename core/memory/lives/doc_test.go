// Package lives_test lets agents live with the product's memory: hundreds of turns in which they meet
// questions as people word them, act on what is recalled, and report how it went. Beside each stand
// agents with the same questions and luck that remember in simpler ways. make lives prints the table.
package lives_test

import (
	"os"
	"strconv"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
)

func TestMain(m *testing.M) { os.Exit(coretest.WithPlain(m).Run()) }

// seedsEnv is how many lives of each kind are lived; without it as many as show that it works.
const seedsEnv = "REFLECTORY_LIVES_SEEDS"

// seeds is how many lives of each kind are lived.
func seeds(t *testing.T, few int) int {
	t.Helper()
	value := os.Getenv(seedsEnv)
	if value == "" {
		return few
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 2 {
		t.Fatalf("%s is %q, want a number from 2", seedsEnv, value)
	}
	return n
}
