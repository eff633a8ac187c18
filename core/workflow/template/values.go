package template

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

func sortedKeys(object map[string]any) []string { return slices.Sorted(maps.Keys(object)) }

func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "text"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return "a number"
}

// literal writes a key for messages.
func literal(key any) string {
	switch key := key.(type) {
	case string:
		return strconv.Quote(key[:min(len(key), 100)])
	case int64:
		return strconv.FormatInt(key, 10)
	}
	return "…"
}

// truthy is false for null, false, 0, and empty values.
func truthy(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	n, ok := number(v)
	return !ok || n.Sign() != 0
}

// number returns a number exactly. NaN and infinities don't occur in JSON, and arithmetic
// doesn't produce them.
func number(v any) (*big.Float, bool) {
	const bits = 128 // holds every int64, uint64 and float64 that compare unequal
	switch v := v.(type) {
	case int64:
		return new(big.Float).SetPrec(bits).SetInt64(v), true
	case uint64:
		return new(big.Float).SetPrec(bits).SetUint64(v), true
	case float64:
		return new(big.Float).SetPrec(bits).SetFloat64(v), true
	}
	return nil, false
}

func toFloat(v any) (float64, bool) {
	n, ok := number(v)
	if !ok {
		return 0, false
	}
	f, _ := n.Float64()
	return f, true
}

func compare(a, b any) (int, error) {
	if x, ok := a.(string); ok {
		if y, ok := b.(string); ok {
			return strings.Compare(x, y), nil
		}
	}
	x, okX := number(a)
	y, okY := number(b)
	if okX && okY {
		return x.Cmp(y), nil
	}
	return 0, failed("%s and %s have no order", typeName(a), typeName(b))
}

func (r *render) equal(a, b any, depth int) (bool, error) {
	if err := r.spend(1); err != nil {
		return false, err
	}
	if depth > maxValueDepth {
		return false, failed("the values are nested too deeply to compare")
	}
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false, nil
		}
		for i := range a {
			if same, err := r.equal(a[i], b[i], depth+1); !same || err != nil {
				return false, err
			}
		}
		return true, nil
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false, nil
		}
		return r.equalObjects(a, b, depth)
	case nil, bool:
		return a == b, nil
	case string:
		b, ok := b.(string)
		return ok && a == b, r.spend(len(a) / 64)
	}
	order, err := compare(a, b)
	return err == nil && order == 0, nil
}

// equalObjects compares two objects of the same size.
func (r *render) equalObjects(a, b map[string]any, depth int) (bool, error) {
	for k := range a {
		other, ok := b[k]
		if !ok {
			return false, nil
		}
		if same, err := r.equal(a[k], other, depth+1); !same || err != nil {
			return false, err
		}
		if err := r.read(k); err != nil {
			return false, err
		}
	}
	return true, nil
}

// show writes a value as text: a string unchanged, anything else as JSON.
func (r *render) show(v any) (string, error) {
	if text, ok := v.(string); ok {
		return text, nil
	}
	data, err := r.encode(nil, v, 0)
	return string(data), err
}

// encode appends a value's compact JSON, with sorted keys and without HTML
// escapes.
func (r *render) encode(out []byte, v any, depth int) ([]byte, error) {
	if depth > maxValueDepth {
		return nil, failed("the value is nested deeper than %d levels", maxValueDepth)
	}
	if len(out) > MaxOutput {
		return nil, tooLong()
	}
	if err := r.spend(1); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case undefined:
		return nil, v.err()
	case string:
		return appendString(out, v), r.spend(len(v) / 64)
	case []any:
		return r.encodeList(out, v, depth)
	case map[string]any:
		return r.encodeObject(out, v, depth)
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil, failed("a value can't be written as JSON: %w", err)
	}
	return append(out, data...), nil
}

func (r *render) encodeList(out []byte, list []any, depth int) (_ []byte, err error) {
	out = append(out, '[')
	for i, e := range list {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = r.encode(out, e, depth+1); err != nil {
			return nil, err
		}
	}
	return append(out, ']'), nil
}

func (r *render) encodeObject(out []byte, object map[string]any, depth int) (_ []byte, err error) {
	out = append(out, '{')
	for i, k := range sortedKeys(object) {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(appendString(out, k), ':')
		if out, err = r.encode(out, object[k], depth+1); err != nil {
			return nil, err
		}
	}
	return append(out, '}'), nil
}

func appendString(out []byte, s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return append(out, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}
