package fuel

// BoundTables returns the module with a maximum for each of its tables, so that the tables
// of an instance never have more than a million entries together, which take 8 MiB of the
// host. A module that asks for more gets -1 from table.grow, as from any table that is full.
// It has the same requirements of the module as [Instrument].
//
// The engine has no bound of its own: table.grow would have the host allocate 32 GiB. Fuel
// isn't one either, since a plugin's package says how much it needs, and not every module is
// metered.
func BoundTables(module []byte) ([]byte, error) {
	m, err := split(module)
	if err != nil {
		return nil, err
	}
	s := m.find(sectionTable)
	d := &decoder{reader: s.reader()}
	tables, begin := d.tables()
	if err := d.finish(); err != nil || len(tables) == 0 {
		return module, err
	}
	room := (maxTable - min(begin, maxTable)) / uint64(len(tables))
	var edits []edit
	for _, t := range tables {
		edits = append(edits,
			edit{at: t.at, end: t.at + 1, kind: editIndex, n: int64(t.flags | hasMaximum)},
			edit{at: t.maximumAt, end: t.end, kind: editIndex, n: int64(min(t.maximum, t.minimum+room))})
	}
	m.put(sectionTable, new(layout).apply(nil, s.body, edits, counter{}))
	return m.join(), nil
}

// hasMaximum is the bit of the flags of limits that have a maximum.
const hasMaximum = 1

// tableLimits are the limits of a table: flags at an offset, its minimum, and its maximum
// where the flags say so.
type tableLimits struct {
	at, maximumAt, end int
	flags              byte
	minimum, maximum   uint64
}

// tables reads the limits of all tables, and returns how many entries they begin with.
func (d *decoder) tables() (tables []tableLimits, begin uint64) {
	for range d.count() {
		init := d.more() && d.data[d.pos] == tableWithInit
		if init {
			d.bytes(2) // itself and a reserved byte
		}
		d.valueType()
		t := tableLimits{at: d.pos, maximum: 1<<32 - 1}
		t.flags = d.byte()
		t.minimum = uint64(d.u32())
		t.maximumAt = d.pos
		if t.flags&hasMaximum != 0 {
			t.maximum = uint64(d.u32())
		}
		t.end = d.pos
		for init && d.next() && d.in.op != opEnd { // its expression
		}
		tables, begin = append(tables, t), begin+t.minimum
	}
	return tables, begin
}
