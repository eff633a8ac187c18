package fuel

import (
	"slices"
	"strings"
)

// dropAboutCode removes the custom sections that would no longer be right for the
// rewritten code. All others are kept.
func dropAboutCode(m *module) {
	m.sections = slices.DeleteFunc(m.sections, func(s section) bool {
		return s.id == sectionCustom && aboutCode(customName(s))
	})
}

func customName(s section) string {
	r := s.reader()
	return string(r.bytes(r.u32()))
}

// aboutCode reports whether a custom section holds offsets of code, or indices
// of functions in a form that isn't moved here.
func aboutCode(name string) bool {
	switch name {
	case "linking", "sourceMappingURL", "external_debug_info":
		return true
	}
	return strings.HasPrefix(name, ".debug_") || strings.HasPrefix(name, "reloc.") || strings.HasPrefix(name, "metadata.code.")
}

// names renumbers the functions in the name section, or removes the section if it can't
// be read: only people need it.
func (l *layout) names(m *module) {
	at := slices.IndexFunc(m.sections, func(s section) bool { return s.id == sectionCustom && customName(s) == "name" })
	if at < 0 {
		return
	}
	body, err := l.rename(m.sections[at])
	if err != nil {
		m.sections = slices.Delete(m.sections, at, at+1)
		return
	}
	m.sections[at].body = body
}

// The parts of the name section that are lists by function.
const (
	namesOfFunctions = 1
	namesOfLocals    = 2
	namesOfLabels    = 3
)

func (l *layout) rename(s section) ([]byte, error) {
	r := s.reader()
	out := appendName(nil, string(r.bytes(r.u32())))
	for r.more() {
		id := r.byte()
		part := r.part(r.u32())
		body, err := part.data, part.err
		switch id {
		case namesOfFunctions:
			body, err = l.list(part, (*rewriter).functionNames, 0, nil)
		case namesOfLocals, namesOfLabels:
			body, err = l.list(part, (*rewriter).innerNames, 0, nil)
		}
		if err != nil {
			return nil, err
		}
		out = append(appendU32(append(out, id), uint32(len(body))), body...)
	}
	return out, r.err
}

func (w *rewriter) functionNames(count uint32) {
	for range count {
		w.function()
		w.bytes(w.u32())
	}
}

// innerNames are the names of things inside functions.
func (w *rewriter) innerNames(count uint32) {
	for range count {
		w.function()
		for range w.count() {
			w.integer(maxLen32)
			w.bytes(w.u32())
		}
	}
}
