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
	"time"

	"github.com/reflectory/reflectory/cmd/host/internal/jsoncheck"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/codec"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// A request's JSON is decoded in one pass, which refuses all that is wrong but can't say it to a
// caller. What was refused is read again: First, it is checked as text: it must be JSON in
// UTF-8, not too deep, and without repeated names, since encoding/json would silently use the
// last one, and replace what isn't UTF-8. Then it is compared with the type of the request, so
// that all unknown fields and all values of a wrong type are reported at once, with their
// places; encoding/json would stop at the first. Finally, it is decoded without them, and types that
// read their own JSON can refuse it. If something was wrong, the operation also says what is wrong with
// the fields that could be decoded, so that a caller doesn't learn it only with the next request.

// decodeBody adds to the faults what is wrong with JSON, and fills a request, a pointer to a struct,
// with what isn't. taken are the fields that the path has. The error is for a text that can't be read.
func (f *faults) decodeBody(data []byte, in any, taken []string) error {
	return f.decodeWithin(MaxJSONDepth, data, in, taken)
}

// decodeWithin is decodeBody with another limit of the nesting.
func (f *faults) decodeWithin(depth int, data []byte, in any, taken []string) error {
	if decodeOnce(depth, data, in, taken) {
		return nil
	}
	reflect.ValueOf(in).Elem().SetZero()
	return f.decodeSteps(depth, data, in, taken)
}

// decodeSteps is decodeWithin for JSON that may be wrong.
func (f *faults) decodeSteps(depth int, data []byte, in any, taken []string) error {
	if err := checkText(data, depth); err != nil {
		return err
	}
	data = bytes.TrimSpace(data)
	f.check(data, reflect.TypeOf(in).Elem(), "", taken)
	if f.full() {
		return nil
	}
	var err error
	if len(*f) == 0 {
		err = json.Unmarshal(data, in)
	}
	if wrong := new(json.UnmarshalTypeError); len(*f) > 0 || errors.As(err, &wrong) { // or an integer that is written as 5.0
		reflect.ValueOf(in).Elem().SetZero()
		err = json.Unmarshal(pruned(data, reflect.TypeOf(in), "", f.places()), in)
	}
	var known *sdk.Error
	switch {
	case err == nil:
	case errors.As(err, &known):
		*f = append(*f, known)
	default:
		*f = append(*f, sdk.Errorf(sdk.Invalid, "request_invalid", "the request: %w", jsontext.Problem(err)))
	}
	return nil
}

// decodeOnce fills a request in one pass, and reports whether nothing is wrong with its JSON. It
// isn't sure of JSON that may have a null, which only some fields can be, a field of the path, or too
// many levels; nor of a whole number that is written as 5.0.
func decodeOnce(depth int, data []byte, in any, taken []string) bool {
	unsure := bytes.Contains(data, []byte("null")) || levels(data) > depth || len(taken) > 0 && bytes.Contains(data, []byte(`\u`)) ||
		slices.ContainsFunc(taken, func(name string) bool { return bytes.Contains(data, []byte(`"`+name+`"`)) })
	return !unsure && codec.DecodeExact(data, in) == nil
}

// levels is how deep JSON is nested. For other text it is any number.
func levels(data []byte) (most int) {
	open, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			open++
			most = max(most, open)
		case c == '}' || c == ']':
			open--
		}
	}
	return most
}

// places are the pointers of the faults.
func (f *faults) places() map[string]bool {
	list := map[string]bool{}
	for _, err := range *f {
		list[operation.PointerOf(sdk.AsError(err).Details)] = true
	}
	return list
}

// refusal joins the faults with what the operation says about the fields that could be decoded. It
// leaves out what may only be said because of a fault: problems at, above or below its place, and
// problems without a place. It is nil if there are no faults: then the operation itself refuses.
func (f *faults) refusal(o *operation.Operation, in any, now time.Time) error {
	if len(*f) == 0 || f.full() {
		return core.JoinErrors(*f...)
	}
	info := core.NewErrorInfo(o.Problems(in, now))
	if info == nil {
		return core.JoinErrors(*f...)
	}
	problems, _ := info.Details["problems"].([]*core.ErrorInfo)
	if len(problems) == 0 {
		problems = []*core.ErrorInfo{info}
	}
	places := f.places()
	for _, p := range problems {
		if at := operation.PointerOf(p.Details); !f.full() && !touched(at, places) {
			*f = append(*f, &sdk.Error{Code: sdk.Invalid, Reason: p.Code, Message: p.Message, Hint: p.Hint, Try: p.Try, Details: p.Details})
		}
	}
	return core.JoinErrors(*f...)
}

// touched reports whether one of the places is at, above or below a pointer.
func touched(pointer string, places map[string]bool) bool {
	for place := range places {
		if strings.HasPrefix(pointer+"/", place+"/") || strings.HasPrefix(place+"/", pointer+"/") {
			return true
		}
	}
	return false
}

// checkText refuses a text that isn't a JSON object, or that decoding would change.
func checkText(data []byte, depth int) error {
	err := jsoncheck.Check(data, "the body", depth)
	if err == nil && bytes.TrimLeft(data, " \t\r\n")[0] != '{' {
		err = sdk.Errorf(sdk.Invalid, "json_invalid", "the body is not a JSON object")
	}
	if err == nil {
		return nil
	}
	if sdk.ReasonOf(err) == "json_too_deep" {
		return reached(sdk.AsError(err), "json_depth", "nest it less deeply")
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
		for _, m := range jsontext.Members(data) {
			if f.full() {
				return
			}
			f.check(m.Value, t.Elem(), pointer+"/"+jsontext.EscapePointer(core.Cut(m.Key)), nil)
		}
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return
		}
		var items []json.RawMessage
		_ = json.Unmarshal(data, &items) // it is an array of JSON
		if t.Kind() == reflect.Array && len(items) != t.Len() {
			f.add("field_type_invalid", pointer, "has %d items where %d must be", len(items), t.Len())
			return
		}
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
	for _, m := range jsontext.Members(data) {
		if f.full() {
			return
		}
		at := pointer + "/" + jsontext.EscapePointer(core.Cut(m.Key))
		field, ok := known[m.Key]
		switch {
		case slices.Contains(taken, m.Key):
			f.add("field_in_path", at, "is in the path already")
		case !ok:
			e := fault("field_unknown", at, "is an unknown field")
			if hint := sdk.DidYouMean(m.Key, names(known, taken), ""); hint != "" {
				e = e.WithHint("%s", hint).WithDetail("pointer", at)
			}
			*f = append(*f, e)
		default:
			f.check(m.Value, field.typ, pointer+"/"+jsontext.EscapePointer(m.Key), nil)
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
