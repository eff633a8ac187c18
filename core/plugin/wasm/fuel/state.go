package fuel

import (
	"fmt"

	"github.com/reflectory/reflectory/sdk"
)

// The instructions that change state which a host can't restore: they set entries of tables
// and drop segments.
const (
	opTableSet opcode = 0x26
	opDataDrop opcode = 0xfc09
	opElemDrop opcode = 0xfc0d
)

// maxTable is how many entries a table may begin with: far more functions than a
// program has, and 8 MiB of the host's memory.
const maxTable = 1 << 20

// State is the part of an instance's state, apart from its memory, that a host can read and set.
type State struct {
	// Globals are the names under which all mutable globals are exported.
	Globals []string
	// Hidden names the state that a host can't read or set; "" is none, so that memory and
	// Globals are the whole state.
	Hidden string
}

// Expose returns the module with each mutable global exported under its own name, and
// the state that a host can then read and set. It has the same requirements of the module as
// [Instrument]. A table that begins with more than a million entries takes memory that no
// limit counts, and is refused with the reason "table_unbounded"; entries that are added
// later cost fuel.
func Expose(module []byte) ([]byte, State, error) {
	m, err := split(module)
	if err != nil {
		return nil, State{}, err
	}
	l, err := survey(m)
	if err != nil {
		return nil, State{}, err
	}
	x := &exposer{}
	if err := x.tables(m.find(sectionTable).reader()); err != nil {
		return nil, State{}, err
	}
	if err := x.globals(l, m.find(sectionGlobal).reader()); err != nil {
		return nil, State{}, err
	}
	if err := x.code(m.find(sectionCode).reader()); err != nil {
		return nil, State{}, err
	}
	if x.hidden != "" || len(x.names) == 0 {
		return module, State{Hidden: x.hidden}, nil
	}
	body, err := x.exports(l, m.find(sectionExport).reader())
	if err != nil {
		return nil, State{}, err
	}
	m.put(sectionExport, body)
	return m.join(), State{Globals: x.names}, nil
}

func unbounded(offset int, entries uint32) error {
	return sdk.Errorf(sdk.Incompatible, "table_unbounded", "the module begins with a table of %d entries, at byte %d, which takes memory that no limit counts", entries, offset).
		WithHint("compile it with tables of at most %d entries", maxTable)
}

type exposer struct {
	names  []string
	added  []byte // entries of the export section
	hidden string
}

func (x *exposer) hide(r *reader, what string) {
	if x.hidden == "" {
		x.hidden = fmt.Sprintf("%s at byte %d", what, r.base+r.pos)
	}
}

func (x *exposer) tables(r *reader) error {
	for range r.count() {
		if r.more() && r.data[r.pos] == tableWithInit {
			return r.err // its expression follows; wazero takes none of them
		}
		r.valueType()
		limits := *r
		limits.byte()
		if n := limits.u32(); n > maxTable {
			return unbounded(limits.base+limits.pos, n)
		}
		r.limits()
	}
	return r.err
}

// globals names each mutable global that the module defines. One that is no
// number of up to 64 bits can't be read by a host.
func (x *exposer) globals(l *layout, r *reader) error {
	w := &rewriter{decoder: decoder{reader: r}, l: l}
	n := w.count()
	for i := l.globals - n; i < l.globals; i++ {
		kind := byte(0)
		if w.more() {
			kind = w.data[w.pos]
		}
		w.valueType()
		if w.byte() == 1 {
			if kind < 0x7c || kind > 0x7f {
				x.hide(r, "a global that holds a vector or a reference")
			}
			name := fmt.Sprintf("reflectory:global:%d", i)
			x.names = append(x.names, name)
			x.added = appendU32(append(appendName(x.added, name), kindGlobal), i)
		}
		w.expression()
	}
	return w.err
}

// code looks for instructions that change what is hidden.
func (x *exposer) code(r *reader) error {
	for range r.count() {
		d := &decoder{reader: r.part(r.u32())}
		for range d.count() { // locals
			d.u32()
			d.valueType()
		}
		for d.more() && d.next() {
			switch d.in.op {
			case opTableSet, opTableFill, opTableCopy, opTableInit, opTableGrow:
				x.hide(d.reader, "a change of a table")
			case opDataDrop, opElemDrop:
				x.hide(d.reader, "a dropped segment")
			}
		}
		if d.err != nil {
			return d.err
		}
	}
	return r.err
}

// exports adds an export for each of the globals. A name that is taken already
// makes the module invalid, which the engine reports.
func (x *exposer) exports(l *layout, r *reader) ([]byte, error) {
	leave := func(w *rewriter, _ uint32) { w.pos = len(w.data) }
	return l.list(r, leave, uint32(len(x.names)), x.added)
}
