package jsontext

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Print is a result for people: indented by two spaces, with a final line break, and with nothing
// escaped except control characters. If each surface encoded results in its own way, the same result
// would look different on each surface.
func Print(v any) ([]byte, error) { return encode(v, "  ") }

// Line is a result for programs: as [Print], in one line.
func Line(v any) ([]byte, error) { return encode(v, "") }

// LineIn is [Line] in a buffer, which it empties first. The text is valid until the buffer is changed.
func LineIn(out *bytes.Buffer, v any) ([]byte, error) {
	out.Reset()
	return encodeIn(out, v, "")
}

func encode(v any, indent string) ([]byte, error) { return encodeIn(new(bytes.Buffer), v, indent) }

func encodeIn(out *bytes.Buffer, v any, indent string) ([]byte, error) {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return escapeSteering(out.Bytes()), nil
}

// escapeSteering replaces control characters that encoding/json doesn't escape with
// equivalent escapes.
func escapeSteering(data []byte) []byte {
	plain := true // the usual case, which is checked byte by byte
	for _, b := range data {
		if b < ' ' && b != '\n' || b >= 0x7f {
			plain = false
			break
		}
	}
	if plain || !bytes.ContainsFunc(data, steers) {
		return data
	}
	var out bytes.Buffer
	for _, r := range string(data) {
		if steers(r) {
			fmt.Fprintf(&out, "\\u%04x", r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.Bytes()
}

// steers reports whether a character controls a terminal instead of being shown: the
// control characters of ASCII and Latin-1, except the line breaks between JSON's values,
// and the characters that change the direction of text.
func steers(r rune) bool {
	return r < ' ' && r != '\n' || r >= 0x7f && r <= 0x9f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}
