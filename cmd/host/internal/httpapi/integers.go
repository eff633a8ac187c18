package httpapi

import (
	"encoding/json"
	"reflect"
	"slices"

	"github.com/reflectory/reflectory/core"
)

// PlainIntegers writes the whole numbers of a JSON value as encoding/json reads them, where a type
// has an integer: the schema that callers get allows 5.0 and 5e0, and Go's decoder doesn't. All
// other numbers stay as they are, so that they are refused or kept by their own rules.
func PlainIntegers(data json.RawMessage, t reflect.Type) json.RawMessage {
	for t.Kind() == reflect.Pointer && !readsItself(t) {
		t = t.Elem()
	}
	if len(data) == 0 || data[0] == 'n' || readsItself(t) {
		return data
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		known, list := fieldsOf(t), core.Members(data)
		if list == nil {
			return data
		}
		for i, m := range list {
			if t.Kind() == reflect.Map {
				list[i].Value = PlainIntegers(m.Value, t.Elem())
			} else if field, ok := known[m.Key]; ok {
				list[i].Value = PlainIntegers(m.Value, field.typ)
			}
		}
		return core.JoinMembers(list)
	case reflect.Slice, reflect.Array:
		var items []json.RawMessage
		if t.Elem().Kind() == reflect.Uint8 || json.Unmarshal(data, &items) != nil {
			return data
		}
		for i, item := range items {
			items[i] = PlainIntegers(item, t.Elem())
		}
		return core.MustJSON(items)
	}
	if isInteger(t) && kindOf(data) == "a number" {
		if whole, is := core.WholeNumber(data); is {
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
