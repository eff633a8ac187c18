package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/sdk"
)

// These limits protect the process from inputs that are small to send and expensive to
// judge.
const (
	MaxOutputBytes = 8 << 20 // one plugin message
	MaxBytes       = 4 << 20 // schema and documents, each
	maxDepth       = 256     // nesting, as everywhere in Reflectory
	maxValues      = 500_000 // values in one document: about 100 MB when decoded
	// maxSubschemas limits the objects of a schema: the compiler compares each with all
	// others, and 20,000 take about a second.
	maxSubschemas  = 20_000
	maxNumberChars = 1_000 // digits of one number: exact arithmetic is expensive
	maxExponent    = 400   // just past what a float64 reaches (±308, subnormal −324)
)

// Decode decodes one JSON document with exact numbers. The reason "json_limit" means
// that the document exceeds a limit, and "json_invalid" that it isn't JSON.
func Decode(data []byte, maxBytes int) (any, error) {
	if len(data) > maxBytes {
		return nil, limit("%d bytes (limit %d)", len(data), maxBytes)
	}
	if depth, values := Measure(data); depth > maxDepth {
		return nil, limit("nested deeper than %d levels", maxDepth)
	} else if values > maxValues {
		return nil, limit("more than %d values", maxValues)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "json_invalid", "not JSON: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, sdk.Errorf(sdk.Invalid, "json_invalid", "not JSON: more text after the value")
	}
	return boundNumbers(v)
}

func limit(format string, args ...any) *sdk.Error {
	return sdk.Errorf(sdk.Invalid, "json_limit", format, args...)
}

// Measure finds the nesting and the number of values from the punctuation, before any
// memory is allocated for them.
func Measure(data []byte) (depth, values int) {
	level, values := 0, 1
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			level++
			values++
			depth = max(depth, level)
		case '}', ']':
			level--
		case ',':
			values++
		}
	}
	return depth, values
}

// boundNumbers refuses numbers whose exact form would be huge, and writes a negative
// zero as 0. The two are equal, but gojsonschema's enum and uniqueItems treat them as
// two values.
func boundNumbers(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case json.Number:
		if v[0] == '-' && isZero(v.String()) {
			return json.Number("0"), CheckNumber(v.String())
		}
		return v, CheckNumber(v.String())
	case []any:
		for i, e := range v {
			if v[i], err = boundNumbers(e); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for k, e := range v {
			if v[k], err = boundNumbers(e); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

func isZero(n string) bool {
	mantissa := strings.FieldsFunc(n, func(r rune) bool { return r == 'e' || r == 'E' })[0]
	return strings.Trim(mantissa, "-.0") == ""
}

// CheckNumber refuses a number with more digits, or a greater exponent, than may be judged.
func CheckNumber(n string) error {
	if len(n) > maxNumberChars {
		return limit("a number of %d digits (limit %d)", len(n), maxNumberChars)
	}
	i := strings.IndexAny(n, "eE")
	if i < 0 {
		return nil
	}
	if exp, err := strconv.Atoi(n[i+1:]); err != nil || exp > maxExponent || exp < -maxExponent {
		return limit("a number with an exponent beyond ±%d", maxExponent)
	}
	return nil
}

// countObjects counts the objects of a document, since each may be a subschema.
func countObjects(v any) int {
	n := 0
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			n += countObjects(e)
		}
	case map[string]any:
		n = 1
		for _, e := range v {
			n += countObjects(e)
		}
	}
	return n
}

// decodeSchema decodes a schema document. Messages call it by the parameter what.
func decodeSchema(what string, data []byte) (any, error) {
	doc, err := Decode(data, MaxBytes)
	if err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "schema_invalid", "%s: %w", what, err)
	}
	if n := countObjects(doc); n > maxSubschemas {
		return nil, sdk.Errorf(sdk.Invalid, "schema_invalid", "%s has %d subschemas (limit %d)", what, n, maxSubschemas)
	}
	return doc, nil
}

// Encode writes a value as JSON, numbers as they were written.
func Encode(v any) (json.RawMessage, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("Encode the converted output: %w", err)
	}
	return bytes.TrimSpace(buf.Bytes()), nil
}
