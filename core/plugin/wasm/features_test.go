package wasm_test

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/wasm"
	"github.com/reflectory/reflectory/sdk"
)

// answer is all that the commands below ever say. The dots become argv[0].
const answer = `{"manifest":{"name":"test","version":"1.0.0","contract":1,"kinds":["evaluator"]},` +
	`"results":[{"response":{"verdict":{"valid":true,"score":1,"feedback":"........"}}}]}`

// command is a module whose _start is made of these instructions. They may call
// function 3, which copies argv[0] into the answer and prints it. The rest is one
// section each, or none.
func command(memory, tags, globals string, start ...byte) []byte {
	const buffer, text = 64, 256 // where argv goes, and where the answer is
	dots := text + strings.Index(answer, ".....")
	konst := func(n int) []byte { return append([]byte{0x41}, sleb(n)...) }
	print := slices.Concat(
		konst(8), konst(buffer), []byte{0x10, 1, 0x1a}, // args_get
		konst(dots), konst(buffer), konst(8), []byte{0xfc, 0x0a, 0, 0}, // memory.copy
		konst(1), konst(0), konst(1), konst(16), []byte{0x10, 0, 0x1a}, // fd_write
	)
	vector := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, text), uint32(len(answer)))
	body := func(code []byte) []byte { return sized(slices.Concat([]byte{0}, code, []byte{0x0b})) }
	data := func(at int, b []byte) []byte { return slices.Concat([]byte{0}, konst(at), []byte{0x0b}, sized(b)) }
	wasi := sized([]byte("wasi_snapshot_preview1"))
	out := []byte("\x00asm\x01\x00\x00\x00")
	for _, s := range []struct {
		id   byte
		body []byte
	}{
		{1, []byte("\x03\x60\x00\x00\x60\x04\x7f\x7f\x7f\x7f\x01\x7f\x60\x02\x7f\x7f\x01\x7f")},
		{2, slices.Concat([]byte{2}, wasi, sized([]byte("fd_write")), []byte{0, 1}, wasi, sized([]byte("args_get")), []byte{0, 2})},
		{3, []byte{2, 0, 0}},
		{5, []byte(memory)}, {13, []byte(tags)}, {6, []byte(globals)},
		{7, slices.Concat([]byte{2}, sized([]byte("memory")), []byte{2, 0}, sized([]byte("_start")), []byte{0, 2})},
		{10, slices.Concat([]byte{2}, body(start), body(print))},
		{11, slices.Concat([]byte{2}, data(0, vector), data(text, []byte(answer)))},
	} {
		if len(s.body) > 0 {
			out = append(append(out, s.id), sized(s.body)...)
		}
	}
	return out
}

func sized(b []byte) []byte { return append(binary.AppendUvarint(nil, uint64(len(b))), b...) }

// sleb is a number up to 8191 as signed LEB128.
func sleb(n int) []byte { return []byte{byte(n&0x7f | 0x80), byte(n >> 7)} }

// A plugin may use what wazero runs beyond WebAssembly 2.0. A command is given its name.
func TestModulesMayUseWhatTheEngineHas(t *testing.T) {
	const plain, shared = "\x01\x00\x01", "\x01\x03\x01\x04"
	d := newDriver(t, wasm.Options{})
	for name, module := range map[string][]byte{
		"nothing new":       command(plain, "", "", 0x10, 3),
		"tail calls":        command(plain, "", "", 0x12, 3),
		"extended constant": command(plain, "", "\x01\x7f\x00\x41\x08\x41\x08\x6a\x0b", 0x10, 3),
		"an exception":      command(plain, "\x01\x00\x00", "", 0x10, 3, 0x41, 0, 0x04, 0x40, 0x08, 0, 0x0b),
		// The memory that is shared grows, and is added to.
		"threads":              command(shared, "", "", 0x41, 1, 0x40, 0, 0x1a, 0x41, 32, 0x41, 1, 0xfe, 0x1e, 2, 0, 0x1a, 0x10, 3),
		"a function reference": command(plain, "", "\x01\x64\x00\x00\xd2\x03\x0b", 0x23, 0, 0x14, 0),
	} {
		t.Run(name, func(t *testing.T) {
			p := plugin.Installed{Name: "cmd/test", Path: moduleFile(t, module)}
			info, err := wasm.Inspect(t.Context(), p)
			if err != nil || !info.Metered {
				t.Fatalf("%+v %v", info, err)
			}
			i := start(t, d, p)
			for range 2 {
				if got := feedback(t, i, do("anything")); got != "cmd/test" {
					t.Errorf("argv[0] is %q", got)
				}
			}
		})
	}
}

// The engine would copy the whole stack at each try_table.
func TestAModuleThatCatchesExceptionsIsRefused(t *testing.T) {
	module := command("\x01\x00\x01", "\x01\x00\x00", "", 0x02, 0x40, 0x1f, 0x40, 1, 2, 0, 0x08, 0, 0x0b, 0x0b, 0x10, 3)
	_, err := newDriver(t, wasm.Options{}).Compile(t.Context(), plugin.Installed{Name: "cmd/test", Path: moduleFile(t, module)})
	if sdk.ReasonOf(err) != "instruction_unsupported" || !strings.Contains(err.Error(), "cmd/test") || sdk.AsError(err).Hint == "" {
		t.Error(err)
	}
}

// No fuel buys a table that the host can't spare. The module needs its table not to grow
// by 16 MiB.
func TestATableDoesNotGrowWithFuel(t *testing.T) {
	module := command("\x01\x00\x01", "", "",
		0xd0, 0x70, 0x41, 0x80, 0x80, 0x80, 0x01, 0xfc, 0x0f, 0, 0x41, 0x7f, 0x47, 0x04, 0x40, 0x00, 0x0b, 0x10, 3)
	functions := []byte{3, 3, 2, 0, 0}
	module = bytes.Replace(module, functions, append(functions, 4, 4, 1, 0x70, 0, 0), 1)
	i := start(t, newDriver(t, wasm.Options{}), plugin.Installed{Name: "cmd/test", Path: moduleFile(t, module), Limits: plugin.Limits{Fuel: 1 << 60}})
	if got := feedback(t, i, do("anything")); got != "cmd/test" {
		t.Error(got)
	}
}
