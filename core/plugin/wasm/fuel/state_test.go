package fuel_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/reflectory/reflectory/core/plugin/wasm/fuel"
	"github.com/reflectory/reflectory/sdk"
)

// wasm makes a module of its sections, each as an id and a body.
func wasm(sections ...string) []byte {
	out := "\x00asm\x01\x00\x00\x00"
	for _, s := range sections {
		out += s[:1] + string(rune(len(s)-1)) + s[1:]
	}
	return []byte(out)
}

// Sections of a module with one function () → ().
const (
	oneType     = "\x01\x01\x60\x00\x00"
	oneFunction = "\x03\x01\x00"
	oneTable    = "\x04\x01\x70\x00\x05"
)

func code(body string) string {
	return "\x0a\x01" + string(rune(len(body)+2)) + "\x00" + body + "\x0b"
}

func TestMutableGlobalsAreExported(t *testing.T) {
	// (global i32 1) (global (mut i32) 2) (global (mut i64) 3) (export "own" (global 1))
	module := wasm("\x06\x03\x7f\x00\x41\x01\x0b\x7f\x01\x41\x02\x0b\x7e\x01\x42\x03\x0b", "\x07\x01\x03own\x03\x01")
	exposed, state, err := fuel.Expose(module)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"reflectory:global:1", "reflectory:global:2"}; !slices.Equal(state.Globals, want) || state.Hidden != "" {
		t.Fatalf("%+v", state)
	}
	if exposed, err = fuel.Instrument(exposed); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer r.Close(ctx)
	if _, err := r.NewHostModuleBuilder(fuel.ImportModule).NewFunctionBuilder().WithFunc(func() {}).Export(fuel.ImportRefill).Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	mod, err := r.Instantiate(ctx, exposed)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []uint64{2, 3} {
		g, ok := mod.ExportedGlobal(state.Globals[i]).(api.MutableGlobal)
		if !ok || g.Get() != want {
			t.Errorf("%s: %v", state.Globals[i], g)
		}
	}
}

func TestHiddenStateIsNamed(t *testing.T) {
	for body, want := range map[string]string{
		"":                                 "",
		"\x41\x00\xd0\x70\x26\x00":         "a change of a table",
		"\xd0\x70\x41\x01\xfc\x0f\x00\x1a": "a change of a table",
		"\xfc\x0d\x00":                     "a dropped segment",
	} {
		_, state, err := fuel.Expose(wasm(oneType, oneFunction, oneTable, code(body)))
		if err != nil || !strings.HasPrefix(state.Hidden, want) || (want == "") != (state.Hidden == "") {
			t.Errorf("%x: %+v %v", body, state, err)
		}
	}
	// (global (mut funcref) (ref.null func))
	_, state, err := fuel.Expose(wasm("\x06\x01\x70\x01\xd0\x70\x0b"))
	if err != nil || !strings.HasPrefix(state.Hidden, "a global that holds") || len(state.Globals) > 0 {
		t.Errorf("%+v %v", state, err)
	}
}

func TestAHugeTableIsRefused(t *testing.T) {
	_, _, err := fuel.Expose(wasm("\x04\x01\x70\x00\x80\x80\x80\x08"))
	if sdk.ReasonOf(err) != "table_unbounded" || sdk.AsError(err).Hint == "" {
		t.Error(err)
	}
}
