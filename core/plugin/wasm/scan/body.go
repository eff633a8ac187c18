package scan

import "github.com/reflectory/reflectory/sdk"

// maxLen32 and maxLen64 are the most bytes of a LEB128 number with 32 and 64 bits.
const (
	maxLen32 = 5
	maxLen64 = 10
)

// body reads a function: its locals, then its instructions.
func (s *scanner) body() {
	size := s.u32()
	s.limit("bytes in a function", uint64(size), MaxBody)
	outer := s.enter(size)
	var locals uint64
	for range s.u32() {
		if s.err != nil {
			return
		}
		locals += uint64(s.u32())
		s.valueType()
		s.limit("locals in a function", locals, MaxLocals)
	}
	s.locals += locals
	s.limit("locals", s.locals, MaxAllLocals)
	s.instructions()
	if s.more() {
		_ = s.invalid("something behind the end of a function")
	}
	s.leave(outer)
}

func (s *scanner) valueType() { s.restOfType(s.byte()) }

// restOfType skips what follows the first byte of a value's type: the references
// to a type of the module's own have its number.
func (s *scanner) restOfType(first byte) {
	const refNullable, refNonNull = 0x63, 0x64
	if first == refNullable || first == refNonNull {
		s.integer(maxLen32)
	}
}

// The instructions that open and close blocks, and those that begin others.
const (
	opBlock      = 0x02
	opLoop       = 0x03
	opIf         = 0x04
	opElse       = 0x05
	opEnd        = 0x0b
	opBrTable    = 0x0e
	opSelectType = 0x1c
	opTryTable   = 0x1f
	prefixMisc   = 0xfc
	prefixVector = 0xfd
	prefixAtomic = 0xfe
)

// instructions reads a function's, or a constant expression's, up to the end
// that closes it.
func (s *scanner) instructions() {
	s.depth, s.loops = 0, 0
	for s.err == nil {
		switch op := s.byte(); {
		case op == opEnd:
			if s.depth == 0 {
				return
			}
			s.close()
		case op >= opBlock && op <= opIf:
			s.open(op)
		case op == opTryTable:
			s.catching()
		case op == opBrTable:
			s.targets()
		case op == opSelectType:
			for range s.count() {
				s.valueType()
			}
		case op == prefixMisc:
			s.misc()
		case op == prefixVector:
			s.vector()
		case op == prefixAtomic:
			s.atomic()
		default:
			s.plain(op)
		}
	}
}

// open enters a block.
func (s *scanner) open(op byte) {
	s.limit("nested blocks", uint64(s.depth)+1, MaxNesting)
	if s.err != nil {
		return
	}
	s.isLoop[s.depth] = op == opLoop
	s.depth++
	if op == opLoop {
		s.loops++
		s.limit("nested loops", uint64(s.loops), MaxLoops)
	}
	s.blockType()
}

// close leaves the innermost block.
func (s *scanner) close() {
	s.depth--
	if s.isLoop[s.depth] {
		s.loops--
	}
}

// count reads how many things follow, each of a byte at least, so that a loop over
// them ends with the input.
func (s *scanner) count() uint32 {
	n := s.u32()
	if uint64(n) > uint64(len(s.data)-s.pos) {
		_ = s.invalid("a list that is longer than what is left")
		return 0
	}
	return n
}

// blockType skips none, a value's type, or the number of a function type: a
// signed number, whose forms are all LEB128.
func (s *scanner) blockType() {
	first := s.byte()
	s.restOfType(first)
	if first >= 0x80 {
		s.integer(maxLen32 - 1)
	}
}

// catching refuses to catch exceptions. At each try_table wazero 1.12 copies the guest's
// whole stack, which may have 50 MB, and keeps the copy until the block is left. So a
// function of a few bytes, which calls itself within a try_table, would take more memory
// than any host has, and neither fuel nor the guest's own limit counts it.
func (s *scanner) catching() {
	s.stop(sdk.Errorf(sdk.Incompatible, "instruction_unsupported", "the module catches exceptions (try_table at byte %d), for which the host would need memory without a bound", s.pos-1).
		WithHint("build it without WebAssembly exceptions"))
}

func (s *scanner) targets() {
	n := s.u32()
	s.limit("branch targets", uint64(n), MaxCount)
	for range n {
		if s.err != nil {
			return
		}
		s.integer(maxLen32)
	}
	s.integer(maxLen32) // the one for all others
}

// plain skips the immediates of an instruction of one byte.
func (s *scanner) plain(op byte) {
	switch {
	case op <= 0x01, op == opElse, op == 0x0a, op == 0x0f, op == 0x1a, op == 0x1b, // unreachable … select
		op >= 0x45 && op <= 0xc4, op == 0xd1, op == 0xd4: // numeric, ref.is_null, ref.as_non_null
	case op == 0x08, op >= 0x0c && op <= 0x0d, op == 0x10, op == 0x12, op == 0x14, op == 0x15, // throw, br, calls
		op >= 0x20 && op <= 0x26, op == 0x3f, op == 0x40, // variables, tables, memory.size, memory.grow
		op == 0xd0, op == 0xd2, op == 0xd5, op == 0xd6: // references
		s.integer(maxLen32)
	case op == 0x11, op == 0x13: // indirect calls
		s.integer(maxLen32)
		s.integer(maxLen32)
	case op >= 0x28 && op <= 0x3e: // loads and stores
		s.memory()
	case op == 0x41:
		s.integer(maxLen32)
	case op == 0x42:
		s.integer(maxLen64)
	case op == 0x43:
		s.bytes(4)
	case op == 0x44:
		s.bytes(8)
	default:
		s.pos--
		_ = s.invalid("an unknown instruction")
	}
}

// memory skips an alignment and an offset.
func (s *scanner) memory() {
	s.integer(maxLen32)
	s.integer(maxLen32)
}

// misc skips the immediates of the saturating conversions and bulk operations.
func (s *scanner) misc() {
	switch sub := s.u32(); {
	case sub <= 0x07:
	case sub == 0x08, sub == 0x0a, sub == 0x0c, sub == 0x0e: // memory.init, memory.copy, table.init, table.copy
		s.integer(maxLen32)
		s.integer(maxLen32)
	case sub <= 0x11:
		s.integer(maxLen32)
	default:
		_ = s.invalid("an unknown instruction")
	}
}

func (s *scanner) vector() {
	switch sub := s.byte(); {
	case sub <= 0x0b, sub == 0x5c, sub == 0x5d: // loads and a store
		s.memory()
	case sub == 0x0c, sub == 0x0d: // v128.const, i8x16.shuffle
		s.bytes(16)
	case sub >= 0x15 && sub <= 0x22: // lanes from and to scalars
		s.byte()
	case sub >= 0x54 && sub <= 0x5b: // lanes from and to memory
		s.memory()
		s.byte()
	}
}

// atomic refuses to wait: nothing could end a guest that does, since it waits in
// the engine for another thread, of which there is none.
func (s *scanner) atomic() {
	switch sub := s.byte(); sub {
	case 0x03: // atomic.fence
		s.byte()
	case 0x01, 0x02: // memory.atomic.wait32, memory.atomic.wait64
		s.stop(sdk.Errorf(sdk.Incompatible, "instruction_unsupported", "the module waits for another thread (memory.atomic.wait at byte %d), and has none", s.pos-2).
			WithHint("build it without threads"))
	default:
		s.memory()
	}
}
