package fuel_test

import (
	"context"
	"testing"

	"fmt"
	"github.com/tetratelabs/wazero"

	"github.com/reflectory/reflectory/core/coretest"
)

func TestAdhoc(t *testing.T) {
	plain := readFile(t, "testdata/work.wasm")
	metered := instrument(t, plain)
	fmt.Println("size", len(plain), len(metered))
	for _, c := range []struct {
		name string
		args []uint64
	}{{"sieve", []uint64{65536}}, {"sha256", []uint64{1000}}, {"fibonacci", []uint64{25}}, {"interpret", []uint64{20000}}, {"matrix", []uint64{20}}, {"copy", []uint64{100000, 16}}, {"words", []uint64{100000}}} {
		tk := &tank{budget: 1 << 60, slice: 100_000}
		r := newRuntime(t, everything(), tk.refill)
		ctx := context.Background()
		a, err := r.InstantiateWithConfig(ctx, plain, wazero.NewModuleConfig().WithName("a"))
		if err != nil {
			t.Fatal(err)
		}
		b, err := r.InstantiateWithConfig(ctx, metered, wazero.NewModuleConfig().WithName("b"))
		if err != nil {
			t.Fatal(err)
		}
		fa, fb := a.ExportedFunction(c.name), b.ExportedFunction(c.name)
		before := tk.used(b)
		fb.Call(ctx, c.args...)
		used := tk.used(b) - before
		s := coretest.Interleave(41, 2, func() { fa.Call(ctx, c.args...) }, func() { fb.Call(ctx, c.args...) })
		f := coretest.Ratio(c.name, s[1], s[0], 1.7)
		fmt.Printf("%-10s %.2f min %.2f %s  fuel %d  %.2f ns/unit\n", c.name, f.Value, s[1].Micros(0)/s[0].Micros(0), f.Note, used, float64(s[0].At(0.5).Nanoseconds())/float64(used))
	}
}
