package fuel

// layout is where things are in the metered module. What is added is last
// in its list, so the indices of the original hold, with one exception: the imported
// function moves every function that the module defines by one.
//
//	types      the original's, then refill's, the charger's, the grower's
//	functions  imported, refill, defined, then the charger and the grower if used
//	globals    the original's, then the counter
type layout struct {
	params    []uint32 // of each type of the original
	types     []uint32 // of each function that the original defines
	imported  uint32   // functions that it imports
	functions uint32   // functions that it imports or defines
	globals   uint32   // globals that it imports or defines
	added     uint32   // functions of ours that its code needs: none, the charger, or both
}

func (l *layout) refill() uint32  { return l.imported }
func (l *layout) charger() uint32 { return l.functions + 1 }
func (l *layout) grower() uint32  { return l.functions + 2 }

func (l *layout) refillType() uint32  { return uint32(len(l.params)) }
func (l *layout) chargerType() uint32 { return l.refillType() + 1 }
func (l *layout) growerType() uint32  { return l.refillType() + 2 }

// survey counts what a module has, and refuses one that uses our names.
func survey(m *module) (*layout, error) {
	l := &layout{}
	for _, read := range []struct {
		id   sectionID
		with func(*reader)
	}{
		{sectionType, l.surveyTypes},
		{sectionImport, l.surveyImports},
		{sectionFunction, l.surveyFunctions},
		{sectionMemory, func(r *reader) {
			for range r.count() {
				r.limits()
			}
		}},
	} {
		r := m.find(read.id).reader()
		read.with(r)
		if err := r.finish(); err != nil {
			return nil, err
		}
	}
	globals := m.find(sectionGlobal).reader()
	l.globals += globals.count()
	return l, globals.err
}

func (l *layout) surveyFunctions(r *reader) {
	for range r.count() {
		t := r.u32()
		if uint64(t) >= uint64(len(l.params)) {
			r.fail("a function of the unknown type %d", t)
		}
		l.types = append(l.types, t)
	}
	l.functions = l.imported + uint32(len(l.types))
}

// finish refuses what is left over, and returns the error.
func (r *reader) finish() error {
	if r.more() {
		r.fail("something after the end of a section")
	}
	return r.err
}

// The first bytes of a type.
const (
	typeFunction = 0x60
	typeGroup    = 0x4e
)

// surveyTypes counts the types. A recursive group is one entry of several types.
func (l *layout) surveyTypes(r *reader) {
	for range r.count() {
		group := uint32(1)
		kind := r.byte()
		if kind == typeGroup {
			group = r.count()
		}
		for i := range group {
			if kind == typeGroup || i > 0 {
				kind = r.byte()
			}
			if kind != typeFunction {
				r.fail("a type of the kind %#x (garbage collection)", kind)
			}
			l.params = append(l.params, r.valueTypes())
			r.valueTypes()
		}
	}
}

// The kinds of imports and exports.
const (
	kindFunction = iota
	kindTable
	kindMemory
	kindGlobal
	kindTag
)

func (l *layout) surveyImports(r *reader) {
	for range r.count() {
		if string(r.bytes(r.u32())) == ImportModule {
			r.fail("an import from %q, which is reserved,", ImportModule)
		}
		r.bytes(r.u32())
		switch kind := r.byte(); kind {
		case kindFunction:
			r.integer(maxLen32)
			l.imported++
		case kindTable:
			r.valueType()
			r.limits()
		case kindMemory:
			r.limits()
		case kindGlobal:
			r.valueType()
			r.byte()
			l.globals++
		case kindTag:
			r.byte()
			r.integer(maxLen32)
		default:
			r.fail("an import of the kind %d", kind)
		}
	}
}
