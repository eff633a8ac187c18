//go:build bench

package fuel_test

import (
	"context"
	"os"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/reflectory/reflectory/core/coretest"
)

const (
	rounds = 41        // turns of each, interleaved
	calls  = 2         // calls a turn
	target = 1.7       // of no limit at all, for an enforced deadline
	slice  = 1_000_000 // the largest that a host gives
)

// TestFigures measures guests with metering, and with the check of the context on
// every loop turn that it spares, against guests without any limit.
func TestFigures(t *testing.T) {
	module := readFile(t, "testdata/work.wasm")
	for _, w := range work {
		figures(t, "C "+w.name, module, w.name, w.long)
	}
	figures(t, "Go", buildGoGuest(t, "-buildmode=c-shared"), "work", []uint64{5})
}

func figures(t *testing.T, title string, module []byte, name string, args []uint64) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	call := func(config wazero.RuntimeConfig, module []byte) func() {
		tk := &tank{budget: 1 << 60, slice: slice}
		r := newRuntime(t, config, tk.refill)
		wasi_snapshot_preview1.MustInstantiate(ctx, r)
		f := instantiate(t, r, module, "guest").ExportedFunction(name)
		return func() {
			if _, err := f.Call(ctx, args...); err != nil {
				t.Error(err)
			}
		}
	}
	s := coretest.Interleave(rounds, calls,
		call(everything(), module),
		call(everything(), instrument(t, module)),
		call(everything().WithCloseOnContextDone(true), module))
	coretest.Ratio("enforced deadline (fuel), "+title, s[1], s[0], target).Print(os.Stdout)
	coretest.Ratio("close on context done, "+title, s[2], s[0], 0).Print(os.Stdout)
}
