package fuel

// reader reads a part of a module. It keeps its first error and then moves to the end, so
// that a caller that continues reading gets zeros and stops.
type reader struct {
	data []byte
	pos  int
	base int // where data begins in the module, for messages
	err  error
}

// fail ends the reading with an error that names what can't be read at the current
// position.
func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = unsupported(r.base+r.pos, format, args...)
	}
	r.pos = len(r.data)
}

// more reports whether there is something left to read.
func (r *reader) more() bool { return r.pos < len(r.data) }

func (r *reader) byte() byte {
	if r.pos >= len(r.data) {
		r.fail("an end in the middle of something")
		return 0
	}
	b := r.data[r.pos]
	r.pos++
	return b
}

// bytes reads the next n bytes, which stay part of the module.
func (r *reader) bytes(n uint32) []byte {
	if uint64(n) > uint64(len(r.data)-r.pos) {
		r.fail("a length of %d beyond the end", n)
		return nil
	}
	b := r.data[r.pos : r.pos+int(n)]
	r.pos += int(n)
	return b
}

// part reads the next n bytes as something to be read by itself.
func (r *reader) part(n uint32) *reader {
	base := r.base + r.pos
	return &reader{data: r.bytes(n), base: base, err: r.err}
}

// u32 reads an unsigned 32-bit integer.
func (r *reader) u32() uint32 {
	var v uint64
	for i := range maxLen32 {
		b := r.byte()
		v |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			if v > 1<<32-1 {
				r.fail("an integer of more than 32 bits")
				return 0
			}
			return uint32(v)
		}
	}
	r.fail("an integer of more than %d bytes", maxLen32)
	return 0
}

// s33 reads a signed integer of 33 bits. Only the type of a block is one.
func (r *reader) s33() int64 {
	var v int64
	for i := range maxLen32 {
		b := r.byte()
		v |= int64(b&0x7f) << (7 * i)
		if b < 0x80 {
			unused := 64 - 7*(i+1)
			return v << unused >> unused
		}
	}
	r.fail("an integer of more than %d bytes", maxLen32)
	return 0
}

// integer skips an integer of up to n bytes whose value doesn't matter.
func (r *reader) integer(n int) {
	for range n {
		if r.byte() < 0x80 {
			return
		}
	}
	r.fail("an integer of more than %d bytes", n)
}

// count reads how many things follow. Each takes at least one byte, so that a loop over a
// count ends with the input.
func (r *reader) count() uint32 {
	n := r.u32()
	if uint64(n) > uint64(len(r.data)-r.pos) {
		r.fail("a count of %d beyond the end", n)
		return 0
	}
	return n
}

// The first bytes of the types that take more than one.
const (
	refNullable = 0x63
	refNonNull  = 0x64
)

// valueType skips the type of a value.
func (r *reader) valueType() {
	switch b := r.byte(); b {
	case 0x7f, 0x7e, 0x7d, 0x7c, 0x7b, 0x70, 0x6f, 0x69: // i32 i64 f32 f64 v128 funcref externref exnref
	case refNullable, refNonNull:
		r.integer(maxLen32)
	default:
		r.fail("the type %#x, which garbage collection or a later proposal adds,", b)
	}
}

// valueTypes skips a list of types, and returns how many there were.
func (r *reader) valueTypes() uint32 {
	n := r.count()
	for range n {
		r.valueType()
	}
	return n
}

// limits skips the limits of a table or a memory.
func (r *reader) limits() {
	flags := r.byte()
	if flags > 3 {
		r.fail("limits with the flags %#x (64-bit memory, or page sizes)", flags)
		return
	}
	r.integer(maxLen32)
	if flags&1 != 0 {
		r.integer(maxLen32)
	}
}
