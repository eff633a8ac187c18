package fuel

// opcode is an instruction. The prefixed ones have their prefix in the high byte.
type opcode uint16

// The instructions that mean something to metering.
const (
	opUnreachable        opcode = 0x00
	opNop                opcode = 0x01
	opBlock              opcode = 0x02
	opLoop               opcode = 0x03
	opIf                 opcode = 0x04
	opElse               opcode = 0x05
	opThrow              opcode = 0x08
	opThrowRef           opcode = 0x0a
	opEnd                opcode = 0x0b
	opBr                 opcode = 0x0c
	opBrIf               opcode = 0x0d
	opBrTable            opcode = 0x0e
	opReturn             opcode = 0x0f
	opCall               opcode = 0x10
	opCallIndirect       opcode = 0x11
	opReturnCall         opcode = 0x12
	opReturnCallIndirect opcode = 0x13
	opCallRef            opcode = 0x14
	opReturnCallRef      opcode = 0x15
	opDrop               opcode = 0x1a
	opSelectTyped        opcode = 0x1c
	opLocalGet           opcode = 0x20
	opLocalSet           opcode = 0x21
	opLocalTee           opcode = 0x22
	opGlobalGet          opcode = 0x23
	opGlobalSet          opcode = 0x24
	opMemoryGrow         opcode = 0x40
	opI32Const           opcode = 0x41
	opI64Const           opcode = 0x42
	opI32Ne              opcode = 0x47
	opI64LtS             opcode = 0x53
	opI64Sub             opcode = 0x7d
	opI64Mul             opcode = 0x7e
	opI64ShrU            opcode = 0x88
	opI64ExtendI32U      opcode = 0xad
	opRefFunc            opcode = 0xd2
	opBrOnNull           opcode = 0xd5
	opBrOnNonNull        opcode = 0xd6
	opMemoryInit         opcode = 0xfc08
	opMemoryCopy         opcode = 0xfc0a
	opMemoryFill         opcode = 0xfc0b
	opTableInit          opcode = 0xfc0c
	opTableCopy          opcode = 0xfc0e
	opTableGrow          opcode = 0xfc0f
	opTableFill          opcode = 0xfc11
)

// The bytes that prefix the instructions of a proposal.
const (
	prefixGC     = 0xfb
	prefixMisc   = 0xfc
	prefixVector = 0xfd
	prefixAtomic = 0xfe
)

// shape is what follows an opcode.
type shape uint8

const (
	shapeUnknown   shape = iota
	shapePlain           // nothing
	shapeByte            // a byte
	shapeBytes4          // 4 bytes
	shapeBytes8          // 8 bytes
	shapeBytes16         // 16 bytes
	shapeInt32           // an integer of 32 bits
	shapeInt64           // an integer of 64 bits
	shapeIndex           // an index, or what is encoded like one
	shapeIndexPair       // two of them
	shapeFunction        // the index of a function
	shapeGlobal          // the index of a global
	shapeLabel           // a label: how many blocks outwards
	shapeLabels          // a list of labels, and one more
	shapeBlock           // the type of a block
	shapeSelect          // a list of one type
	shapeMemory          // alignment and offset
	shapeLane            // the same, and a byte
)

// shapeOf returns the shape of an instruction, or shapeUnknown if wazero 1.12 can't run it or it
// can't be metered.
func shapeOf(op opcode) shape {
	switch op >> 8 {
	case 0:
		return shapeOfCore(op)
	case prefixMisc:
		return shapeOfMisc(op & 0xff)
	case prefixVector:
		return shapeOfVector(op & 0xff)
	case prefixAtomic:
		return shapeOfAtomic(op & 0xff)
	}
	return shapeUnknown
}

func shapeOfCore(op opcode) shape {
	switch {
	case op <= 0x01, op == opElse, op == opThrowRef, op == opEnd, op == opReturn, op == opDrop, op == 0x1b, // select
		op >= 0x45 && op <= 0xc4, op == 0xd1, op == 0xd4: // numeric, ref.is_null, ref.as_non_null
		return shapePlain
	case op >= opBlock && op <= opIf:
		return shapeBlock
	case op == opBr, op == opBrIf, op == opBrOnNull, op == opBrOnNonNull:
		return shapeLabel
	case op == opBrTable:
		return shapeLabels
	case op == opCall, op == opReturnCall, op == opRefFunc:
		return shapeFunction
	case op == opGlobalGet, op == opGlobalSet:
		return shapeGlobal
	case op == opThrow, op == opCallRef, op == opReturnCallRef, op >= opLocalGet && op <= opLocalTee,
		op == 0x25, op == 0x26, op == 0x3f, op == opMemoryGrow, op == 0xd0: // table.get, table.set, memory.size, ref.null
		return shapeIndex
	case op == opCallIndirect, op == opReturnCallIndirect:
		return shapeIndexPair
	case op == opSelectTyped:
		return shapeSelect
	case op >= 0x28 && op <= 0x3e: // loads and stores
		return shapeMemory
	}
	return shapeOfConst(op)
}

func shapeOfConst(op opcode) shape {
	switch op {
	case opI32Const:
		return shapeInt32
	case opI64Const:
		return shapeInt64
	case 0x43: // f32.const
		return shapeBytes4
	case 0x44: // f64.const
		return shapeBytes8
	}
	return shapeUnknown
}

// shapeOfMisc is for saturating conversions and bulk operations.
func shapeOfMisc(sub opcode) shape {
	switch {
	case sub <= 0x07: // i32.trunc_sat_f32_s …
		return shapePlain
	case sub == 0x08, sub == 0x0a, sub == 0x0c, sub == 0x0e: // memory.init, memory.copy, table.init, table.copy
		return shapeIndexPair
	case sub <= 0x11: // data.drop, memory.fill, elem.drop, table.grow, table.size, table.fill
		return shapeIndex
	}
	return shapeUnknown
}

func shapeOfVector(sub opcode) shape {
	switch {
	case sub <= 0x0b, sub == 0x5c, sub == 0x5d: // loads and a store
		return shapeMemory
	case sub == 0x0c, sub == 0x0d: // v128.const, i8x16.shuffle
		return shapeBytes16
	case sub >= 0x15 && sub <= 0x22: // lanes from and to scalars
		return shapeByte
	case sub >= 0x54 && sub <= 0x5b: // lanes from and to memory
		return shapeLane
	}
	return shapePlain
}

// shapeOfAtomic leaves out memory.atomic.wait32 and wait64: they block, and
// nothing is charged while they do.
func shapeOfAtomic(sub opcode) shape {
	switch {
	case sub == 0x00, sub >= 0x10 && sub <= 0x4e: // notify, loads, stores and read-modify-writes
		return shapeMemory
	case sub == 0x03: // atomic.fence
		return shapeByte
	}
	return shapeUnknown
}
