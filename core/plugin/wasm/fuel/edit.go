package fuel

// edit is one change of a section's bytes. Edits are listed in order of place.
type edit struct {
	at, end int // the bytes that are replaced; at == end inserts
	kind    editKind
	n       int64
}

type editKind uint8

const (
	editIndex   editKind = iota // n as an index or a count
	editLocal                   // one more local, for a copy of the counter
	editCharge                  // a charge of n units, if it isn't 0
	editChecked                 // the same, and the check, where it stands
	editLoop                    // the start of a loop, with the check of its header
	editLoopEnd                 // its end, with what happens if the check fails
	editReload                  // the copy again, since a callee may have charged
	editBulk                    // a charge of n/8 units for each of the length on the stack
	editGrow                    // a call of the function that grows the memory
)

// apply appends src with its edits to dst.
func (l *layout) apply(dst, src []byte, edits []edit, c counter) []byte {
	pos := 0
	for _, e := range edits {
		dst = append(dst, src[pos:e.at]...)
		pos = e.end
		switch e.kind {
		case editIndex:
			dst = appendU32(dst, uint32(e.n))
		case editLocal:
			dst = c.load(append(dst, 1, typeI64))
		case editCharge:
			dst = c.charge(dst, e.n)
		case editChecked:
			dst = c.check(c.charge(dst, e.n))
		case editLoop:
			dst = c.beginLoop(dst, src[e.at+1:e.end])
		case editLoopEnd:
			dst = c.endLoop(dst)
		case editReload:
			dst = c.load(dst)
		case editBulk:
			dst = l.bulk(dst, e.n)
		case editGrow:
			dst = emitIndex(dst, opCall, l.grower())
		}
	}
	return append(dst, src[pos:]...)
}
