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

// counter is where a function counts: in the global, which is always right. The
// module's functions keep a copy in a local, since wazero reads a global from
// memory each time, and waiting for what was just written there takes as long as
// an iteration of a small loop.
type counter struct {
	global uint32
	refill uint32 // the function that asks the host for more
	cached bool   // whether there is a copy
	local  uint32 // the copy
}

func (l *layout) counter() counter { return counter{global: l.globals, refill: l.refill()} }

// load sets the copy to the global's value.
func (c counter) load(dst []byte) []byte {
	if !c.cached {
		return dst
	}
	return emitIndex(emitIndex(dst, opGlobalGet, c.global), opLocalSet, c.local)
}

// read puts the counter onto the stack.
func (c counter) read(dst []byte) []byte {
	if c.cached {
		return emitIndex(dst, opLocalGet, c.local)
	}
	return emitIndex(dst, opGlobalGet, c.global)
}

// write sets the counter to what is on the stack.
func (c counter) write(dst []byte) []byte {
	if c.cached {
		dst = emitIndex(dst, opLocalTee, c.local)
	}
	return emitIndex(dst, opGlobalSet, c.global)
}

// charge subtracts n units from the counter.
func (c counter) charge(dst []byte, n int64) []byte {
	if n == 0 {
		return dst
	}
	dst = appendS64(emit(c.read(dst), opI64Const), n)
	return c.write(emit(dst, opI64Sub))
}

// below puts onto the stack whether the counter is below zero.
func (c counter) below(dst []byte) []byte {
	return emit(appendS64(emit(c.read(dst), opI64Const), 0), opI64LtS)
}

// callRefill calls the host, which leaves the counter at zero or above.
func (c counter) callRefill(dst []byte) []byte { return c.load(emitIndex(dst, opCall, c.refill)) }

// check asks the host if the counter is below zero.
func (c counter) check(dst []byte) []byte {
	dst = append(emit(c.below(dst), opIf), typeEmpty)
	return emit(c.callRefill(dst), opEnd)
}

// wrapsOfLoop is how many labels beginLoop puts between a loop and what is around it.
const wrapsOfLoop = 3

// beginLoop and endLoop check at a loop's header, but ask outside: a call within
// makes wazero spill the loop's registers on every iteration, for up to three times
// the time. The loop is entered again after that, which changes nothing, since it
// has no parameters.
//
//	block $done
//	  loop $again
//	    block $ask
//	      loop               ;; the loop itself
//	        below br_if $ask
//	        …
//	      end
//	      br $done
//	    end
//	    ask br $again
//	  end
//	end
func (c counter) beginLoop(dst, blockType []byte) []byte {
	dst = append(emit(dst, opBlock), blockType...)
	dst = append(emit(dst, opLoop), blockType...)
	dst = append(emit(dst, opBlock), typeEmpty)
	dst = append(emit(dst, opLoop), blockType...)
	return emitIndex(c.below(dst), opBrIf, 1)
}

func (c counter) endLoop(dst []byte) []byte {
	dst = emitIndex(emit(dst, opEnd), opBr, 2)
	dst = emitIndex(c.callRefill(emit(dst, opEnd)), opBr, 0)
	return emit(emit(dst, opEnd), opEnd)
}

// bulk charges eighths of a unit for each of the length on the stack, and leaves
// the length there.
func (l *layout) bulk(dst []byte, eighths int64) []byte {
	return emitIndex(appendS64(emit(dst, opI64Const), eighths), opCall, l.charger())
}

// chargerBody is a function (length i32, eighths i64) → length. The length is
// taken as unsigned, and eighths is at most 2^16, so that no product reaches
// 2^48 and no charge turns into a gift.
func (l *layout) chargerBody() []byte {
	c := l.counter()
	dst := c.read([]byte{0}) // no locals
	dst = emitIndex(dst, opLocalGet, 0)
	dst = emitIndex(emit(dst, opI64ExtendI32U), opLocalGet, 1)
	dst = appendS64(emit(emit(dst, opI64Mul), opI64Const), 3)
	dst = c.write(emit(emit(dst, opI64ShrU), opI64Sub))
	return emit(emitIndex(c.check(dst), opLocalGet, 0), opEnd)
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
	for _, t := range []uint32{l.chargerType(), l.growerType()}[:l.added] {
		dst = appendU32(dst, t)
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
