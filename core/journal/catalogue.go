package journal

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"
)

// EventInfo describes a type of events.
type EventInfo struct {
	// Type is its stable name, as in [Entry.Type].
	Type   string      `json:"type"`
	Fields []FieldInfo `json:"fields"`
}

// FieldInfo is a field of an event's JSON.
type FieldInfo struct {
	Name string `json:"name"`
	// Kind is text, number, whole, bool, list, object or any.
	Kind string `json:"kind"`
	// Optional is whether it may be missing.
	Optional bool `json:"optional,omitempty"`
}

// events has one event of each type. Each part lists its own.
func events() []Event {
	return slices.Concat(
		rootEvents(), runEvents(), governanceEvents(), memoryEvents(), lifecycleEvents(), evidenceEvents(), recallEvents(), sessionEvents(),
		policyEvents(), injectionEvents(), jobEvents(), recordEvents(), segmentEvents(), accessEvents(), dreamEvents(), pluginEvents(), movedEvents(),
	)
}

// Catalogue lists all types of events, by name.
func Catalogue() []EventInfo {
	var list []EventInfo
	for _, e := range events() {
		list = append(list, EventInfo{e.eventType(), fieldsOf(reflect.TypeOf(e))})
	}
	slices.SortFunc(list, func(a, b EventInfo) int { return strings.Compare(a.Type, b.Type) })
	return list
}

// fieldsOf lists the fields of a struct as they are in JSON.
func fieldsOf(t reflect.Type) []FieldInfo {
	fields := []FieldInfo{}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			fields = append(fields, fieldsOf(f.Type)...)
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		fields = append(fields, FieldInfo{name, kindOf(f.Type), strings.Contains(options, "omit")})
	}
	return fields
}

func kindOf(t reflect.Type) string {
	if t == reflect.TypeFor[json.RawMessage]() {
		return "any"
	}
	if t == reflect.TypeFor[time.Time]() {
		return "text"
	}
	switch t.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "bool"
	case reflect.Float64:
		return "number"
	case reflect.Slice:
		return "list"
	case reflect.Map, reflect.Struct:
		return "object"
	case reflect.Pointer:
		return kindOf(t.Elem())
	}
	return "whole"
}
