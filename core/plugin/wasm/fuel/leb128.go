package fuel

// LEB128 holds integers in groups of 7 bits, the lowest first; the high bit of a
// byte means that more follow.
const (
	maxLen32 = 5  // bytes of a 32-bit integer (and of a 33-bit one), at most
	maxLen64 = 10 // bytes of a 64-bit integer, at most
)

// appendU32 appends an unsigned integer in its shortest form.
func appendU32(dst []byte, v uint32) []byte {
	for v >= 0x80 {
		dst = append(dst, byte(v)|0x80)
		v >>= 7
	}
	return append(dst, byte(v))
}

// appendS64 appends a signed integer in its shortest form.
func appendS64(dst []byte, v int64) []byte {
	for v < -0x40 || v >= 0x40 {
		dst = append(dst, byte(v)|0x80)
		v >>= 7
	}
	return append(dst, byte(v)&0x7f)
}
