package fuel_test

import (
	"context"
	"slices"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/reflectory/reflectory/core/plugin/wasm/fuel"
)

// growing is a module with two functions that grow a table each: a begins with 5 entries
// and has no maximum, b begins with none and has one of 10.
func growing() []byte {
	return raw(
		sectionBytes(1, []byte("\x01\x60\x01\x7f\x01\x7f")),
		sectionBytes(3, []byte("\x02\x00\x00")),
		sectionBytes(4, []byte("\x02\x70\x00\x05\x6f\x01\x00\x0a")),
		sectionBytes(7, []byte("\x02\x01a\x00\x00\x01b\x00\x01")),
		sectionBytes(10, slices.Concat([]byte{2},
			vector([]byte("\x00\xd0\x70\x20\x00\xfc\x0f\x00\x0b")), vector([]byte("\x00\xd0\x6f\x20\x00\xfc\x0f\x01\x0b")))),
	)
}

// However much a module asks for, its tables don't grow beyond what the host can spare.
func TestBoundTables_LimitsGrowth(t *testing.T) {
	bounded, err := fuel.BoundTables(growing())
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer r.Close(ctx)
	mod, err := r.Instantiate(ctx, bounded)
	if err != nil {
		t.Fatal(err)
	}
	const full = 1<<32 - 1
	for _, tt := range []struct {
		table    string
		by, want uint64
	}{{"a", 1 << 19, full}, {"a", 1 << 18, 5}, {"a", 1 << 18, full}, {"a", 1, 5 + 1<<18}, {"b", 11, full}, {"b", 10, 0}, {"b", 1, full}} {
		if got, err := mod.ExportedFunction(tt.table).Call(ctx, tt.by); err != nil || got[0] != tt.want {
			t.Errorf("%s grows by %d: %d %v, want %d", tt.table, tt.by, got, err, tt.want)
		}
	}
}

func TestBoundTables_LeavesAModuleWithoutTablesAsItIs(t *testing.T) {
	module := withCode("")
	if bounded, err := fuel.BoundTables(module); err != nil || !slices.Equal(bounded, module) {
		t.Errorf("%x %v", bounded, err)
	}
}

// A table whose entries begin as an expression's value is bounded too.
func TestBoundTables_ReadsInitialValues(t *testing.T) {
	// (table 1 funcref (ref.null func)) (table 2 funcref)
	bounded, err := fuel.BoundTables(raw(sectionBytes(4, []byte("\x02\x40\x00\x70\x00\x01\xd0\x70\x0b\x70\x00\x02"))))
	want := raw(sectionBytes(4, []byte("\x02\x40\x00\x70\x01\x01\xff\xff\x1f\xd0\x70\x0b\x70\x01\x02\x80\x80\x20")))
	if err != nil || !slices.Equal(bounded, want) {
		t.Errorf("%x %v\nwant %x", bounded, err, want)
	}
}
