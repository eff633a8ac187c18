package program

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// maxValues bounds the values within an output: more than any decision says.
const maxValues = 10_000

// input makes a Go value one of CEL. Values of JSON and lists of texts need no
// reflection.
func input(v any) ref.Val {
	switch v := v.(type) {
	case nil:
		return types.NullValue
	case float64:
		return types.Double(v)
	case string:
		return types.String(v)
	case int64:
		return types.Int(v)
	case int:
		return types.Int(v)
	case bool:
		return types.Bool(v)
	case json.Number:
		return types.NewErr("a number must be decoded before a policy sees it")
	}
	return types.DefaultTypeAdapter.NativeToValue(v)
}

// native makes a value of CEL one of Go, as JSON would hold it. left bounds the
// values within it.
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
			return nil, fmt.Errorf("%v is no finite number", float64(v))
		}
		return float64(v), nil
	case types.String:
		return string(v), nil
	case types.Bytes:
		return []byte(v), nil
	case types.Null:
		return nil, nil
	case types.Timestamp:
		return v.Time.Format(time.RFC3339Nano), nil
	case types.Duration:
		return v.Duration.String(), nil
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
