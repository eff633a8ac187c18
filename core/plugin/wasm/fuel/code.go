package fuel

// code rewrites the section of function bodies, and finds which functions of
// ours it needs.
func (l *layout) code(s *section) ([]byte, error) {
	r := s.reader()
	count := r.count()
	if count != l.functions-l.imported {
		r.fail("%d bodies for %d functions", count, l.functions-l.imported)
	}
	var bodies, body []byte
	m := &meter{}
	for range count {
		src := r.part(r.u32())
		edits, err := l.body(m, src)
		if err != nil {
			return nil, err
		}
		body = l.apply(body[:0], src.data, edits)
		bodies = append(appendU32(bodies, uint32(len(body))), body...)
	}
	if err := r.finish(); err != nil {
		return nil, err
	}
	bodies = append(bodies, l.addedBodies()...)
	return append(appendU32(make([]byte, 0, maxLen32+len(bodies)), count+l.added), bodies...), nil
}

// body lists the edits of a function's body. They are valid until the next one.
func (l *layout) body(m *meter, r *reader) ([]edit, error) {
	w := &rewriter{decoder: decoder{reader: r}, l: l, edits: m.edits[:0]}
	var locals uint64
	for range w.count() {
		locals += uint64(w.u32())
		w.valueType()
	}
	m.begin(w, locals)
	for len(m.frames) > 0 && w.next() {
		l.instruction(m, w)
	}
	m.edits = w.edits
	return w.edits, w.finish()
}

// instruction lists the edits that one instruction leads to.
func (l *layout) instruction(m *meter, w *rewriter) {
	if eighths := eighthsOf(w.in.op); eighths > 0 {
		w.edits = append(w.edits, edit{at: w.in.at, end: w.in.at, kind: editBulk, n: eighths})
		l.added = max(l.added, 1)
	}
	switch shapeOf(w.in.op) {
	case shapeFunction:
		w.move(w.in.index, w.in.imm)
	case shapeGlobal:
		if w.in.index >= l.globals { // it could become the counter
			w.fail("the unknown global %d", w.in.index)
		}
	}
	if w.in.op == opMemoryGrow {
		w.edits = append(w.edits, edit{at: w.in.at, end: w.in.end, kind: editGrow})
		l.added = 2
	}
	m.step(w)
}
