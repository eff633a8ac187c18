package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// A request's JSON is read three times. First, it is checked as text: it must be JSON in
// UTF-8, not too deep, and without repeated names, since encoding/json would silently use the
// last one, and replace what isn't UTF-8. Then it is compared with the type of the request, so
// that all unknown fields and all values of a wrong type are reported at once, with their
// places; encoding/json would stop at the first. Finally, it is decoded, and types that read their own JSON can refuse it.

// decodeBody fills a request, a pointer to a struct, from JSON. taken are the fields that
// the path has.
func decodeBody(data []byte, in any, taken []string) error {
	if err := checkText(data); err != nil {
		return err
	}
	var faults faults
	data = bytes.TrimSpace(data)
	faults.check(data, reflect.TypeOf(in).Elem(), "", taken)
	if err := faults.err(); err != nil {
		return err
	}
	err := json.Unmarshal(data, in)
	if wrong := new(json.UnmarshalTypeError); errors.As(err, &wrong) { // an integer that is written as 5.0
		reflect.ValueOf(in).Elem().SetZero()
		err = json.Unmarshal(PlainIntegers(data, reflect.TypeOf(in)), in)
	}
	if err != nil {
		var known *sdk.Error
		if errors.As(err, &known) {
			return known
		}
		return sdk.Errorf(sdk.Invalid, "request_invalid", "the request: %w", core.JSONProblem(err))
	}
	return nil
}

// checkText refuses a text that isn't a JSON object, or that decoding would change.
func checkText(data []byte) error {
	err := core.CheckJSON(data, "the body", MaxJSONDepth)
	if err == nil && bytes.TrimLeft(data, " \t\r\n")[0] != '{' {
		err = sdk.Errorf(sdk.Invalid, "json_invalid", "the body is not a JSON object")
	}
	if err == nil {
		return nil
	}
	return sdk.AsError(err).WithHint("send one JSON object, in UTF-8")
}

// faults are what is wrong with a request, each with its place.
type faults []error

// maxFaults is how many faults are reported, after which a request isn't looked at further: one
// with more has a different problem, and a body of a MiB has room for 200,000 unknown fields.
const maxFaults = 64

// full reports whether no further fault is reported.
func (f *faults) full() bool { return len(*f) >= maxFaults }

// err is all of them in one error, or nil.
func (f faults) err() error { return core.JoinErrors(f...) }

func (f *faults) add(reason, pointer, format string, args ...any) {
	if !f.full() {
		*f = append(*f, fault(reason, pointer, format, args...))
	}
}

// fault is one thing that is wrong. Its message begins with its place.
func fault(reason, pointer, format string, args ...any) *sdk.Error {
	message := fmt.Sprintf(format, args...)
	if at := strings.TrimPrefix(pointer, "/"); at != "" {
		message = at + " " + message
	}
	return sdk.Errorf(sdk.Invalid, reason, "%s", message).WithDetail("pointer", pointer)
}

// check compares a value with the type of its field.
func (f *faults) check(data json.RawMessage, t reflect.Type, pointer string, taken []string) {
	nullable := t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map
	for t.Kind() == reflect.Pointer && !readsItself(t) {
		t = t.Elem()
	}
	came := kindOf(data)
	if came == "null" && nullable || readsItself(t) || t.Kind() == reflect.Interface {
		return
	}
	want := wordOf(t)
	if came != want && !(want == "a whole number" && came == "a number") {
		f.add("field_type_invalid", pointer, "is %s where %s must be", came, want)
		return
	}
	switch t.Kind() {
	case reflect.Struct:
		f.checkStruct(data, t, pointer, taken)
	case reflect.Map:
		for _, m := range core.Members(data) {
			if f.full() {
				return
			}
			f.check(m.Value, t.Elem(), pointer+"/"+core.EscapePointer(core.Cut(m.Key)), nil)
		}
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return
		}
		var items []json.RawMessage
		_ = json.Unmarshal(data, &items) // it is an array of JSON
		for i, item := range items {
			if f.full() {
				return
			}
			f.check(item, t.Elem(), pointer+"/"+strconv.Itoa(i), nil)
		}
	case reflect.String, reflect.Bool:
	default:
		if json.Unmarshal(PlainIntegers(data, t), reflect.New(t).Interface()) != nil {
			f.add("field_range_invalid", pointer, "isn't %s in the range that it can have", want)
		}
	}
}

// checkStruct checks each member of an object.
func (f *faults) checkStruct(data json.RawMessage, t reflect.Type, pointer string, taken []string) {
	known := fieldsOf(t)
	for _, m := range core.Members(data) {
		if f.full() {
			return
		}
		at := pointer + "/" + core.EscapePointer(core.Cut(m.Key))
		field, ok := known[m.Key]
		switch {
		case slices.Contains(taken, m.Key):
			f.add("field_in_path", at, "is in the path already")
		case !ok:
			e := fault("field_unknown", at, "is no field that there is")
			if hint := sdk.DidYouMean(m.Key, names(known, taken), ""); hint != "" {
				e = e.WithHint("%s", hint).WithDetail("pointer", at)
			}
			*f = append(*f, e)
		default:
			f.check(m.Value, field.typ, pointer+"/"+core.EscapePointer(m.Key), nil)
		}
	}
}

// names are the fields that may be sent, sorted.
func names(known map[string]fieldType, taken []string) []string {
	var list []string
	for name := range known {
		if !slices.Contains(taken, name) {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// readsItself reports whether a type decodes its own JSON or text.
func readsItself(t reflect.Type) bool {
	if t.Kind() != reflect.Pointer {
		t = reflect.PointerTo(t)
	}
	return t.Implements(reflect.TypeFor[json.Unmarshaler]()) || t == reflect.TypeFor[*json.RawMessage]()
}

// kindOf is the kind of a JSON value in words.
func kindOf(data json.RawMessage) string {
	switch data[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a text"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	}
	return "a number"
}

// wordOf is the kind of JSON from which a type is read, in words.
func wordOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return "a text"
		}
		return "a list"
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "a whole number"
}
