package httpapi

import (
	"encoding/json"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// A query is as strict as a body: a number is written as in JSON, a switch is true or
// false, and an unknown name is refused. So is a repeated name, unless its field is a
// list. Otherwise a repeated name could mean one thing here and something else to a proxy
// in front of the server.

// decodeQuery adds to the faults what is wrong with a query, and fills a request with what isn't. The
// error is for a query that can't be read.
func (f *faults) decodeQuery(query string, in any, taken []string) error {
	if query == "" {
		return nil
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return sdk.Errorf(sdk.Invalid, "query_invalid", "the query can't be read").WithHint("write & between its parameters, and escape what isn't plain")
	}
	v := reflect.ValueOf(in).Elem()
	known := fieldsOf(v.Type())
	for _, name := range slices.Sorted(maps.Keys(values)) {
		at := "/" + jsontext.EscapePointer(core.Cut(strings.ToValidUTF8(name, "\ufffd")))
		field, ok := known[name]
		switch {
		case slices.Contains(taken, name):
			f.add("field_in_path", at, "is in the path already")
		case !ok:
			e := fault("field_unknown", at, "is an unknown parameter")
			if hint := sdk.DidYouMean(name, names(known, taken), ""); hint != "" {
				e = e.WithHint("%s", hint)
			}
			*f = append(*f, e)
		default:
			f.set(fieldAt(v, field.index), values[name], at)
		}
		if f.full() {
			break
		}
	}
	return nil
}

// set sets a field from its values in a query.
func (f *faults) set(v reflect.Value, texts []string, pointer string) {
	if v.Kind() == reflect.Slice && !readsItself(v.Type()) {
		list := reflect.MakeSlice(v.Type(), len(texts), len(texts))
		for i, text := range texts {
			f.setOne(list.Index(i), text, pointer+"/"+strconv.Itoa(i))
		}
		v.Set(list)
		return
	}
	if len(texts) > 1 {
		f.add("field_repeated", pointer, "is given %d times", len(texts))
		return
	}
	f.setOne(v, texts[0], pointer)
}

// notUTF8 adds a problem if a text isn't UTF-8.
func (f *faults) notUTF8(text, pointer string) bool {
	if utf8.ValidString(text) {
		return false
	}
	f.add("utf8_invalid", pointer, "isn't UTF-8 text: there is something wrong at byte %d", jsontext.InvalidText([]byte(text))+1)
	return true
}

// number is a number as JSON writes it.
var number = core.Pattern(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// setOne sets a value from a text, which is written as in JSON, except that texts need no
// quotes.
func (f *faults) setOne(v reflect.Value, text, pointer string) {
	if f.notUTF8(text, pointer) {
		return
	}
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		v = v.Elem()
	}
	want, wrong := wordOf(v.Type()), false
	switch {
	case readsItself(v.Type()): // such as a time, which is a text
		wrong = json.Unmarshal(jsontext.MustEncode(text), v.Addr().Interface()) != nil
		want = "a text that it can have"
	case want == "a text":
		v.SetString(text)
	case want == "true or false":
		wrong = text != "true" && text != "false"
		v.SetBool(text == "true")
	case want == "a number", want == "a whole number":
		want += " in the range that it can have"
		wrong = len(text) > 64 || !number().MatchString(text) || json.Unmarshal(PlainIntegers([]byte(text), v.Type()), v.Addr().Interface()) != nil
	default:
		wrong = true
	}
	if wrong {
		f.add("field_type_invalid", pointer, "isn't %s", want)
	}
}
