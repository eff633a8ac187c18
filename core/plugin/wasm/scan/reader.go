package scan

import "github.com/reflectory/reflectory/sdk"

// reader reads a module's bytes. After its first error it reads zeros and stays
// where it is, so that a walk ends without a check at each step.
type reader struct {
	data []byte // up to the end of what is being read
	pos  int
	err  error
}

func (r *reader) more() bool { return r.pos < len(r.data) }

func (r *reader) stop(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *reader) invalid(problem string) error {
	r.stop(sdk.Errorf(sdk.Invalid, "module_invalid", "it is no valid WASM module: %s at byte %d", problem, r.pos).
		WithHint("build it for WebAssembly 2.0 (wasip1)"))
	return r.err
}

func (r *reader) byte() byte {
	if r.err != nil {
		return 0
	}
	if !r.more() {
		_ = r.invalid("it ends in the middle")
		return 0
	}
	b := r.data[r.pos]
	r.pos++
	return b
}

func (r *reader) bytes(n uint32) []byte {
	if r.err != nil {
		return nil
	}
	if uint64(n) > uint64(len(r.data)-r.pos) {
		_ = r.invalid("it ends in the middle")
		return nil
	}
	b := r.data[r.pos : r.pos+int(n)]
	r.pos += int(n)
	return b
}

// u32 reads a LEB128 number of 32 bits.
func (r *reader) u32() uint32 {
	var v uint64
	for shift := 0; shift < 35; shift += 7 {
		b := r.byte()
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			if v > 1<<32-1 {
				_ = r.invalid("a number of more than 32 bits")
				return 0
			}
			return uint32(v)
		}
	}
	_ = r.invalid("a number of more than 32 bits")
	return 0
}

// integer skips a LEB128 number of up to n bytes, signed or not.
func (r *reader) integer(n int) {
	for range n {
		if r.byte() < 0x80 {
			return
		}
	}
	_ = r.invalid("a number of too many bytes")
}

// enter narrows the reader to the next n bytes, and returns what leave needs to
// go on behind them.
func (r *reader) enter(n uint32) (outer []byte) {
	outer = r.data
	if end := uint64(r.pos) + uint64(n); end <= uint64(len(r.data)) {
		r.data = r.data[:end]
	} else {
		_ = r.invalid("a part that reaches beyond the end")
	}
	return outer
}

// leave continues after the part that was entered, whether all of it was read or not.
func (r *reader) leave(outer []byte) {
	r.pos = len(r.data)
	r.data = outer
}
