package httpapi

import (
	"reflect"
	"strings"
	"sync"
)

// fieldType is a field of a request by its JSON name.
type fieldType struct {
	index []int
	typ   reflect.Type
}

// fieldsOf are the fields that encoding/json has for a struct. They include the fields of
// embedded structs, except names that the struct itself has.
func fieldsOf(t reflect.Type) map[string]fieldType {
	if known, is := fieldsKnown.Load(t); is {
		return known.(map[string]fieldType)
	}
	found := readFields(t)
	fieldsKnown.Store(t, found)
	return found
}

// fieldsKnown has the fields of the types that requests are read into, which every request needs.
var fieldsKnown sync.Map // of map[string]fieldType by reflect.Type

func readFields(t reflect.Type) map[string]fieldType {
	found, depth := map[string]fieldType{}, map[string]int{}
	var collect func(t reflect.Type, index []int)
	collect = func(t reflect.Type, index []int) {
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			at := append(append([]int(nil), index...), i)
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			switch {
			case name == "-":
			case f.Anonymous && name == "" && inner.Kind() == reflect.Struct:
				collect(inner, at)
			case f.IsExported():
				if name == "" {
					name = f.Name
				}
				if d, there := depth[name]; !there || len(at) < d {
					found[name], depth[name] = fieldType{at, f.Type}, len(at)
				}
			}
		}
	}
	if t.Kind() == reflect.Struct {
		collect(t, nil)
	}
	return found
}

// fieldAt is a field of a struct, whose embedded pointers are made if they are nil.
func fieldAt(v reflect.Value, index []int) reflect.Value {
	for _, i := range index {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	return v
}
