package fuel_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/reflectory/reflectory/core/plugin/wasm/fuel"
	"github.com/reflectory/reflectory/sdk"
)

// A module that wazero accepts is one that it accepts metered, or is refused.
// Nothing makes Instrument panic.
func FuzzInstrument(f *testing.F) {
	f.Add(readFile(f, "testdata/work.wasm"))
	for _, module := range smallModules(f) {
		f.Add(module)
	}
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(features))
	f.Cleanup(func() { r.Close(ctx) })
	f.Fuzz(func(t *testing.T, module []byte) {
		if len(module) > 1<<16 {
			return
		}
		before := string(module)
		metered, err := fuel.Instrument(module)
		if string(module) != before {
			t.Fatal("the input was changed")
		}
		if err != nil {
			if sdk.ReasonOf(err) != "fuel_unsupported" || sdk.AsError(err).Hint == "" {
				t.Fatalf("refused with %v", err)
			}
			return
		}
		// Only what was accepted is given to wazero, which makes room for as many
		// things as a module announces.
		plain, err := r.CompileModule(ctx, module)
		if err != nil {
			return
		}
		plain.Close(ctx)
		out, err := r.CompileModule(ctx, metered)
		if err != nil {
			t.Fatalf("wazero accepts the module but not the metered one: %v", err)
		}
		out.Close(ctx)
	})
}

// smallModules are the modules of the tests on charges.
func smallModules(t testing.TB) [][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/charge/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	var modules [][]byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for c := range strings.SplitSeq(string(text), "\nrun") {
			_, body, _ := strings.Cut(c, "\n")
			body, _, ok := strings.Cut(body, "----")
			if ok && !strings.Contains(body, "#") && !strings.Contains(body, "run") {
				modules = append(modules, assemble(body))
			}
		}
	}
	return modules
}

// Cut off anywhere, or with a byte changed anywhere, a module gives an error or
// another module, never a panic.
func TestDamagedModulesAreRefusedOrRewritten(t *testing.T) {
	for _, module := range smallModules(t) {
		for at := range module {
			if _, err := fuel.Instrument(module[:at]); err != nil && sdk.ReasonOf(err) != "fuel_unsupported" {
				t.Fatalf("refused with %v", err)
			}
			damaged := append([]byte(nil), module...)
			for _, b := range []byte{0, 1, 0x7f, 0x80, 0xff, module[at] + 1} {
				damaged[at] = b
				if _, err := fuel.Instrument(damaged); err != nil && sdk.ReasonOf(err) != "fuel_unsupported" {
					t.Fatalf("refused with %v", err)
				}
			}
		}
	}
}
