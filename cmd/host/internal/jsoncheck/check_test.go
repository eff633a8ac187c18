package jsoncheck_test

import (
	"strings"
	"testing"

	"github.com/reflectory/reflectory/cmd/host/internal/jsoncheck"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// TestCheckJSON_NamesWhatAndWhere.
func TestCheckJSON_NamesWhatAndWhere(t *testing.T) {
	for text, want := range map[string]struct {
		reason, pointer string
		byte            any
	}{
		`{}`: {}, ` [1, "a", {"b": null}] `: {}, `"x"`: {}, `{"a":{"a":1},"b":[{"a":1},{"a":2}]}`: {},
		`"\ud83d\ude00"`: {}, `"\uD83D\uDE00 \\ud800 \\\\"`: {}, `"\u0000\ufffd\uffff"`: {}, "\"\ufffd\"": {},
		`1e400`:            {},
		``:                 {"json_invalid", "", int64(0)},
		`{"a":}`:           {"json_invalid", "", int64(6)},
		"\ufeff{}":         {"json_invalid", "", int64(1)},
		"{} {}":            {"json_invalid", "", int64(4)},
		"{\"a\":\"\xff\"}": {"utf8_invalid", "/a", 7},
		"{\"\xffb\":1}":    {"utf8_invalid", "/\ufffdb", 3},
		"[1,[\"é\xc3\"]]":  {"utf8_invalid", "/1/0", 8},
		"[{},{\"x/y\":{\"z~\":[0,\"\xed\xa0\x80\"]}}]": {"utf8_invalid", "/1/x~1y/z~0/1", 22},
		"\"\xff\"":                                      {"utf8_invalid", "", 2},
		"\"\\ud800 \xff\"":                              {"utf8_invalid", "", 2},
		"\"\xff \\ud800\"":                              {"utf8_invalid", "", 2},
		`{"a": "x\ud800"}`:                              {"utf8_invalid", "/a", 9},
		`{"a": "\udc00"}`:                               {"utf8_invalid", "/a", 8},
		`{"a": "\ud800\ud800"}`:                         {"utf8_invalid", "/a", 8},
		`{"a": "\ud800\u0041"}`:                         {"utf8_invalid", "/a", 8},
		`{"a": "\ud800\\udc00"}`:                        {"utf8_invalid", "/a", 8},
		`{"a": "\ud83d\ude00\ud83d"}`:                   {"utf8_invalid", "/a", 20},
		`{"a": ["b", "\ud800"]}`:                        {"utf8_invalid", "/a/1", 14},
		`{"\ud800": 1}`:                                 {"utf8_invalid", "/\ufffd", 3},
		`{"a":1,"b":{"c":1,"c":2}}`:                     {"json_name_repeated", "/b/c", 21},
		`{"a":1,"\u0061":2}`:                            {"json_name_repeated", "/a", 15},
		strings.Repeat("[", 9) + strings.Repeat("]", 9): {"json_too_deep", "", 9},
		strings.Repeat(`{"a":`, 9) + "1" + strings.Repeat("}", 9): {"json_too_deep", "", 41},
		strings.Repeat("[", 8) + strings.Repeat("]", 8):           {},
	} {
		err := jsoncheck.Check([]byte(text), "the text", 8)
		if want.reason == "" {
			if err != nil {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		e := sdk.AsError(err)
		if err == nil || e.Code != sdk.Invalid || e.Reason != want.reason || e.Details["byte"] != want.byte ||
			want.reason != "json_invalid" && e.Details["pointer"] != want.pointer || !strings.HasPrefix(err.Error(), "the text ") {
			t.Errorf("%q: %v %+v; want %+v", text, err, e, want)
		}
	}
}

// FuzzCheckJSON: what passes is decoded and encoded again without loss.
func FuzzCheckJSON(f *testing.F) {
	f.Add([]byte(`{"a":["\ud83d\ude00",1,{"b":"é"}]}`))
	f.Add([]byte("\"\xff\""))
	f.Add([]byte(`"\ud800"`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if jsoncheck.Check(data, "it", 32) != nil {
			return
		}
		v, err := jsontext.Decode(data)
		if err != nil {
			return // a number that is out of range
		}
		if text := string(jsontext.MustEncode(v)); strings.Count(text, "\ufffd") != strings.Count(string(data), "\ufffd")+strings.Count(strings.ToLower(string(data)), `\ufffd`) {
			t.Errorf("%q becomes %q", data, text)
		}
	})
}
