package fuel

// The value types that added code uses, and the type of a block without values.
const (
	typeI32   = 0x7f
	typeI64   = 0x7e
	typeEmpty = 0x40
)

func emit(dst []byte, op opcode) []byte { return append(dst, byte(op)) }

func emitIndex(dst []byte, op opcode, index uint32) []byte {
	return appendU32(emit(dst, op), index)
}

func (l *layout) call(dst []byte, function uint32) []byte {
	return emitIndex(dst, opCall, function)
}

// charge subtracts n units from the counter.
func (l *layout) charge(dst []byte, n int64) []byte {
	if n == 0 {
		return dst
	}
	dst = emitIndex(dst, opGlobalGet, l.globals)
	dst = appendS64(emit(dst, opI64Const), n)
	dst = emit(dst, opI64Sub)
	return emitIndex(dst, opGlobalSet, l.globals)
}

// check calls the host if the counter is below zero.
func (l *layout) check(dst []byte) []byte {
	dst = emitIndex(dst, opGlobalGet, l.globals)
	dst = appendS64(emit(dst, opI64Const), 0)
	dst = append(emit(emit(dst, opI64LtS), opIf), typeEmpty)
	return emit(l.call(dst, l.refill()), opEnd)
}

// bulk charges eighths of a unit for each of the length on the stack, and leaves
// the length there.
func (l *layout) bulk(dst []byte, eighths int64) []byte {
	return l.call(appendS64(emit(dst, opI64Const), eighths), l.charger())
}

// chargerBody is a function (length i32, eighths i64) → length. The length is
// taken as unsigned, and eighths is at most 2^16, so that no product reaches
// 2^48 and no charge turns into a gift.
func (l *layout) chargerBody() []byte {
	dst := []byte{0} // no locals
	dst = emitIndex(dst, opGlobalGet, l.globals)
	dst = emitIndex(dst, opLocalGet, 0)
	dst = emitIndex(emit(dst, opI64ExtendI32U), opLocalGet, 1)
	dst = appendS64(emit(emit(dst, opI64Mul), opI64Const), 3)
	dst = emit(emit(dst, opI64ShrU), opI64Sub)
	dst = emitIndex(dst, opGlobalSet, l.globals)
	dst = emitIndex(l.check(dst), opLocalGet, 0)
	return emit(dst, opEnd)
}

// growerBody is a function (pages i32) → the memory's old size, or −1. Growth is
// charged once it has succeeded: a program may ask for more than there is and
// live with less, and what can succeed is bounded by the memory's limit.
func (l *layout) growerBody() []byte {
	dst := []byte{1, 1, typeI32} // one local, for the result
	dst = emitIndex(dst, opLocalGet, 0)
	dst = emitIndex(dst, opMemoryGrow, 0)
	dst = emitIndex(dst, opLocalTee, 1)
	dst = appendS64(emit(dst, opI32Const), -1)
	dst = append(emit(emit(dst, opI32Ne), opIf), typeEmpty)
	dst = emitIndex(dst, opLocalGet, 0)
	dst = l.bulk(dst, eighthsPerPage)
	dst = emit(emit(dst, opDrop), opEnd)
	dst = emitIndex(dst, opLocalGet, 1)
	return emit(dst, opEnd)
}

func (l *layout) addedTypes() []byte {
	return []byte{
		typeFunction, 0, 0, // the refill
		typeFunction, 2, typeI32, typeI64, 1, typeI32, // the charger
		typeFunction, 1, typeI32, 1, typeI32, // the grower
	}
}

func (l *layout) addedImport() []byte {
	dst := appendName(nil, ImportModule)
	dst = append(appendName(dst, ImportRefill), kindFunction)
	return appendU32(dst, l.refillType())
}

// addedFunctions are the types of the functions of ours that are defined.
func (l *layout) addedFunctions() []byte {
	var dst []byte
	for i := range l.added {
		dst = appendU32(dst, l.chargerType()+i)
	}
	return dst
}

// addedBodies are the bodies of the same.
func (l *layout) addedBodies() []byte {
	var dst []byte
	for _, body := range [][]byte{l.chargerBody(), l.growerBody()}[:l.added] {
		dst = append(appendU32(dst, uint32(len(body))), body...)
	}
	return dst
}

func (l *layout) addedExport() []byte {
	return appendU32(append(appendName(nil, Global), kindGlobal), l.globals)
}

// addedGlobal is a mutable i64 that begins as 0.
func addedGlobal() []byte {
	return []byte{typeI64, 1, byte(opI64Const), 0, byte(opEnd)}
}

func appendName(dst []byte, name string) []byte {
	return append(appendU32(dst, uint32(len(name))), name...)
}
