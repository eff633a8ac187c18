package fuel

// tableWithInit begins a table whose entries begin as an expression's value.
const tableWithInit = 0x40

func (w *rewriter) tables(count uint32) {
	for range count {
		init := w.more() && w.data[w.pos] == tableWithInit
		if init {
			w.bytes(2) // itself and a reserved byte
		}
		w.valueType()
		w.limits()
		if init {
			w.expression()
		}
	}
}

func (w *rewriter) globals(count uint32) {
	for range count {
		w.valueType()
		w.byte() // whether it is mutable
		w.expression()
	}
}

func (w *rewriter) exports(count uint32) {
	for range count {
		if string(w.bytes(w.u32())) == Global {
			w.fail("an export of the name %q, which is reserved,", Global)
		}
		switch kind := w.byte(); kind {
		case kindFunction:
			w.function()
		case kindTable, kindMemory, kindGlobal, kindTag:
			w.integer(maxLen32)
		default:
			w.fail("an export of the kind %d", kind)
		}
	}
}

// The bits of an element segment's flags.
const (
	segmentPassive     = 1 << iota // it is passive or declarative, so that it has no offset
	segmentExplicit                // it names its table and kind, or is declarative
	segmentExpressions             // its entries are expressions and not functions
)

func (w *rewriter) elements(count uint32) {
	for range count {
		flags := w.u32()
		if flags > segmentPassive|segmentExplicit|segmentExpressions {
			w.fail("an element segment with the flags %#x", flags)
		}
		if flags&segmentPassive == 0 {
			if flags&segmentExplicit != 0 {
				w.integer(maxLen32) // its table
			}
			w.expression()
		}
		w.elementKind(flags)
		for range w.count() {
			if flags&segmentExpressions != 0 {
				w.expression()
			} else {
				w.function()
			}
		}
	}
}

// elementKind skips the kind of an element segment's entries, if it has one.
func (w *rewriter) elementKind(flags uint32) {
	switch {
	case flags&(segmentPassive|segmentExplicit) == 0: // it is about functions
	case flags&segmentExpressions != 0:
		w.valueType()
	default:
		if kind := w.byte(); kind != 0 {
			w.fail("an element segment of the kind %d", kind)
		}
	}
}
