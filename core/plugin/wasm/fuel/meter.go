package fuel

import "math"

// The count is compiled into the module rather than left to the engine's own deadline. The
// engine checks its deadline in every iteration of every loop, which can cost ten times the
// work itself, and stops a guest after a time that depends on the machine. Fuel is the same
// everywhere, so that a call that passed once passes again. A charge must not change what the
// guest computes, and no path may be without charges.
//
// What is charged, in units of fuel:
//
//	an instruction               1; block, else, end and nop 0
//	a function's entry           1, and 1/8 for each local
//	bytes copied, filled, grown  1/8 for each
//	table entries copied, filled 1 for each
//	table entries added          64 for each
//
// Instructions are charged at points, each of which pays for the instructions up to the next
// point: at a function's entry, at a loop's header, in the arms of an if, and after
// everything that may have branched away. So exactly the executed instructions are charged,
// on every path. (If a trap ends a piece early, all of the piece has been charged.)
//
// The host is asked for more only at a function's entry, at a loop's header, and by the
// operations on a length: the code between two of these is bounded.
const (
	eighthsPerByte    = 1
	eighthsPerPage    = 65536 * eighthsPerByte
	eighthsPerElement = 8 * eighthsPerByte // an entry takes 8 bytes
	// New entries stay for as long as the instance; [BoundTables] limits how many there are.
	eighthsPerNewElement = 64 * eighthsPerElement
)

// eighthsOf returns the price of each of the length on the stack, in eighths of
// a unit, for the instructions that work on a length; else 0.
func eighthsOf(op opcode) int64 {
	switch op {
	case opMemoryInit, opMemoryCopy, opMemoryFill:
		return eighthsPerByte
	case opTableInit, opTableCopy, opTableFill:
		return eighthsPerElement
	case opTableGrow:
		return eighthsPerNewElement
	}
	return 0
}

// frame is a block that the walk is in. The first is the function itself.
type frame struct {
	open   int  // how many points were open before it
	dead   bool // whether it can't be reached
	kind   opcode
	escape int // the outermost frame that is branched to from within
	wraps  int // blocks that metering has put around it and the frames before
}

// meter walks through a function's instructions and places the charges.
//
// The open points form a stack; the last one is charged for what is walked. The
// points that a block opens end with it. If the block can only be left at its
// end, what follows it is executed as often as what stood before it, and belongs
// to the point that was open there; else a new point is opened.
type meter struct {
	frames []frame
	open   []int // the edits of the open points
	dead   bool  // whether the walk is behind a branch that is always taken
	edits  []edit
}

// begin starts a function.
func (m *meter) begin(w *rewriter, locals uint64) {
	m.frames = append(m.frames[:0], frame{})
	m.open = m.open[:0]
	m.dead = false
	m.point(w, w.pos, editChecked)
	m.charge(w, 1+int64(locals/8))
}

// step walks over the instruction that was read.
func (m *meter) step(w *rewriter) {
	switch w.in.op {
	case opNop:
	case opBlock, opLoop, opIf:
		m.enter(w)
	case opElse:
		m.elseArm(w)
	case opEnd:
		m.leave(w)
	case opUnreachable:
		m.charge(w, 1)
		m.dead = true
	case opReturn, opReturnCall, opReturnCallIndirect, opReturnCallRef, opThrow, opThrowRef:
		m.charge(w, 1)
		m.escape(0)
		m.dead = true
	case opBr, opBrTable:
		m.charge(w, 1)
		m.branch(w)
		m.dead = true
	case opBrIf, opBrOnNull, opBrOnNonNull:
		m.charge(w, 1)
		m.branch(w)
		m.arm(w)
	default:
		m.charge(w, 1)
	}
}

// enter opens a block.
func (m *meter) enter(w *rewriter) {
	in := &w.in
	if in.op == opIf {
		m.charge(w, 1)
	}
	m.frames = append(m.frames, frame{
		open: len(m.open), dead: m.dead, kind: in.op, escape: math.MaxInt, wraps: m.frames[len(m.frames)-1].wraps,
	})
	switch in.op {
	case opIf:
		m.arm(w)
	case opLoop:
		m.loop(w)
	}
}

// loop checks and charges at a loop's header. A loop with parameters is checked
// where it stands, since it can't be left and entered again without a type for it.
func (m *meter) loop(w *rewriter) {
	in := &w.in
	if in.index != noType && (uint64(in.index) >= uint64(len(w.l.params)) || w.l.params[in.index] > 0) {
		m.point(w, in.end, editChecked)
	} else {
		m.frames[len(m.frames)-1].wraps += wrapsOfLoop
		w.edits = append(w.edits, edit{at: in.at, end: in.end, kind: editLoop})
		m.point(w, in.end, editCharge)
	}
	m.charge(w, 1)
}

// elseArm continues from one arm of an if to the other.
func (m *meter) elseArm(w *rewriter) {
	f := &m.frames[len(m.frames)-1]
	if f.kind != opIf {
		w.fail("an else without an if")
		return
	}
	m.open = m.open[:f.open]
	m.dead = f.dead
	m.arm(w)
}

// leave closes a block. What follows is charged where the block was, unless the
// block may have been left for somewhere else.
func (m *meter) leave(w *rewriter) {
	at := len(m.frames) - 1
	f := m.frames[at]
	m.open = m.open[:f.open]
	m.frames = m.frames[:at]
	if at > 0 && f.wraps > m.frames[at-1].wraps {
		w.edits = append(w.edits, edit{at: w.in.at, end: w.in.end, kind: editLoopEnd})
	}
	m.dead = f.dead
	if f.escape < at {
		m.escape(f.escape)
		m.arm(w)
	}
}

// branch notes the targets of a branch, and moves them by the blocks that were
// put in between.
func (m *meter) branch(w *rewriter) {
	from := len(m.frames) - 1
	for _, l := range w.in.labels {
		if uint64(l.depth) > uint64(from) {
			w.fail("the unknown label %d", l.depth)
			return
		}
		to := from - int(l.depth)
		m.escape(to)
		if between := m.frames[from].wraps - m.frames[to].wraps; between > 0 {
			w.edits = append(w.edits, edit{at: l.at, end: l.end, kind: editIndex, n: int64(l.depth) + int64(between)})
		}
	}
}

// escape notes that a frame is branched to from the current one.
func (m *meter) escape(frame int) {
	f := &m.frames[len(m.frames)-1]
	f.escape = min(f.escape, frame)
}

// arm opens a point behind the current instruction, for what may be skipped.
func (m *meter) arm(w *rewriter) {
	if !m.dead {
		m.point(w, w.in.end, editCharge)
	}
}

func (m *meter) point(w *rewriter, at int, kind editKind) {
	m.open = append(m.open, len(w.edits))
	w.edits = append(w.edits, edit{at: at, end: at, kind: kind})
}

// charge charges the open point.
func (m *meter) charge(w *rewriter, n int64) {
	if !m.dead {
		w.edits[m.open[len(m.open)-1]].n += n
	}
}
