package fuel_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/plugin/wasm/fuel"
)

// buildGoGuest builds testdata/goguest for WASM.
func buildGoGuest(t testing.TB, flags ...string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "guest.wasm")
	cmd := exec.Command("go", append(append([]string{"build", "-o", out}, flags...), ".")...)
	cmd.Dir = filepath.Join("testdata", "goguest")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, text)
	}
	return readFile(t, out)
}

// A reactor in Go, with its garbage collector, goroutines and large functions,
// gives the same metered, uses the same fuel each time, and can be stopped.
func TestGoReactorRunsMetered(t *testing.T) {
	coretest.Long(t)
	if coretest.Plain(t) {
		return
	}
	plain := buildGoGuest(t, "-buildmode=c-shared")
	metered := instrument(t, plain)
	cache := wazero.NewCompilationCache()
	defer cache.Close(context.Background())
	var used []int64
	for _, slice := range []int64{10_000, 1_000_000} {
		tk := &tank{budget: 1 << 40, slice: slice}
		r := newRuntime(t, everything().WithCompilationCache(cache), tk.refill)
		wasi_snapshot_preview1.MustInstantiate(context.Background(), r)
		guest := instantiate(t, r, metered, "metered")
		if got := invoke(t, guest, "work", []uint64{2}); got != 2*118 {
			t.Errorf("the result is %d", got)
		}
		used = append(used, tk.used(guest))
		tk.budget = tk.used(guest) + 10_000_000
		if _, err := guest.ExportedFunction("spin").Call(context.Background()); !errors.Is(err, errSpent) {
			t.Errorf("an endless loop ended with %v", err)
		}
	}
	if used[0] != used[1] {
		t.Errorf("the fuel used was %v", used)
	}
}

// A command in Go writes the same metered.
func TestGoCommandRunsMetered(t *testing.T) {
	coretest.Long(t)
	if coretest.Plain(t) {
		return
	}
	plain := buildGoGuest(t)
	want, _ := runCommand(t, plain)
	got, fuelUsed := runCommand(t, instrument(t, plain))
	if want != "done\n" || got != want {
		t.Errorf("plain %q, metered %q", want, got)
	}
	if fuelUsed <= 0 {
		t.Errorf("used %d units", fuelUsed)
	}
}

// runCommand returns a command's output, and the fuel that it used if metered.
func runCommand(t *testing.T, module []byte) (string, int64) {
	t.Helper()
	var stdout bytes.Buffer
	tk := &tank{budget: 1 << 40, slice: 1_000_000}
	ctx := context.Background()
	r := newRuntime(t, wazero.NewRuntimeConfigInterpreter(), tk.refill) // compiling takes longer than to run it
	wasi_snapshot_preview1.MustInstantiate(ctx, r)
	guest, err := r.InstantiateWithConfig(ctx, module, wazero.NewModuleConfig().WithStartFunctions().WithStdout(&stdout))
	if err != nil {
		t.Fatal(err)
	}
	_, err = guest.ExportedFunction("_start").Call(ctx)
	if exit := (*sys.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 0) {
		t.Fatal(err)
	}
	if guest.ExportedGlobal(fuel.Global) == nil {
		return stdout.String(), 0
	}
	return stdout.String(), tk.used(guest)
}
