package jsontext

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// EscapePointer makes a name a part of a JSON pointer. Most names need no escaping, and making a
// replacer takes longer than reading a request.
func EscapePointer(name string) string {
	if !strings.ContainsAny(name, "~/") {
		return name
	}
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// InvalidText returns the offset of what decoding would replace with U+FFFD in JSON: the first
// byte that isn't UTF-8, or the first escape that is half of a surrogate pair, such as \ud800. It
// is -1 if there is neither.
func InvalidText(data []byte) int {
	bad := -1
	if !utf8.Valid(data) {
		for bad = 0; bad < len(data); {
			r, size := utf8.DecodeRune(data[bad:])
			if r == utf8.RuneError && size == 1 {
				break
			}
			bad += size
		}
		data = data[:bad]
	}
	for i := bytes.IndexByte(data, '\\'); i >= 0 && i+1 < len(data); {
		size := 2
		if high, isUnit := unit(data[i:]); isUnit {
			size = 6
			if utf16.IsSurrogate(high) {
				low, _ := unit(data[i+6:])
				if utf16.DecodeRune(high, low) == utf8.RuneError {
					return i
				}
				size = 12
			}
		}
		next := bytes.IndexByte(data[i+size:], '\\')
		if next < 0 {
			break
		}
		i += size + next
	}
	return bad
}

// unit is the UTF-16 code unit whose escape begins a text.
func unit(data []byte) (rune, bool) {
	if len(data) < 6 || data[0] != '\\' || data[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(data[2:6]), 16, 16)
	return rune(n), err == nil
}
