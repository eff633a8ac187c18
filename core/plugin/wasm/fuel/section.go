package fuel

// rewriter reads a section and lists its edits.
type rewriter struct {
	decoder
	l     *layout
	edits []edit
}

// rewrite puts metering into a module's sections.
func (l *layout) rewrite(m *module) error {
	code, err := l.code(m.find(sectionCode)) // first, since it finds what is needed of ours
	if err != nil {
		return err
	}
	for _, s := range []struct {
		id   sectionID
		read func(w *rewriter, count uint32)
		n    uint32 // how much longer its list gets
		tail []byte
	}{
		{sectionType, (*rewriter).rest, 3, l.addedTypes()},
		{sectionImport, (*rewriter).rest, 1, l.addedImport()},
		{sectionFunction, (*rewriter).rest, l.added, l.addedFunctions()},
		{sectionTable, (*rewriter).tables, 0, nil},
		{sectionGlobal, (*rewriter).globals, 1, addedGlobal()},
		{sectionExport, (*rewriter).exports, 1, l.addedExport()},
		{sectionElement, (*rewriter).elements, 0, nil},
	} {
		body, err := l.list(m.find(s.id).reader(), s.read, s.n, s.tail)
		if err != nil {
			return err
		}
		if s.n > 0 || len(body) > 1 { // a list of nothing isn't added
			m.put(s.id, body)
		}
	}
	if l.functions > l.imported {
		m.put(sectionCode, code)
	}
	if err := l.start(m); err != nil {
		return err
	}
	dropAboutCode(m)
	l.names(m)
	return nil
}

// list rewrites a section that is one list: read rewrites its entries, and tail has n more.
func (l *layout) list(r *reader, read func(*rewriter, uint32), n uint32, tail []byte) ([]byte, error) {
	w := &rewriter{decoder: decoder{reader: r}, l: l}
	count := w.count()
	w.edits = append(w.edits, edit{end: w.pos, kind: editIndex, n: int64(count + n)})
	read(w, count)
	if err := w.finish(); err != nil {
		return nil, err
	}
	return append(l.apply(nil, r.data, w.edits, l.counter()), tail...), nil
}

// start rewrites the section that names the function to begin with.
func (l *layout) start(m *module) error {
	s := m.find(sectionStart)
	if s.base == 0 {
		return nil
	}
	w := &rewriter{decoder: decoder{reader: s.reader()}, l: l}
	w.function()
	if err := w.finish(); err != nil {
		return err
	}
	s.body = l.apply(nil, s.body, w.edits, l.counter())
	return nil
}

// rest leaves what follows as it is.
func (w *rewriter) rest(uint32) { w.pos = len(w.data) }

// function reads the index of a function, and moves it.
func (w *rewriter) function() {
	at := w.pos
	w.move(w.u32(), at)
}

// move adds the edit that gives a function its new index, if it has one. The old index
// begins at offset at.
func (w *rewriter) move(index uint32, at int) {
	switch {
	case index >= w.l.functions: // it could become one of ours
		w.fail("the unknown function %d", index)
	case index >= w.l.imported:
		w.edits = append(w.edits, edit{at: at, end: w.pos, kind: editIndex, n: int64(index) + 1})
	}
}

// expression reads a constant expression.
func (w *rewriter) expression() {
	for w.next() {
		switch shapeOf(w.in.op) {
		case shapeFunction:
			w.move(w.in.index, w.in.imm)
		case shapeBlock:
			w.fail("a block in a constant expression")
		}
		if w.in.op == opEnd {
			return
		}
	}
}
