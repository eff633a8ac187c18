package fuel

// maxLocals is the limit that the JavaScript API for WebAssembly recommends.
const maxLocals = 50_000

// code rewrites the section of function bodies, and finds which functions of
// ours it needs.
func (l *layout) code(s *section) ([]byte, error) {
	r := s.reader()
	count := r.count()
	if int(count) != len(l.types) {
		r.fail("%d bodies for %d functions", count, len(l.types))
	}
	var bodies, body []byte
	m := &meter{}
	for _, t := range l.types {
		src := r.part(r.u32())
		c, err := l.body(m, src, l.params[t])
		if err != nil {
			return nil, err
		}
		body = l.apply(body[:0], src.data, m.edits, c)
		bodies = append(appendU32(bodies, uint32(len(body))), body...)
	}
	if err := r.finish(); err != nil {
		return nil, err
	}
	bodies = append(bodies, l.addedBodies()...)
	return append(appendU32(make([]byte, 0, maxLen32+len(bodies)), count+l.added), bodies...), nil
}

// body lists the edits of a function's body in the meter, and reports where the
// function counts.
func (l *layout) body(m *meter, r *reader, params uint32) (counter, error) {
	w := &rewriter{decoder: decoder{reader: r}, l: l, edits: m.edits[:0]}
	groups := w.count()
	w.edits = append(w.edits, edit{end: w.pos, kind: editIndex, n: int64(groups) + 1})
	var locals uint64
	for range groups {
		locals += uint64(w.u32())
		w.valueType()
	}
	if locals > maxLocals {
		w.fail("a function of %d locals", locals)
	}
	w.edits = append(w.edits, edit{at: w.pos, end: w.pos, kind: editLocal})
	m.begin(w, locals)
	for len(m.frames) > 0 && w.next() {
		l.instruction(m, w)
	}
	m.edits = w.edits
	c := l.counter()
	c.cached, c.local = true, params+uint32(locals)
	return c, w.finish()
}

// instruction lists the edits that one instruction leads to.
func (l *layout) instruction(m *meter, w *rewriter) {
	in := &w.in
	if eighths := eighthsOf(in.op); eighths > 0 {
		w.edits = append(w.edits, edit{at: in.at, end: in.at, kind: editBulk, n: eighths}, edit{at: in.at, end: in.at, kind: editReload})
		l.added = max(l.added, 1)
	}
	switch shapeOf(in.op) {
	case shapeFunction:
		w.move(in.index, in.imm)
	case shapeGlobal:
		if in.index >= l.globals { // it could become the counter
			w.fail("the unknown global %d", in.index)
		}
	}
	switch in.op {
	case opMemoryGrow:
		w.edits = append(w.edits, edit{at: in.at, end: in.end, kind: editGrow}, edit{at: in.end, end: in.end, kind: editReload})
		l.added = 2
	case opCall, opCallIndirect, opCallRef:
		w.edits = append(w.edits, edit{at: in.end, end: in.end, kind: editReload})
	}
	m.step(w)
}
