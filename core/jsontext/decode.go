package jsontext

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode"

	"github.com/reflectory/reflectory/sdk"
)

// MaxDepth bounds the nesting of untrusted JSON, well below the 10,000 levels at
// which encoding/json fails.
const MaxDepth = 256

// Problem describes an error of encoding/json in JSON's terms, with keys instead of
// Go's types. It returns any other error unchanged.
func Problem(err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		return wrongType(wrong)
	case err != nil && strings.HasPrefix(err.Error(), "json: "):
		return errors.New(strings.TrimPrefix(err.Error(), "json: ")) // an unknown field has no type
	}
	return err
}

func wrongType(wrong *json.UnmarshalTypeError) error {
	key := wrong.Field
	for name, rest, found := strings.Cut(key, "."); found && unicode.IsUpper(rune(name[0])); name, rest, found = strings.Cut(key, ".") {
		key = rest // embedded structs have no key in JSON
	}
	came, isNumber := strings.CutPrefix(wrong.Value, "number ")
	if word := map[string]string{
		"number": "a number", "string": "a text", "array": "a list", "object": "an object", "bool": "true or false",
	}[came]; word != "" {
		came = word
	}
	want := "a whole number"
	switch wrong.Type.Kind() {
	case reflect.String:
		want = "a text"
	case reflect.Bool:
		want = "true or false"
	case reflect.Slice, reflect.Array:
		want = "a list"
	case reflect.Struct, reflect.Map:
		want = "an object"
	case reflect.Float64:
		want = "a number"
	}
	if isNumber && (want == "a number" || want == "a whole number" && !strings.ContainsAny(came, ".eE")) {
		return fmt.Errorf("%s is %s, which is out of range", key, came)
	}
	if key == "" {
		return fmt.Errorf("it is %s where %s must be", came, want)
	}
	return fmt.Errorf("%s has %s where %s must be", key, came, want)
}

// RepeatedKey returns the first key that a JSON object has twice, ignoring case;
// encoding/json would use the last of them. It returns "" if no key is repeated, or the
// text isn't a complete object.
func RepeatedKey(object []byte) string {
	dec := json.NewDecoder(bytes.NewReader(object))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return ""
	}
	seen := map[string]bool{}
	for dec.More() {
		token, err := dec.Token()
		key, isKey := token.(string)
		if err != nil || !isKey {
			return ""
		}
		if seen[strings.ToLower(key)] {
			return key
		}
		seen[strings.ToLower(key)] = true
		if err := dec.Decode(new(json.RawMessage)); err != nil {
			return ""
		}
	}
	return ""
}

// Decode decodes one JSON value so that integers stay exact: a number
// without fraction or exponent that fits is an int64 (or a uint64), any other a
// float64. Objects are map[string]any and arrays []any.
func Decode(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "json_invalid", "not JSON: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, sdk.Errorf(sdk.Invalid, "json_invalid", "not JSON: more text after the value")
	}
	return exactNumbers(v, 0)
}

func exactNumbers(v any, depth int) (any, error) {
	if depth > MaxDepth {
		return nil, sdk.Errorf(sdk.Invalid, "json_too_deep", "JSON is nested deeper than %d levels", MaxDepth)
	}
	var err error
	switch v := v.(type) {
	case json.Number:
		return exactNumber(v)
	case map[string]any:
		for k, e := range v {
			if v[k], err = exactNumbers(e, depth+1); err != nil {
				return nil, err
			}
		}
	case []any:
		for i, e := range v {
			if v[i], err = exactNumbers(e, depth+1); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

func exactNumber(n json.Number) (any, error) {
	if i, err := n.Int64(); err == nil {
		return i, nil
	}
	if u, err := strconv.ParseUint(n.String(), 10, 64); err == nil {
		return u, nil
	}
	f, err := n.Float64()
	if err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "json_invalid", "number %s is out of range", n)
	}
	return f, nil
}

// Kind describes the kind of a JSON value, for messages: "an object", "a text".
func Kind(raw json.RawMessage) string {
	trimmed := bytes.TrimSpace(raw)
	if len(trimmed) == 0 {
		return "nothing"
	}
	switch trimmed[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a text"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// DecodeStrict decodes one JSON object, and refuses unknown fields.
func DecodeStrict(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more after the object")
	}
	return nil
}
