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
	for format, c := range map[string]struct{ bad, want []string }{
		"date":                  {[]string{"03.04.2026", "2026-02-30", "2026-4-3", "today", "20260403"}, []string{"YYYY-MM-DD", "2026-04-03"}},
		"time":                  {[]string{"2pm", "14:30", "25:00:00Z", "14:30:00"}, []string{"HH:MM:SS", "14:30:00Z"}},
		"date-time":             {[]string{"2026-04-03", "2026-04-03 14:30", "03.04.2026T14:30:00Z", "2026-13-03T14:30:00Z"}, []string{"YYYY-MM-DDTHH:MM:SS", "2026-04-03T14:30:00Z"}},
		"duration":              {[]string{"3 days", "PT", "P1H", "1h30m"}, []string{"ISO 8601", "P3D", "PT1H30M"}},
		"email":                 {[]string{"ann", "ann@", "a b@c.de", "ann@exa mple.org"}, []string{"name@domain", "ann@example.org"}},
		"idn-email":             {[]string{"jörg", "jörg@"}, []string{"name@domain"}},
		"hostname":              {[]string{"-a.org", "a_b.org", "http://a.org"}, []string{"www.example.org"}},
		"idn-hostname":          {[]string{"-ä.org", "ä b.org"}, []string{"www.example.org"}},
		"ipv4":                  {[]string{"1.2.3", "1.2.3.256", "01.2.3.4", "a.b.c.d"}, []string{"0 to 255", "192.0.2.1"}},
		"ipv6":                  {[]string{"1.2.3.4", "2001:db8:::1", "fe80::1%eth0"}, []string{"2001:db8::1"}},
		"uri":                   {[]string{"example.org/a", "/a/b", "http://[1]/", "http://a b/"}, []string{"scheme", "https://example.org/a"}},
		"iri":                   {[]string{"example.org/ä", "/ä"}, []string{"scheme", "https://example.org/"}},
		"uri-reference":         {[]string{`a\b`, "http://[1/", "%zz"}, []string{"/a/b"}},
		"iri-reference":         {[]string{`ä\b`, "%zz"}, []string{"/a/b"}},
		"uri-template":          {[]string{"{a", "{{a}}", "a}"}, []string{"https://example.org/{id}"}},
		"json-pointer":          {[]string{"a/b", "/a~2"}, []string{"~0 for ~", "/a/0"}},
		"relative-json-pointer": {[]string{"/a", "01/a", "x"}, []string{"1/a", "0#"}},
		"uuid":                  {[]string{"123", "f81d4fae-7dec-11d0-a765", "g81d4fae-7dec-11d0-a765-00a0c91e6bf6"}, []string{"8-4-4-4-12", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"}},
		"regex":                 {[]string{"(", "[a", "*a"}, []string{"regular expression"}},
	} {
		for _, bad := range c.bad {
			t.Run(format+" "+bad, func(t *testing.T) {
				output, _ := json.Marshal([]string{bad})
				got := evaluate(t, `{"schema": {"items": {"format": "`+format+`"}}}`, string(output)).Verdict
				if len(got.Errors) != 1 || got.Errors[0].Code != "format" {
					t.Fatalf("findings %+v", got.Errors)
				}
				message := got.Errors[0].Message
				quoted, _ := json.Marshal(bad)
				for _, want := range append(c.want, string(quoted), "is not a valid "+format+": want ") {
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
