package fuel_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

//go:generate clang --target=wasm32 -O2 -mbulk-memory -nostdlib -Wl,--no-entry -Wl,--strip-debug -Wl,-z,stack-size=16384 -o testdata/work.wasm testdata/work.c

// work is what a guest in C is given to do: testdata/work.c.
var work = []struct {
	name string
	args []uint64 // for a test
	long []uint64 // for a figure, some 0.5 ms
}{
	{"sieve", []uint64{1000}, []uint64{65536}},
	{"sha256", []uint64{5}, []uint64{500}},
	{"fibonacci", []uint64{12}, []uint64{25}},
	{"interpret", []uint64{50}, []uint64{10_000}},
	{"matrix", []uint64{1}, []uint64{10}},
	{"copy", []uint64{20, 1000}, []uint64{20_000, 16}},
	{"words", []uint64{1000}, []uint64{100_000}},
}

// A guest in C gives the same results metered, and uses the same fuel in every
// run, whatever the engine and the slices are.
func TestFuelIsTheSameInEveryRun(t *testing.T) {
	plain := readFile(t, "testdata/work.wasm")
	metered := instrument(t, plain)
	want := map[string]string{}
	for round := range 3 {
		for _, engine := range []wazero.RuntimeConfig{wazero.NewRuntimeConfig(), wazero.NewRuntimeConfigInterpreter()} {
			for _, slice := range []int64{100, 1_000_000} {
				tk := &tank{budget: 1 << 40, slice: slice}
				r := newRuntime(t, engine, tk.refill)
				a, b := instantiate(t, r, plain, "plain"), instantiate(t, r, metered, "metered")
				for _, w := range work {
					before := tk.used(b)
					result := invoke(t, b, w.name, w.args)
					if got := invoke(t, a, w.name, w.args); got != result {
						t.Errorf("%s: %v plain, %v metered", w.name, got, result)
					}
					got := fmt.Sprintf("%d with %d units", result, tk.used(b)-before)
					if want[w.name] == "" {
						want[w.name] = got
					}
					if got != want[w.name] {
						t.Errorf("%s in round %d with slices of %d: %s, at first %s", w.name, round, slice, got, want[w.name])
					}
				}
			}
		}
	}
}

func instantiate(t testing.TB, r wazero.Runtime, module []byte, name string) api.Module {
	t.Helper()
	config := wazero.NewModuleConfig().WithName(name).WithStartFunctions("_initialize")
	guest, err := r.InstantiateWithConfig(context.Background(), module, config)
	if err != nil {
		t.Fatal(err)
	}
	return guest
}

func invoke(t testing.TB, guest api.Module, name string, args []uint64) uint64 {
	t.Helper()
	out, err := guest.ExportedFunction(name).Call(context.Background(), args...)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return out[0]
}
