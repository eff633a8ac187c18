package fuel_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/reflectory/reflectory/core/coretest"
)

func buildGoGuest(t testing.TB, dir string, flags ...string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "guest.wasm")
	cmd := exec.Command("go", append(append([]string{"build", "-trimpath", "-o", out}, flags...), ".")...)
	cmd.Dir = filepath.Join("testdata", dir)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, text)
	}
	return readFile(t, out)
}

func TestAdhocGo(t *testing.T) {
	plain := buildGoGuest(t, "goguest", "-buildmode=c-shared")
	start := time.Now()
	metered := instrument(t, plain)
	fmt.Println("size", len(plain), len(metered), time.Since(start))
	ctx := context.Background()
	tk := &tank{budget: 1 << 60, slice: 1_000_000}
	var fns []func()
	for i, mod := range [][]byte{plain, metered} {
		r := newRuntime(t, everything(), tk.refill)
		wasi_snapshot_preview1.MustInstantiate(ctx, r)
		start := time.Now()
		c, err := r.CompileModule(ctx, mod)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("compile", time.Since(start))
		m, err := r.InstantiateModule(ctx, c, wazero.NewModuleConfig().WithStartFunctions("_initialize"))
		if err != nil {
			t.Fatal(err)
		}
		f := m.ExportedFunction("work")
		res, err := f.Call(ctx, 3)
		fmt.Println(res, err)
		fns = append(fns, func() { f.Call(ctx, 20) })
		if i == 1 {
			before := tk.used(m)
			f.Call(ctx, 20)
			fmt.Println("fuel per 20", tk.used(m)-before)
		}
	}
	s := coretest.Interleave(21, 1, fns...)
	f := coretest.Ratio("go", s[1], s[0], 1.7)
	fmt.Printf("go %.2f min %.2f %s\n", f.Value, s[1].Micros(0)/s[0].Micros(0), f.Note)
}
