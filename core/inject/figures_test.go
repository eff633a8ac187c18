//go:build bench

package inject_test

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/inject"
)

// TestFigures measures the assembly of 200 blocks on one core, with the snapshot and its
// digest. The process holds as much memory as a server at rest: with an empty heap the
// collector would run every 50 calls.
func TestFigures(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	held := make([]byte, 32<<20)
	defer runtime.KeepAlive(held)
	in := twoHundred(t)
	const calls = 100
	var used coretest.Samples
	s := coretest.Interleave(31, 1, func() {
		before := coretest.ProcessorTime()
		for range calls {
			if _, err := inject.Assemble(in); err != nil {
				t.Error(err)
			}
		}
		used = append(used, coretest.ProcessorTime()-before)
	})
	coretest.Figure{
		Name: "injection of 200 blocks, one core", Value: s[0].Micros(0.5) / calls, Unit: "µs", Target: 200,
		Note: fmt.Sprintf("p10 %.0f µs, %.0f µs of processor time", s[0].Micros(0.1)/calls, used.Micros(0.5)/calls),
	}.Print(os.Stdout)
}
