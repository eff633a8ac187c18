package core

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
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

// MaxJSONDepth bounds the nesting of untrusted JSON, well below the 10,000 levels at
// which encoding/json fails.
const MaxJSONDepth = 256

// JSONProblem describes an error of encoding/json in JSON's terms, with keys instead of
// Go's types. It returns any other error unchanged.
func JSONProblem(err error) error {
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

// DecodeJSON decodes one JSON value so that integers stay exact: a number
// without fraction or exponent that fits is an int64 (or a uint64), any other a
// float64. Objects are map[string]any and arrays []any.
func DecodeJSON(data []byte) (any, error) {
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
	if depth > MaxJSONDepth {
		return nil, sdk.Errorf(sdk.Invalid, "json_too_deep", "JSON is nested deeper than %d levels", MaxJSONDepth)
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

// JSONKind describes the kind of a JSON value, for messages: "an object", "a text".
func JSONKind(raw json.RawMessage) string {
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

// Digest is the SHA-256 of data, as "sha256:" and hexadecimal digits.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// EncodeJSON encodes a value without escaping <, > and &: nothing here is put into a web
// page unescaped, and people read it.
func EncodeJSON(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// MustJSON encodes a value that can't fail to encode, such as a struct of ours.
func MustJSON(v any) json.RawMessage {
	data, err := EncodeJSON(v)
	if err != nil {
		panic(fmt.Sprintf("core.MustJSON(%T): %v", v, err))
	}
	return data
}

// Member is one member of a JSON object.
type Member struct {
	Key   string
	Value json.RawMessage
}

// Members splits a JSON object and keeps its order. It returns none if the value isn't one
// object.
func Members(object json.RawMessage) []Member {
	dec := json.NewDecoder(bytes.NewReader(object))
	if start, err := dec.Token(); err != nil || start != json.Delim('{') {
		return nil
	}
	var list []Member
	for dec.More() {
		var m Member
		key, err := dec.Token()
		if err != nil || dec.Decode(&m.Value) != nil {
			return nil
		}
		m.Key, _ = key.(string)
		list = append(list, m)
	}
	if _, err := dec.Token(); err != nil {
		return nil
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil // more than one value
	}
	return list
}

// JoinMembers makes a JSON object from members, in their order. Their values are used
// unchanged; an empty one is null.
func JoinMembers(list []Member) json.RawMessage {
	size := 2
	for _, m := range list {
		size += len(m.Key) + len(m.Value) + 4
	}
	out := append(make([]byte, 0, size), '{')
	for i, m := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, MustJSON(m.Key)...), ':')
		if len(m.Value) == 0 {
			out = append(out, "null"...)
		}
		out = append(out, m.Value...)
	}
	return append(out, '}')
}

// ErrorInfo is an error as JSON shows it.
type ErrorInfo struct {
	// Code is the error's Reason, else its class.
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	// Try is the operation that follows Hint.
	Try     *sdk.Action    `json:"try,omitempty"`
	Details map[string]any `json:"details,omitempty"`
}

// NewErrorInfo describes err; nil gives nil.
func NewErrorInfo(err error) *ErrorInfo {
	if err == nil {
		return nil
	}
	e := sdk.AsError(err)
	return &ErrorInfo{Code: sdk.ReasonOf(err), Message: err.Error(), Hint: e.Hint, Try: e.Try, Details: e.Details}
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

// WholeNumber is a JSON number in the form that Go reads as an integer, such as 5 for 5.0, 5e0 and
// 50e-1; false if it isn't whole, or has more than 20 digits. JSON Schema has no other integers.
func WholeNumber(number []byte) (json.RawMessage, bool) {
	text, negative := strings.CutPrefix(string(number), "-")
	mantissa, power, _ := strings.Cut(strings.ToLower(text), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	point := 0
	if power != "" {
		n, err := strconv.Atoi(power)
		if err != nil || n > 1000 || n < -1000 {
			return nil, false
		}
		point = n
	}
	digits := strings.TrimLeft(whole+fraction, "0")
	point -= len(fraction)
	for strings.HasSuffix(digits, "0") {
		digits, point = digits[:len(digits)-1], point+1
	}
	switch {
	case digits == "":
		return json.RawMessage("0"), true
	case point < 0 || len(digits)+point > 20 || strings.Trim(digits, "0123456789") != "":
		return nil, false
	case negative:
		digits = "-" + digits
	}
	return json.RawMessage(digits + strings.Repeat("0", point)), true
}
