package gateway

import "bytes"

// event is one event of a stream, with its bytes.
type event struct {
	raw  []byte
	name string
	// data are the data lines, joined by a line break; nil if there are none.
	data []byte
}

// splitter splits a stream into events. Lines end with LF, CRLF or CR. Each byte belongs to one event, and
// is looked at once, however the stream arrives.
type splitter struct {
	raw  []byte
	line int // where the current line begins
	seen int // what was looked at
	cr   bool
	name string
	data []byte
}

// add takes what arrived and calls each for every event that ends in it.
func (s *splitter) add(p []byte, each func(event) error) error {
	s.raw = append(s.raw, p...)
	for s.seen < len(s.raw) {
		c := s.raw[s.seen]
		s.seen++
		if c == '\n' && s.cr { // the other half of a CRLF
			s.cr, s.line = false, s.seen
			continue
		}
		s.cr = c == '\r'
		if c != '\n' && c != '\r' {
			i := bytes.IndexAny(s.raw[s.seen:], "\r\n")
			if i < 0 {
				i = len(s.raw) - s.seen
			}
			s.seen += i
			continue
		}
		line := s.raw[s.line : s.seen-1]
		s.line = s.seen
		if len(line) > 0 {
			s.field(line)
			continue
		}
		if s.cr && s.seen < len(s.raw) && s.raw[s.seen] == '\n' {
			s.seen++
			s.cr = false
		}
		if err := each(s.cut()); err != nil {
			return err
		}
	}
	return nil
}

// rest is what came after the last whole event, as an event.
func (s *splitter) rest() (event, bool) {
	if len(s.raw) == 0 {
		return event{}, false
	}
	if s.line < len(s.raw) {
		s.field(s.raw[s.line:])
	}
	s.seen = len(s.raw)
	return s.cut(), true
}

// cut ends the current event where it was looked at last.
func (s *splitter) cut() event {
	e := event{raw: s.raw[:s.seen:s.seen], name: s.name, data: s.data}
	s.raw, s.line, s.seen, s.name, s.data = s.raw[s.seen:], 0, 0, "", nil
	return e
}

func (s *splitter) field(line []byte) {
	line = bytes.TrimPrefix(line, []byte("\ufeff"))
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "event":
		s.name = string(value)
	case "data":
		if s.data != nil {
			s.data = append(s.data, '\n')
		}
		s.data = append(s.data, value...)
		if s.data == nil {
			s.data = []byte{}
		}
	}
}

// sent is an event as it is sent.
func sent(name string, data []byte) []byte {
	var out []byte
	if name != "" {
		out = append(append(append(out, "event: "...), name...), '\n')
	}
	return append(append(append(out, "data: "...), data...), "\n\n"...)
}
