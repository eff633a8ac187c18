package coretest

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// CompileBomb is a module that is cheap to write and dear to compile.
type CompileBomb struct {
	Name string
	// Refused means that no compiler need see it: the scan refuses it. The others are
	// compiled, as far as the limits of that go, which takes up to 30 s.
	Refused bool
	Module  func() []byte
}

// CompileBombs are modules that once stalled or killed a host, and their kin. All
// are valid WebAssembly, except modules that engines refuse for their size.
func CompileBombs() []CompileBomb {
	loop := []byte{0x03, 0x40} // loop without parameters or results
	return []CompileBomb{
		{"4e9 locals", true, func() []byte { return bombOf(1, locals(4_000_000_000)) }},
		{"1e8 locals", true, func() []byte { return bombOf(1, locals(100_000_000)) }},
		{"2,000 functions of 49,999 locals", true, func() []byte { return bombOf(2_000, locals(49_999)) }},
		{"20,000 nested loops", true, func() []byte { return bombOf(1, nested(20_000, loop)) }},
		{"50,000 nested blocks", true, func() []byte { return bombOf(1, nested(50_000, []byte{0x02, 0x40})) }},
		{"a br_table of 2,000,000", true, func() []byte { return bombOf(1, branches(2_000_000)) }},
		{"a table of 100,000,000", true, func() []byte {
			return slices.Concat([]byte("\x00asm\x01\x00\x00\x00"), section(4, []byte{1, 0x70, 0}, 100_000_000))
		}},
		{"a br_table of 999,999", false, func() []byte { return bombOf(1, branches(999_999)) }},
		{"6,000 loops over 1,000 locals", false, func() []byte { return bombOf(1, loops(6_000, 1_000)) }},
		{"500,000 functions", false, func() []byte { return bombOf(500_000, locals(0)) }},
		{"200 functions of 49,999 locals", false, func() []byte { return bombOf(200, locals(49_999)) }},
	}
}

// bombOf is a module with n functions of one body, to which end is added. It
// exports what a WASI command does, so that it could be a plugin.
func bombOf(n int, body []byte) []byte {
	count := binary.AppendUvarint(nil, uint64(n))
	code := slices.Clone(count)
	code = append(code, bytes.Repeat(sized(append(body, 0x0b)), n)...)
	return slices.Concat([]byte("\x00asm\x01\x00\x00\x00"),
		section(1, []byte{1, 0x60, 0, 0}),
		section(3, append(count, make([]byte, n)...)),
		section(5, []byte{1, 0, 1}),
		section(7, []byte("\x02\x06_start\x00\x00\x06memory\x02\x00")),
		section(10, code))
}

func sized(b []byte) []byte { return append(binary.AppendUvarint(nil, uint64(len(b))), b...) }

// section is a section of this content, with numbers at its end.
func section(id byte, content []byte, numbers ...uint64) []byte {
	for _, n := range numbers {
		content = binary.AppendUvarint(content, n)
	}
	return append([]byte{id}, sized(content)...)
}

// locals is the begin of a body with n locals of 32 bits.
func locals(n uint64) []byte {
	return append(binary.AppendUvarint([]byte{1}, n), 0x7f)
}

// nested opens a block n times and closes each.
func nested(n int, open []byte) []byte {
	return slices.Concat([]byte{0}, bytes.Repeat(open, n), bytes.Repeat([]byte{0x0b}, n))
}

// branches is a branch with n targets.
func branches(n int) []byte {
	return slices.Concat([]byte{0, 0x41, 0, 0x0e}, binary.AppendUvarint(nil, uint64(n)), make([]byte, n+1))
}

// loops counts each of the locals down in turn, in n loops, one behind the other.
func loops(n, among int) []byte {
	body := locals(uint64(among))
	for i := range n {
		local := binary.AppendUvarint(nil, uint64(i%among))
		body = slices.Concat(body, []byte{0x03, 0x40, 0x20}, local, []byte{0x41, 1, 0x6b, 0x22}, local, []byte{0x0d, 0, 0x0b})
	}
	return body
}
