// Package codec decodes JSON in one pass. A get, a page of a list, a check and the load of a
// namespace spend most of their time decoding, and encoding/json takes several times as long.
//
// It is internal to Reflectory: its API may change in any release.
package codec

import (
	"bytes"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// stored leaves out what takes as long as all else: looking for names that are there twice, and
// for text that isn't UTF-8.
var stored = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// Decode decodes a stored value, as the output of [github.com/reflectory/reflectory/jsontext.Encode],
// into v, a pointer. Names of members are compared exactly.
func Decode(value []byte, v any) error { return json.Unmarshal(value, v, stored) }

// DecodeExact decodes JSON from outside into v, a pointer to a zero value. It refuses an unknown or a
// repeated name, text that isn't UTF-8, half of a surrogate pair and a value of another type, but takes
// null as the zero value of each type. Its errors are for programs: to tell a caller what is wrong, the
// JSON has to be read by other means. After an error, v may be partly filled.
func DecodeExact(value []byte, v any) error {
	return json.Unmarshal(value, v, json.RejectUnknownMembers(true))
}

// Plain reports whether data is one JSON value that decoding doesn't change: of UTF-8, nested at most so deep, without a
// name that an object has twice and without half of a surrogate pair. It doesn't say what is wrong with any other.
func Plain(data []byte, depth int) bool {
	d := jsontext.NewDecoder(bytes.NewReader(data))
	for values := 0; ; {
		_, err := d.ReadToken()
		if err != nil {
			return err == io.EOF && values == 1 //nolint:errorlint // it is returned as it is
		}
		if d.StackDepth() > depth {
			return false
		}
		if d.StackDepth() == 0 {
			values++
		}
	}
}
