package fuel_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/reflectory/reflectory/core/coretest"
)

// Extism's plug-ins, from C, Rust, Go, Haskell and others, are all rewritten, and
// the small ones that need nothing but the kernel give the same output.
func TestExtismPluginsRunMetered(t *testing.T) {
	coretest.Long(t)
	if coretest.Plain(t) {
		return
	}
	folder, err := coretest.SuiteModule(filepath.Join("..", "..", "..", ".."), "github.com/extism/go-sdk")
	if err != nil {
		t.Fatal(err)
	}
	kernel := readFile(t, filepath.Join(folder, "extism-runtime.wasm"))
	files, err := filepath.Glob(filepath.Join(folder, "wasm", "*.wasm"))
	if err != nil || len(files) < 20 {
		t.Fatalf("found %d plug-ins: %v", len(files), err)
	}
	ran := 0
	for _, file := range files {
		plain := readFile(t, file)
		metered := instrument(t, plain)
		if len(plain) > 300_000 {
			continue // large ones take long, and do the same
		}
		want, ok := runPlugin(t, kernel, plain)
		got, _ := runPlugin(t, instrument(t, kernel), metered)
		if !slices.Equal(want, got) {
			t.Errorf("%s: plain %q, metered %q", filepath.Base(file), want, got)
		}
		if ok {
			ran++
		}
	}
	fmt.Printf("Extism plug-ins: %d metered, %d of them run with equal output\n", len(files), ran)
	if ran < 8 {
		t.Errorf("only %d plug-ins were run", ran)
	}
}

// runPlugin calls each function that a plug-in exports for Extism, and returns
// their result, and whether there was one.
func runPlugin(t *testing.T, kernel, module []byte) (results []string, ok bool) {
	t.Helper()
	ctx := context.Background()
	r := newRuntime(t, everything(), endless)
	defer r.Close(ctx)
	wasi_snapshot_preview1.MustInstantiate(ctx, r)
	compiled, err := r.CompileModule(ctx, module)
	if err != nil {
		t.Fatal(err)
	}
	k := instantiate(t, r, kernel, "kernel")
	if !linkKernel(t, r, k, compiled) {
		return nil, false
	}
	for _, name := range sortedNames(compiled.ExportedFunctions()) {
		if d := compiled.ExportedFunctions()[name]; len(d.ParamTypes()) > 0 || strings.HasPrefix(name, "_") || name == "hs_init" {
			continue
		}
		results = append(results, name+": "+callPlugin(t, r, k, compiled, name))
	}
	return results, len(results) > 0
}

func callPlugin(t *testing.T, r wazero.Runtime, k api.Module, compiled wazero.CompiledModule, name string) string {
	t.Helper()
	ctx := context.Background()
	input := []byte("A text of several words, with vowels.")
	kernel := func(name string, args ...uint64) uint64 {
		out, err := k.ExportedFunction(name).Call(ctx, args...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return append(out, 0)[0]
	}
	kernel("reset")
	at := kernel("alloc", uint64(len(input)))
	k.Memory().Write(uint32(at), input)
	kernel("input_set", at, uint64(len(input)))
	var stdout bytes.Buffer
	guest, err := r.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithName("").WithStdout(&stdout).WithStartFunctions("_initialize"))
	if err != nil {
		return failure(err)
	}
	defer guest.Close(ctx)
	out, err := guest.ExportedFunction(name).Call(ctx)
	output, _ := k.Memory().Read(uint32(kernel("output_offset")), uint32(kernel("output_length")))
	return fmt.Sprintf("%v %q %q %q", out, failure(err), output, stdout.String())
}

// linkKernel gives a plug-in the kernel's functions, and ones that answer 0 for
// the rest of Extism's. It reports false for a plug-in that needs other modules.
func linkKernel(t *testing.T, r wazero.Runtime, kernel api.Module, compiled wazero.CompiledModule) bool {
	t.Helper()
	env := r.NewHostModuleBuilder("extism:host/env")
	for _, f := range compiled.ImportedFunctions() {
		module, name, _ := f.Import()
		if strings.HasPrefix(module, "wasi_") || strings.HasPrefix(module, "reflectory:") {
			continue
		}
		if module != "extism:host/env" {
			return false
		}
		target := kernel.ExportedFunction(name)
		env.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(ctx context.Context, _ api.Module, stack []uint64) {
			if target == nil {
				clear(stack)
			} else if err := target.CallWithStack(ctx, stack); err != nil {
				panic(err)
			}
		}), f.ParamTypes(), f.ResultTypes()).Export(name)
	}
	if _, err := env.Instantiate(context.Background()); err != nil {
		t.Fatal(err)
	}
	return true
}

func sortedNames(functions map[string]api.FunctionDefinition) []string {
	var names []string
	for name := range functions {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
