package fuel

import (
	"bytes"
	"slices"
)

// preamble is the magic number and the version of the binary format.
var preamble = []byte("\x00asm\x01\x00\x00\x00")

// sectionID is the first byte of a section.
type sectionID byte

const (
	sectionCustom sectionID = iota
	sectionType
	sectionImport
	sectionFunction
	sectionTable
	sectionMemory
	sectionGlobal
	sectionExport
	sectionStart
	sectionElement
	sectionCode
	sectionData
	sectionDataCount
	sectionTag
)

// rank is the section's place in a module: the later proposals' ids aren't in
// the order of their places. Custom sections, of rank 0, stand anywhere.
func (id sectionID) rank() int {
	return bytes.IndexByte([]byte{
		byte(sectionCustom), byte(sectionType), byte(sectionImport), byte(sectionFunction), byte(sectionTable),
		byte(sectionMemory), byte(sectionTag), byte(sectionGlobal), byte(sectionExport), byte(sectionStart),
		byte(sectionElement), byte(sectionDataCount), byte(sectionCode), byte(sectionData),
	}, byte(id))
}

// section is a part of a module.
type section struct {
	id   sectionID
	body []byte
	base int // where body begins in the module
}

func (s *section) reader() *reader { return &reader{data: s.body, base: s.base} }

// module is a module as its sections, in order.
type module struct {
	sections []section
}

// split finds a module's sections. Their bodies stay part of the input.
func split(data []byte) (*module, error) {
	if !bytes.HasPrefix(data, preamble) {
		return nil, unsupported(0, "something else than a core module of version 1")
	}
	m := &module{}
	r := &reader{data: data, pos: len(preamble)}
	last := 0
	for r.more() {
		id := sectionID(r.byte())
		rank := id.rank()
		switch {
		case rank < 0:
			r.fail("a section of the unknown kind %d", id)
		case rank > 0 && rank <= last:
			r.fail("a section of kind %d out of order", id)
		}
		last = max(last, rank)
		body := r.part(r.u32())
		m.sections = append(m.sections, section{id: id, body: body.data, base: body.base})
	}
	return m, r.err
}

// find returns the module's section of that kind, with an empty list as its body
// if there is none. It doesn't find custom sections.
func (m *module) find(id sectionID) *section {
	at := slices.IndexFunc(m.sections, func(s section) bool { return s.id == id })
	if at < 0 {
		return &section{id: id, body: []byte{0}}
	}
	return &m.sections[at]
}

// put sets the body of the module's section of that kind, and adds the section
// at its place if there is none.
func (m *module) put(id sectionID, body []byte) {
	at := slices.IndexFunc(m.sections, func(s section) bool { return s.id == id })
	if at < 0 {
		at = slices.IndexFunc(m.sections, func(s section) bool { return s.id.rank() > id.rank() })
		if at < 0 {
			at = len(m.sections)
		}
		m.sections = slices.Insert(m.sections, at, section{id: id})
	}
	m.sections[at].body = body
}

// join is the module as bytes.
func (m *module) join() []byte {
	size := len(preamble)
	for _, s := range m.sections {
		size += 1 + maxLen32 + len(s.body)
	}
	out := append(make([]byte, 0, size), preamble...)
	for _, s := range m.sections {
		out = appendU32(append(out, byte(s.id)), uint32(len(s.body)))
		out = append(out, s.body...)
	}
	return out
}
