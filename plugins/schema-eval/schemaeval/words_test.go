package schemaeval_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// A model reads the findings: each format's says what is wanted, with an example, and nothing
// of the language that this is written in.
func TestFormats_FindingsSayWhatIsWanted(t *testing.T) {
	for format, c := range readJSON[map[string]struct{ Bad, Want []string }](t, "../../internal/schema/testdata/formats.json") {
		for _, bad := range c.Bad {
			t.Run(format+" "+bad, func(t *testing.T) {
				output, _ := json.Marshal([]string{bad})
				got := evaluate(t, `{"schema": {"items": {"format": "`+format+`"}}}`, string(output)).Verdict
				if len(got.Errors) != 1 || got.Errors[0].Code != "format" {
					t.Fatalf("findings %+v", got.Errors)
				}
				message := got.Errors[0].Message
				quoted, _ := json.Marshal(bad)
				for _, want := range append(c.Want, string(quoted), "is not a valid "+format+": want ") {
					if !strings.Contains(message, want) {
						t.Errorf("%q doesn't say %q", message, want)
					}
				}
				plain(t, message)
			})
		}
	}
}

// plain checks that a message has nothing of Go in it and isn't cut.
func plain(t *testing.T, message string) {
	t.Helper()
	for _, word := range []string{"2006", "parsing ", "parse ", "strconv", "netip", "ParseAddr", "error parsing", "invalid character", "%!", "%s", "%v", "map[", "<nil>", "0x", "[]", "…"} {
		if strings.Contains(message, word) {
			t.Errorf("%q has %q", message, word)
		}
	}
}

func TestFindings_AreCompleteAndPlain(t *testing.T) {
	var values, names []string
	for n := range 40 {
		values = append(values, fmt.Sprintf(`"a value of the list with the number %d"`, n))
		names = append(names, fmt.Sprintf(`"property_%d"`, n))
	}
	all, properties := strings.Join(values, ", "), strings.Join(names, ", ")
	pattern := "^(" + strings.Repeat("alternative|", 20) + "last)$"
	sentence := strings.Repeat("all of this must be there ", 6)
	for name, c := range map[string]struct{ schema, output, message string }{
		"a long enum":             {`{"enum": [` + all + `]}`, `["x"]`, "must be one of " + all},
		"a long const":            {`{"const": "` + sentence + `"}`, `["x"]`, `must be "` + sentence + `"`},
		"a const object":          {`{"const": {"b": [1, null], "a": true}}`, `[1]`, `must be {"a":true,"b":[1,null]}`},
		"a long pattern":          {`{"pattern": "` + pattern + `"}`, `["x"]`, `"x" does not match the pattern ` + pattern},
		"many missing properties": {`{"required": [` + properties + `]}`, `[{}]`, `"property_39"`},
		"many that are unknown":   {`{"additionalProperties": false}`, `[{` + strings.ReplaceAll(properties, ",", ":1,") + `:1}]`, `"property_39"`},
		"one item too few":        {`{"minItems": 1}`, `[[]]`, "must have at least 1 item, has 0"},
		"one character too few":   {`{"minLength": 1}`, `[""]`, "must have at least 1 character, has 0"},
		"one property too many":   {`{"maxProperties": 1}`, `[{"a": 1, "b": 2}]`, "must have at most 1 property, has 2"},
		"one additional item":     {`{"items": [{}], "additionalItems": false}`, `[[1, 2]]`, "has 1 item too many"},
		"equal items":             {`{"uniqueItems": true}`, `[[7, 8, 7]]`, "items 0 and 2 are equal; all items must differ"},
		"not":                     {`{"not": {"type": "integer"}}`, `[3]`, `must not match {"type":"integer"}`},
		"contains":                {`{"contains": {"const": 9}}`, `[[1]]`, `no item matches {"const":9}`},
		"a multiple":              {`{"multipleOf": 0.01}`, `[1.005]`, "must be a multiple of 0.01, got 1.005"},
		"a small multiple":        {`{"multipleOf": 0.000001}`, `[0.0000015]`, "must be a multiple of 0.000001, got 0.0000015"},
		"a large bound":           {`{"maximum": 1e21}`, `[1e22]`, "must be at most 1000000000000000000000, got 10000000000000000000000"},
		"alternatives":            {`{"anyOf": [{"type": "string"}, {"minimum": 5}, {"const": "x"}, {"maximum": -1}, {"enum": [7]}, {"multipleOf": 10}]}`, `[1]`, "(5) must be a multiple of 10, got 1"},
		"base64":                  {`{"contentEncoding": "base64"}`, `["%%"]`, ""},
		"JSON within text":        {`{"contentMediaType": "application/json"}`, `["{"]`, ""},
		"a false property":        {`{"properties": {"a": false}}`, `[{"a": 1}]`, "must not be present"},
	} {
		t.Run(name, func(t *testing.T) {
			schema := `{"items": ` + c.schema + `}`
			for _, s := range []string{schema, detour(t, schema)} {
				got := evaluate(t, `{"schema": `+s+`}`, c.output)
				if c.message == "" && len(got.Verdict.Errors) == 0 {
					continue // not asserted
				}
				if len(got.Verdict.Errors) != 1 || !strings.Contains(got.Verdict.Errors[0].Message, c.message) {
					t.Errorf("%s: %+v, want %q", got.Metadata["engine"], got.Verdict.Errors, c.message)
					continue
				}
				plain(t, got.Verdict.Errors[0].Message)
			}
		})
	}
}

// What is wrong may be long; the finding then says how long it is.
func TestFindings_QuoteTheBeginningOfALongValue(t *testing.T) {
	long := strings.Repeat("é", 5_000)
	got := evaluate(t, `{"schema": {"items": {"pattern": "^x"}}}`, `["`+long+`"]`).Verdict
	if m := got.Errors[0].Message; len(m) > 1_000 || !strings.Contains(m, "(5002 characters)") || !strings.Contains(m, "the pattern ^x") {
		t.Error(m)
	}
}
