package fuel

import "math"

// instruction is one of a function's body or of a constant expression.
type instruction struct {
	op  opcode
	at  int // where it begins
	imm int // where its immediates begin
	end int // where the next one begins
	// index is its function or its global, or the function type of its block,
	// noType if that is none.
	index uint32
	// labels are where it may branch to. They are valid until the next
	// instruction is read.
	labels []label
}

const noType = math.MaxUint32

// label is the target of a branch.
type label struct {
	at, end int    // where it stands
	depth   uint32 // how many blocks outwards
}

// decoder reads instructions.
type decoder struct {
	*reader
	in instruction
}

// next reads an instruction into in, and reports whether there was one that can
// be taken.
func (d *decoder) next() bool {
	d.in = instruction{at: d.pos, labels: d.in.labels[:0]}
	d.in.op = d.opcode()
	d.in.imm = d.pos
	d.immediates()
	d.in.end = d.pos
	return d.err == nil
}

func (d *decoder) opcode() opcode {
	first := d.byte()
	switch first {
	case prefixMisc, prefixAtomic:
		return d.prefixed(first)
	case prefixVector:
		// wazero 1.12 takes the second byte as the opcode, and so the third of a
		// two-byte number as an instruction: with 1 a nop, else another one.
		sub := d.byte()
		if sub >= 0x80 && d.byte() != 1 {
			d.fail("a vector instruction of a later proposal (relaxed SIMD)")
		}
		return opcode(first)<<8 | opcode(sub)
	case prefixGC:
		d.fail("an instruction of garbage collection")
	case 0x06, 0x07, 0x09, 0x18, 0x19:
		d.fail("the legacy exception instruction %#x", first)
	case 0x1f:
		// wazero 1.12 copies the whole stack at each, and keeps it while within.
		d.fail("try_table, whose cost no fuel can tell,")
	}
	return opcode(first)
}

func (d *decoder) prefixed(first byte) opcode {
	sub := d.u32()
	if sub > 0xff {
		d.fail("the unknown instruction %#x %#x", first, sub)
	}
	return opcode(first)<<8 | opcode(sub)
}

// immediates reads what follows the opcode.
func (d *decoder) immediates() {
	switch s := shapeOf(d.in.op); s {
	case shapePlain:
	case shapeByte:
		d.bytes(1)
	case shapeBytes4:
		d.bytes(4)
	case shapeBytes8:
		d.bytes(8)
	case shapeBytes16:
		d.bytes(16)
	case shapeInt32, shapeIndex:
		d.integer(maxLen32)
	case shapeInt64:
		d.integer(maxLen64)
	case shapeIndexPair:
		d.integer(maxLen32)
		d.integer(maxLen32)
	case shapeFunction, shapeGlobal:
		d.in.index = d.u32()
	case shapeLabel:
		d.label()
	case shapeMemory, shapeLane:
		d.memory(s == shapeLane)
	case shapeUnknown:
		d.pos = d.in.at
		d.fail("the instruction %#x", uint16(d.in.op))
	default:
		d.structured(s)
	}
}

func (d *decoder) structured(s shape) {
	switch s {
	case shapeLabels:
		for range d.count() {
			d.label()
		}
		d.label()
	case shapeBlock:
		d.blockType()
	case shapeSelect:
		if d.count() != 1 {
			d.fail("a select of several types")
		}
		d.valueType()
	}
}

// memory skips an alignment and an offset.
func (d *decoder) memory(lane bool) {
	if d.u32() >= 32 { // bit 6 announces the index of a memory
		d.fail("an instruction on one of several memories")
	}
	d.integer(maxLen32)
	if lane {
		d.bytes(1)
	}
}

// blockType reads the type of a block: a value type, the index of a function
// type, or none.
func (d *decoder) blockType() {
	switch t := d.s33(); {
	case t >= 0:
		d.in.index = uint32(t)
		return
	case t == refNullable-0x80, t == refNonNull-0x80:
		d.integer(maxLen32)
	}
	d.in.index = noType
}

func (d *decoder) label() {
	at := d.pos
	depth := d.u32()
	d.in.labels = append(d.in.labels, label{at: at, end: d.pos, depth: depth})
}
