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
	editCharge                  // a charge of n units, if it isn't 0
	editChecked                 // the same, and the check
	editBulk                    // a charge of n/8 units for each of the length on the stack
	editGrow                    // a call of the function that grows the memory
)

// apply appends src with its edits to dst.
func (l *layout) apply(dst, src []byte, edits []edit) []byte {
	pos := 0
	for _, e := range edits {
		dst = append(dst, src[pos:e.at]...)
		pos = e.end
		switch e.kind {
		case editIndex:
			dst = appendU32(dst, uint32(e.n))
		case editCharge:
			dst = l.charge(dst, e.n)
		case editChecked:
			dst = l.check(l.charge(dst, e.n))
		case editBulk:
			dst = l.bulk(dst, e.n)
		case editGrow:
			dst = l.call(dst, l.grower())
		}
	}
	return append(dst, src[pos:]...)
}
