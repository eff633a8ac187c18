package fuel_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// assemble makes a module of a text of a few lines, much like the text format:
//
//	memory 1                          pages, and the most
//	table 10                          entries
//	elem f g                          what the table begins with
//	tag                               without parameters; the last line
//	start f
//	func f i32 i32 -> i32 / i64 i64   parameters, results, locals; exported
//	local.get 0                       an instruction a line, up to the next func
//
// Functions have types of their own, in their order.
func assemble(text string) []byte {
	a := &assembler{sections: map[byte][][]byte{}}
	var lines [][]string
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) > 0 {
			lines = append(lines, words)
			if words[0] == "func" {
				a.names = append(a.names, words[1])
			}
		}
	}
	for _, words := range lines {
		a.line(words)
	}
	a.finishBody()
	out := []byte("\x00asm\x01\x00\x00\x00")
	for _, id := range []byte{1, 3, 4, 5, 13, 7, 8, 9, 10} {
		entries := a.sections[id]
		if len(entries) == 0 {
			continue
		}
		body := uleb(uint64(len(entries)))
		if id == 8 {
			body = nil
		}
		out = append(out, sectionBytes(id, append(body, slices.Concat(entries...)...))...)
	}
	return out
}

type assembler struct {
	names    []string
	sections map[byte][][]byte
	body     []byte
}

func (a *assembler) add(id byte, entry ...byte) { a.sections[id] = append(a.sections[id], entry) }

func (a *assembler) line(words []string) {
	switch words[0] {
	case "memory":
		a.add(5, append([]byte{byte(len(words) - 2)}, ulebs(words[1:])...)...)
	case "table":
		a.add(4, append([]byte{0x70, byte(len(words) - 2)}, ulebs(words[1:])...)...)
	case "tag":
		a.add(1, 0x60, 0, 0) // after the functions' types
		a.add(13, 0, byte(len(a.names)))
	case "start":
		a.add(8, a.function(words[1])...)
	case "elem":
		entry := append([]byte{0, 0x41, 0, 0x0b}, uleb(uint64(len(words)-1))...)
		for _, name := range words[1:] {
			entry = append(entry, a.function(name)...)
		}
		a.add(9, entry...)
	case "func":
		a.finishBody()
		a.head(words[2:])
	default:
		a.body = append(a.body, a.instruction(words)...)
	}
}

// head adds a function's type and export, and begins its body.
func (a *assembler) head(words []string) {
	index := uleb(uint64(len(a.sections[3])))
	var lists [3][]byte // parameters, results, locals
	at := 0
	for _, word := range words {
		switch word {
		case "->":
			at = 1
		case "/":
			at = 2
		default:
			lists[at] = append(lists[at], valueTypes[word])
		}
	}
	a.add(1, slices.Concat([]byte{0x60}, vector(lists[0]), vector(lists[1]))...)
	a.add(3, index...)
	a.add(7, slices.Concat(vector([]byte(a.names[len(a.sections[7])])), []byte{0}, index)...)
	a.body = uleb(uint64(len(lists[2])))
	for _, t := range lists[2] {
		a.body = append(a.body, 1, t)
	}
}

func (a *assembler) finishBody() {
	if a.body != nil {
		a.add(10, vector(append(a.body, 0x0b))...)
	}
}

func (a *assembler) function(name string) []byte {
	return uleb(uint64(slices.Index(a.names, name)))
}

func (a *assembler) instruction(words []string) []byte {
	m, ok := mnemonics[words[0]]
	if !ok {
		panic("no such instruction: " + words[0])
	}
	out, args := []byte(m.code), words[1:]
	for i, kind := range m.args {
		switch kind {
		case 'f':
			out = append(out, a.function(args[i])...)
		case 'u':
			out = append(out, ulebs(args[i:i+1])...)
		case 's':
			n, err := strconv.ParseInt(args[i], 0, 64)
			if err != nil {
				panic(err)
			}
			out = append(out, sleb(n)...)
		case 'b': // none, a value type, or the number of a function type
			switch t, isValue := valueTypes[strings.Join(args, "")]; {
			case len(args) == 0:
				out = append(out, 0x40)
			case isValue:
				out = append(out, t)
			default:
				out = append(out, ulebs(args)...)
			}
		case 'l':
			out = append(out, uleb(uint64(len(args)-1))...)
			out = append(out, ulebs(args)...)
		}
	}
	return append(out, m.tail...)
}

var valueTypes = map[string]byte{"i32": 0x7f, "i64": 0x7e, "f32": 0x7d, "f64": 0x7c, "funcref": 0x70}

// mnemonics are the instructions that the tests use: what they begin with, what
// arguments they have, and what they end with.
var mnemonics = map[string]struct{ code, args, tail string }{
	"unreachable": {code: "\x00"}, "nop": {code: "\x01"},
	"block": {"\x02", "b", ""}, "loop": {"\x03", "b", ""}, "if": {"\x04", "b", ""}, "else": {code: "\x05"}, "end": {code: "\x0b"},
	"br": {"\x0c", "u", ""}, "br_if": {"\x0d", "u", ""}, "br_table": {"\x0e", "l", ""}, "return": {code: "\x0f"},
	"call": {"\x10", "f", ""}, "call_indirect": {"\x11", "u", "\x00"}, "return_call": {"\x12", "f", ""},
	"throw": {"\x08", "u", ""}, "try_table_catch_all": {"\x1f\x40\x01\x02", "u", ""},
	"drop": {code: "\x1a"}, "select": {code: "\x1b"},
	"local.get": {"\x20", "u", ""}, "local.set": {"\x21", "u", ""}, "local.tee": {"\x22", "u", ""},
	"i32.load": {code: "\x28\x02\x00"}, "memory.size": {code: "\x3f\x00"}, "memory.grow": {code: "\x40\x00"},
	"i32.const": {"\x41", "s", ""}, "i64.const": {"\x42", "s", ""}, "i32.eqz": {code: "\x45"}, "i32.add": {code: "\x6a"}, "i32.sub": {code: "\x6b"},
	"i32.mul": {code: "\x6c"}, "i32.div_u": {code: "\x6e"}, "ref.null": {code: "\xd0\x70"}, "ref.func": {"\xd2", "f", ""},
	"memory.copy": {code: "\xfc\x0a\x00\x00"}, "memory.fill": {code: "\xfc\x0b\x00"},
	"table.copy": {code: "\xfc\x0e\x00\x00"}, "table.grow": {code: "\xfc\x0f\x00"}, "table.fill": {code: "\xfc\x11\x00"},
	"i32.atomic.load": {code: "\xfe\x10\x02\x00"}, "memory.atomic.wait32": {code: "\xfe\x01\x02\x00"},
}

func sectionBytes(id byte, body []byte) []byte { return append([]byte{id}, vector(body)...) }

// vector is bytes after their number.
func vector(b []byte) []byte { return append(uleb(uint64(len(b))), b...) }

func uleb(n uint64) []byte { return binary.AppendUvarint(nil, n) }

func ulebs(words []string) []byte {
	var out []byte
	for _, word := range words {
		n, err := strconv.ParseUint(word, 0, 32)
		if err != nil {
			panic(fmt.Sprintf("no number: %v", err))
		}
		out = append(out, uleb(n)...)
	}
	return out
}

func sleb(n int64) []byte {
	var out []byte
	for n < -64 || n > 63 {
		out = append(out, byte(n)|0x80)
		n >>= 7
	}
	return append(out, byte(n)&0x7f)
}
