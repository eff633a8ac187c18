package fuel_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/plugin/wasm/fuel"
	"github.com/reflectory/reflectory/sdk"
)

// raw is a module of sections as they stand.
func raw(sections ...[]byte) []byte {
	return append([]byte("\x00asm\x01\x00\x00\x00"), slices.Concat(sections...)...)
}

// withCode is a module of one function () → () with that body, behind no locals.
func withCode(code string) []byte {
	return raw(
		sectionBytes(1, []byte("\x01\x60\x00\x00")),
		sectionBytes(3, []byte("\x01\x00")),
		sectionBytes(10, append([]byte{1}, vector([]byte("\x00"+code+"\x0b"))...)),
	)
}

func TestWhatCantBeMeteredIsRefusedByName(t *testing.T) {
	for _, c := range []struct {
		name   string
		module []byte
		names  string // what the message has to say
	}{
		{"no module", []byte("hello, world"), "core module"},
		{"a component", []byte("\x00asm\x0d\x00\x01\x00"), "core module"},
		{"a struct type", raw(sectionBytes(1, []byte("\x01\x5f\x00"))), "garbage collection"},
		{"a type in a group that isn't a function", raw(sectionBytes(1, []byte("\x01\x4e\x01\x50\x00"))), "garbage collection"},
		{"anyref", raw(sectionBytes(1, []byte("\x01\x60\x01\x6e\x00"))), "garbage collection"},
		{"an instruction of garbage collection", withCode("\xfb\x00\x00"), "garbage collection"},
		{"legacy exceptions", withCode("\x06\x40\x0b"), "legacy exception"},
		{"try_table", withCode("\x1f\x40\x00\x0b"), "try_table"},
		{"memory of 64 bits", raw(sectionBytes(5, []byte("\x01\x04\x01"))), "64-bit"},
		{"several memories", withCode("\x41\x00\x28\x42\x00\x00\x1a"), "several memories"},
		{"waiting", assemble("memory 1\nfunc f\ni32.const 0\ni32.const 0\ni64.const 0\nmemory.atomic.wait32\ndrop"), "0xfe01"},
		{"relaxed SIMD", withCode("\xfd\x80\x02"), "relaxed SIMD"},
		{"a vector instruction in a longer form", withCode("\xfd\x80\x00"), "relaxed SIMD"},
		{"an unknown instruction", withCode("\x27"), "0x27"},
		{"an unknown numbered instruction", withCode("\xfc\x12\x00"), "0xfc12"},
		{"an import of ours", raw(sectionBytes(1, []byte("\x01\x60\x00\x00")),
			sectionBytes(2, slices.Concat([]byte{1}, vector([]byte(fuel.ImportModule)), vector([]byte("x")), []byte{0, 0}))), "reserved"},
		{"an export of ours", raw(sectionBytes(5, []byte("\x01\x00\x01")),
			sectionBytes(7, slices.Concat([]byte{1}, vector([]byte(fuel.Global)), []byte{2, 0}))), "reserved"},
		{"sections out of order", raw(sectionBytes(3, []byte{0}), sectionBytes(1, []byte{0})), "out of order"},
		{"a section twice", raw(sectionBytes(1, []byte{0}), sectionBytes(1, []byte{0})), "out of order"},
		{"an unknown section", raw(sectionBytes(14, []byte{0})), "unknown kind"},
		{"too many locals", raw(
			sectionBytes(1, []byte("\x01\x60\x00\x00")), sectionBytes(3, []byte("\x01\x00")),
			sectionBytes(10, append([]byte{1}, vector([]byte("\x01\xff\xff\xff\xff\x0f\x7f\x0b"))...))), "locals"},
		{"a list longer than its section", raw(sectionBytes(1, []byte("\xff\xff\xff\xff\x0f"))), "beyond the end"},
		{"a name longer than its section", raw(sectionBytes(2, []byte("\x01\xff\xff\xff\xff\x0f"))), "beyond the end"},
		{"more bodies than functions", raw(sectionBytes(10, []byte("\x01\x02\x00\x0b"))), "1 bodies for 0 functions"},
		{"code behind a body's end", withCode("\x0b"), "after the end"},
		// An index beyond the original's would be one of ours.
		{"a call of an unknown function", withCode("\x10\x01"), "unknown function 1"},
		{"the counter by its number", withCode("\x42\x7f\x24\x00"), "unknown global 0"},
		{"a branch to an unknown label", withCode("\x0c\x01"), "unknown label 1"},
		{"an else without an if", withCode("\x02\x40\x05\x0b"), "else"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := fuel.Instrument(c.module)
			if err == nil {
				t.Fatal("was accepted")
			}
			e := sdk.AsError(err)
			if e.Code != sdk.Incompatible || e.Reason != "fuel_unsupported" || e.Hint == "" {
				t.Errorf("refused with %+v", e)
			}
			if !strings.Contains(e.Message, c.names) {
				t.Errorf("%q doesn't say %q", e.Message, c.names)
			}
		})
	}
}
