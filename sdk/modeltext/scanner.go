package modeltext

import (
	"fmt"
	"strconv"
	"strings"
)

// scanner recognises JSON values (RFC 8259) in a text and reads each byte once.
type scanner struct {
	text string
	pos  int
	// members counts the object members whose name and colon were read in the current
	// value: a text that got this far was meant as JSON.
	members int
}

// seek moves to the next of the given bytes and starts a new value there.
func (s *scanner) seek(any string) bool {
	i := strings.IndexAny(s.text[s.pos:], any)
	if i < 0 {
		s.pos = len(s.text)
		return false
	}
	s.pos += i
	s.members = 0
	return true
}

func (s *scanner) fault(text string) *fault {
	return &fault{reason: reasonInvalid, pos: s.pos, text: text}
}

// unexpected is a fault for a byte that isn't what was expected. A text may contain
// millions of false starts, so the message is made only for the one that is reported.
func (s *scanner) unexpected(wanted string) *fault {
	return &fault{reason: reasonInvalid, pos: s.pos, wanted: wanted}
}

func (s *scanner) space() {
	for s.pos < len(s.text) && strings.IndexByte(" \t\r\n", s.text[s.pos]) >= 0 {
		s.pos++
	}
}

// accept moves past c if it is next.
func (s *scanner) accept(c byte) bool {
	if s.pos < len(s.text) && s.text[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

func (s *scanner) value(depth int) *fault {
	if depth > MaxDepth {
		return &fault{reason: reasonTooDeep, pos: s.pos, text: fmt.Sprintf("nested deeper than %d levels", MaxDepth)}
	}
	if s.pos >= len(s.text) {
		return s.unexpected("a JSON value")
	}
	switch c := s.text[s.pos]; {
	case c == '{':
		return s.object(depth)
	case c == '[':
		return s.array(depth)
	case c == '"':
		return s.str()
	case c == '-' || c >= '0' && c <= '9':
		return s.number()
	}
	for _, word := range []string{"true", "false", "null"} {
		if strings.HasPrefix(s.text[s.pos:], word) {
			s.pos += len(word)
			return nil
		}
	}
	return s.unexpected("a JSON value")
}

func (s *scanner) object(depth int) *fault {
	s.pos++
	if s.space(); s.accept('}') {
		return nil
	}
	for {
		s.space()
		if s.pos >= len(s.text) || s.text[s.pos] != '"' {
			return s.unexpected("a member name in double quotes")
		}
		if err := s.str(); err != nil {
			return err
		}
		if s.space(); !s.accept(':') {
			return s.unexpected("':'")
		}
		s.members++
		s.space()
		if err := s.value(depth + 1); err != nil {
			return err
		}
		switch s.space(); {
		case s.accept('}'):
			return nil
		case !s.accept(','):
			return s.unexpected("',' or '}'")
		}
	}
}

func (s *scanner) array(depth int) *fault {
	s.pos++
	if s.space(); s.accept(']') {
		return nil
	}
	for {
		s.space()
		if err := s.value(depth + 1); err != nil {
			return err
		}
		switch s.space(); {
		case s.accept(']'):
			return nil
		case !s.accept(','):
			return s.unexpected("',' or ']'")
		}
	}
}

func (s *scanner) str() *fault {
	s.pos++
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; {
		case c == '"':
			s.pos++
			return nil
		case c == '\\':
			if err := s.escape(); err != nil {
				return err
			}
		case c < 0x20:
			return s.fault(fmt.Sprintf("a string holds the raw control character %q; escape it", c))
		default:
			s.pos++
		}
	}
	return s.unexpected("the end of a string")
}

func (s *scanner) escape() *fault {
	s.pos++
	if s.pos >= len(s.text) || strings.IndexByte(`"\/bfnrtu`, s.text[s.pos]) < 0 {
		return s.unexpected(`an escape (one of "\/bfnrtu)`)
	}
	hex := s.text[s.pos] == 'u'
	s.pos++
	if !hex {
		return nil
	}
	for range 4 {
		if s.pos >= len(s.text) || strings.IndexByte("0123456789abcdefABCDEF", s.text[s.pos]) < 0 {
			return s.unexpected("a hexadecimal digit")
		}
		s.pos++
	}
	return nil
}

// maxPlain is the longest number, in bytes, that is in range if it has no exponent: the
// largest float64 has 309 digits.
const maxPlain = 300

// number scans a number. One that no float64 holds is a fault: JSON allows it, but no
// program reads it.
func (s *scanner) number() *fault {
	start := s.pos
	exponent, err := s.figures()
	if err != nil {
		return err
	}
	number := s.text[start:s.pos]
	if exponent || len(number) > maxPlain {
		if _, err := strconv.ParseFloat(number, 64); err != nil {
			return &fault{reason: reasonInvalid, pos: start, text: "the number " + number[:min(len(number), 20)] + " is out of range"}
		}
	}
	return nil
}

// figures scans the characters of a number, and reports whether it has an exponent.
func (s *scanner) figures() (exponent bool, err *fault) {
	s.accept('-')
	if !s.accept('0') {
		if err := s.digits(); err != nil {
			return false, err
		}
	}
	if s.accept('.') {
		if err := s.digits(); err != nil {
			return false, err
		}
	}
	if s.accept('e') || s.accept('E') {
		if !s.accept('+') {
			s.accept('-')
		}
		return true, s.digits()
	}
	return false, nil
}

func (s *scanner) digits() *fault {
	start := s.pos
	for s.pos < len(s.text) && s.text[s.pos] >= '0' && s.text[s.pos] <= '9' {
		s.pos++
	}
	if s.pos == start {
		return s.unexpected("a digit")
	}
	return nil
}
