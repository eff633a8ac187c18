package jsontext_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/jsontext"
)

// TestWhatIsWrongWithJSONIsReportedByItsKeys: Go's types and names mean nothing to
// the author of the text.
func TestWhatIsWrongWithJSONIsReportedByItsKeys(t *testing.T) {
	type Within struct {
		Kinds []string `json:"kinds"`
	}
	for text, want := range map[string]string{
		`{"s": 1}`:   "s has a number where a text must be",
		`{"n": "1"}`: "n has a text where a whole number must be",
		`{"n": 1.5}`: "n has 1.5 where a whole number must be",
		`{"n": 1` + strings.Repeat("0", 20) + `}`: "n is 1" + strings.Repeat("0", 20) + ", which is out of range",
		`{"f": 1e999}`:    "f is 1e999, which is out of range",
		`{"f": []}`:       "f has a list where a number must be",
		`{"b": {}}`:       "b has an object where true or false must be",
		`{"kinds": true}`: "kinds has true or false where a list must be",
		`{"kinds": [1]}`:  "kinds has a number where a text must be",
		`{"m": "x"}`:      "m has a text where an object must be",
		`[]`:              "it is a list where an object must be",
		`7`:               "it is a number where an object must be",
		`{"other": "x"}`:  `unknown field "other"`,
		`{"s": "x"`:       "unexpected EOF",
	} {
		var into struct {
			Within
			S string            `json:"s"`
			N int64             `json:"n"`
			F float64           `json:"f"`
			B bool              `json:"b"`
			M map[string]string `json:"m"`
		}
		dec := json.NewDecoder(strings.NewReader(text))
		dec.DisallowUnknownFields()
		if err := jsontext.Problem(dec.Decode(&into)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestARepeatedKeyIsFound(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": 1, "b": {"a": 2}, "c": [{"a": 1, "a": 2}]}`: "",
		`{"a": 1, "b": {"x": [1, "}"]}, "a": 2}`:           "a",
		`{"a": 1, "A": 2}`:                                 "A",
		`{"a": 1, "\u0061": 2}`:                            "a",
		`{"a": 1, "a"`:                                     "a",
		`{"a": 1,`:                                         "",
		`["a", "a"]`:                                       "",
		`{}`:                                               "",
		"":                                                 "",
	} {
		if got := jsontext.RepeatedKey([]byte(text)); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
