package httpapi

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"

	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// PlainIntegers writes the whole numbers of a JSON value as encoding/json reads them, where a type
// has an integer: the schema that callers get allows 5.0 and 5e0, and Go's decoder doesn't. All
// other numbers stay as they are, so that they are refused or kept by their own rules.
func PlainIntegers(data json.RawMessage, t reflect.Type) json.RawMessage {
	return pruned(data, t, "", nil)
}

// pruned is PlainIntegers of the part of a value at a pointer, without the parts of the value at some
// pointers. It is nil for such a part; in a list, null takes its place.
func pruned(data json.RawMessage, t reflect.Type, at string, without map[string]bool) json.RawMessage {
	if without[at] {
		return nil
	}
	for t.Kind() == reflect.Pointer && !readsItself(t) {
		t = t.Elem()
	}
	if len(data) == 0 || data[0] == 'n' || readsItself(t) {
		return data
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		known, list := fieldsOf(t), jsontext.Members(data)
		if list == nil {
			return data
		}
		kept := list[:0]
		for _, m := range list {
			of, here := known[m.Key]
			if t.Kind() == reflect.Map {
				of.typ, here = t.Elem(), true
			}
			if here {
				m.Value = pruned(m.Value, of.typ, at+"/"+jsontext.EscapePointer(m.Key), without)
			}
			if m.Value != nil && (here || without == nil) {
				kept = append(kept, m)
			}
		}
		return jsontext.JoinMembers(kept)
	case reflect.Slice, reflect.Array:
		var items []json.RawMessage
		if t.Elem().Kind() == reflect.Uint8 || json.Unmarshal(data, &items) != nil {
			return data
		}
		for i, item := range items {
			items[i] = pruned(item, t.Elem(), at+"/"+strconv.Itoa(i), without)
		}
		return jsontext.MustEncode(items)
	}
	if isInteger(t) && kindOf(data) == "a number" {
		if whole, is := sdk.WholeNumber(data); is {
			return whole
		}
	}
	return data
}

// isInteger reports whether a type is one of Go's integers.
func isInteger(t reflect.Type) bool {
	return slices.Contains([]reflect.Kind{
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
	}, t.Kind())
}
