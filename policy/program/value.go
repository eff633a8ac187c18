package program

import (
	"fmt"
	"math"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// maxValues bounds the number of values within an output: more than any decision needs.
const maxValues = 10_000

// Value is an input's value. A double is only converted to a CEL value when that is
// needed: formulas read the number.
type Value struct {
	v        ref.Val
	number   float64
	isDouble bool
}

// Double is a number.
func Double(x float64) Value { return Value{number: x, isDouble: true} }

// Int is a whole number.
func Int(x int64) Value { return Value{v: types.Int(x)} }

// Text is a text.
func Text(x string) Value { return Value{v: types.String(x)} }

// Bool is true or false.
func Bool(x bool) Value { return Value{v: types.Bool(x)} }

// Any is a value as encoding/json and jsontext.Decode make it, or a []string. It
// isn't copied: it must not change while a policy runs.
func Any(x any) Value { return Value{v: types.DefaultTypeAdapter.NativeToValue(x)} }

// val is the value; null if it wasn't set.
func (v Value) val() ref.Val {
	switch {
	case v.isDouble:
		return types.Double(v.number)
	case v.v == nil:
		return types.NullValue
	}
	return v.v
}

// Go is the value as JSON; nil if it is larger than records keep.
func (v Value) Go() any {
	left := maxValues
	x, err := native(v.val(), &left)
	if err != nil {
		return nil
	}
	return x
}

// native converts a CEL value to a Go value, as in JSON. left bounds the number of values
// within it.
func native(v ref.Val, left *int) (any, error) {
	if *left--; *left < 0 {
		return nil, fmt.Errorf("the value holds more than %d values", maxValues)
	}
	switch v := v.(type) {
	case types.Bool:
		return bool(v), nil
	case types.Int:
		return int64(v), nil
	case types.Uint:
		return uint64(v), nil
	case types.Double:
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return nil, fmt.Errorf("%v isn't a finite number", float64(v))
		}
		return float64(v), nil
	case types.String:
		return string(v), nil
	case types.Bytes:
		return []byte(v), nil
	case types.Null:
		return nil, nil
	case types.Timestamp:
		return v.Format(time.RFC3339Nano), nil
	case types.Duration:
		return v.String(), nil
	case *types.Optional:
		if !v.HasValue() {
			return nil, nil
		}
		return native(v.GetValue(), left)
	case *types.Err:
		return nil, v
	case traits.Mapper:
		return nativeMap(v, left)
	case traits.Lister:
		return nativeList(v, left)
	}
	return nil, fmt.Errorf("a value of type %s can't be an output", v.Type().TypeName())
}

func nativeList(v traits.Lister, left *int) (any, error) {
	list := []any{}
	for it := v.Iterator(); it.HasNext() == types.True; {
		item, err := native(it.Next(), left)
		if err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	return list, nil
}

func nativeMap(v traits.Mapper, left *int) (any, error) {
	object := map[string]any{}
	for it := v.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		value, err := native(v.Get(key), left)
		if err != nil {
			return nil, err
		}
		object[fmt.Sprint(key.Value())] = value
	}
	return object, nil
}

// scalar is a single value as a Go value; nil if it has no such form.
func scalar(v ref.Val) any {
	left := 1
	x, err := native(v, &left)
	if err != nil {
		return nil
	}
	return x
}
