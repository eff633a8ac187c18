// Package scan bounds what a WebAssembly module makes a compiler do, before any
// compiler or validator sees it.
//
// The problem: a module of 144 bytes may declare 4,000,000,000 locals, and an engine
// allocates memory for each before it has checked anything else. Nesting, branch tables and
// counts are as cheap to write and as expensive to read. So this package reads a stranger's
// bytes first. It walks once from start to end, in time linear in the size, and keeps only
// counters: no slice here grows with the module.
//
// It checks costs, not validity. A module that it can't read is invalid for every engine too,
// and is refused as such; one that it can read may still be invalid, which the engine finds
// out. It must read instructions exactly as wazero 1.12 does: if it took an instruction to be
// longer than wazero does, a block could be hidden from it. So the second byte of a vector or
// an atomic instruction is its opcode, as in wazero, although the standard has a number of up
// to several bytes there; the tests compare this with the specification's own modules.
//
// It is internal to Reflectory: its API may change in any release.
package scan

import "github.com/reflectory/reflectory/sdk"

// Bounds of a module. The bounds of locals, bodies, functions, types, imports, exports,
// globals, segments and branch targets are about what the JavaScript API for
// WebAssembly recommends to its implementations; the others are ours.
const (
	// MaxModule is the size of a file in bytes: a Go guest has 3 to 10 MB.
	MaxModule = 64 << 20
	// MaxLocals is how many locals one function may declare, and MaxAllLocals how many all
	// functions may: a compiler keeps at least 8 bytes for each.
	MaxLocals    = 50_000
	MaxAllLocals = 10_000_000
	// MaxBody is the size of one function's body in bytes.
	MaxBody = 7_654_321
	// MaxCount is how many functions, types, imports, exports, globals, tables, tags
	// and segments there may be, each, and how many targets one branch has.
	MaxCount = 1_000_000
	// MaxLoops is how deep loops nest in a function: a compiler's time grows with the
	// square of it. MaxNesting is how deep blocks of all kinds do. Few write more than
	// 500, but a large switch is a block for each of its cases: Extism's own plug-in in
	// Haskell nests 1,706.
	MaxLoops   = 1_000
	MaxNesting = 5_000
)

// Cost is what is known of a module's needs after a scan.
type Cost struct {
	// InstanceBytes is about what each instance takes in the host next to its linear
	// memory: its globals, and the entries that its tables begin with.
	InstanceBytes int64
	// Shared is whether its memory is declared as shared between threads, and so may
	// never move.
	Shared bool
}

// What wazero keeps of each, in bytes (measured).
const (
	globalBytes = 112
	entryBytes  = 8
)

// Scan reads a module as far as its cost goes. The error names the bound that it passes
// ([sdk.Exhausted], "module_too_complex"), or that it isn't a module ([sdk.Invalid],
// "module_invalid").
func Scan(module []byte) (Cost, error) {
	if len(module) > MaxModule {
		return Cost{}, TooLarge(int64(len(module)))
	}
	r := &reader{data: module}
	if string(r.bytes(8)) != "\x00asm\x01\x00\x00\x00" {
		return Cost{}, r.invalid("no WebAssembly module of version 1")
	}
	s := &scanner{reader: r}
	for r.err == nil && r.more() {
		s.section()
	}
	return Cost{InstanceBytes: s.globals*globalBytes + s.entries*entryBytes, Shared: s.shared}, r.err
}

// TooLarge is the error for a file of that many bytes.
func TooLarge(size int64) error {
	return sdk.Errorf(sdk.Exhausted, "module_too_large", "the module has %d bytes (limit %d)", size, MaxModule).
		WithHint("build it without debug data, or with less in it")
}

// scanner is the walk, with what it has counted so far.
type scanner struct {
	*reader
	locals  uint64 // of all functions
	globals int64
	entries int64 // that tables begin with
	shared  bool  // whether a memory is

	// Of the function that is being read: the blocks that are open, and the loops
	// among them.
	depth, loops int
	isLoop       [MaxNesting]bool
}

// The sections whose content matters. Each begins with the number of its entries.
const (
	sectionType     = 1
	sectionImport   = 2
	sectionFunction = 3
	sectionTable    = 4
	sectionMemory   = 5
	sectionGlobal   = 6
	sectionExport   = 7
	sectionElement  = 9
	sectionCode     = 10
	sectionData     = 11
	sectionTag      = 13
)

// counted names the entries of the sections that are lists.
var counted = map[byte]string{
	sectionType: "types", sectionImport: "imports", sectionFunction: "functions", sectionTable: "tables", sectionMemory: "memories",
	sectionGlobal: "globals", sectionExport: "exports", sectionElement: "element segments",
	sectionCode: "function bodies", sectionData: "data segments", sectionTag: "tags",
}

// section reads one section. Repeated ones are invalid, and counted anyway.
func (s *scanner) section() {
	id := s.byte()
	outer := s.enter(s.u32())
	if what := counted[id]; what != "" {
		n := s.u32()
		s.limit(what, uint64(n), MaxCount)
		s.entriesOf(id, n)
	}
	s.leave(outer)
}

func (s *scanner) entriesOf(id byte, n uint32) {
	switch id {
	case sectionGlobal:
		s.globals += int64(n)
	case sectionMemory: // engines take one at most
		const shared = 0x02
		s.shared = s.shared || n > 0 && s.byte()&shared != 0
	case sectionTable:
		for ; n > 0 && s.err == nil; n-- { // n may be 4e9
			s.table()
		}
	case sectionCode:
		for ; n > 0 && s.err == nil; n-- {
			s.body()
		}
	}
}

// table reads one table, whose first entries an instance has from its start.
func (s *scanner) table() {
	const withInit = 0x40 // begins a table whose entries begin as an expression's value
	first := s.byte()
	if first == withInit {
		s.byte() // reserved
		s.valueType()
	} else {
		s.restOfType(first)
	}
	bounded := s.byte()&1 != 0
	s.entries += int64(s.u32())
	if bounded {
		s.u32()
	}
	s.limit("entries of tables", uint64(s.entries), MaxCount)
	if first == withInit {
		s.instructions()
	}
}

// limit refuses more of something than there may be.
func (s *scanner) limit(what string, n, most uint64) {
	if n > most {
		s.stop(sdk.Errorf(sdk.Exhausted, "module_too_complex", "the module has %d %s (limit %d) at byte %d", n, what, most, s.pos).
			WithHint("no compiler writes that of its own accord: split the module, or generate less code").
			WithDetail("what", what).WithDetail("count", n).WithDetail("limit", most))
	}
}
