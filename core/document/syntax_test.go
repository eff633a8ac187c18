package document_test

import (
	"strings"
	"testing"
)

func TestSyntaxErrorsNameTheirPlaceAndARemedy(t *testing.T) {
	for text, want := range map[string]string{
		"data: {{ x }}":                       `1:7: a template that begins a value must be quoted`,
		"data: {{ x | json }} more":           `1:7: a template that begins a value must be quoted`,
		"- {% if x %}a{% endif %}":            `1:3: a template that begins a value must be quoted`,
		`{"é": {{ x }} }`:                     `1:7: a template that begins a value must be quoted`,
		"a: [1, {{ x }}]":                     `1:8: a template that begins a value must be quoted`,
		"a:\n\tb: 1":                          "2:1: a tab can't indent (use spaces)",
		"a: |\n \tb":                          "2:2: a tab can't indent (use spaces)",
		"prompt: Say: hello":                  `1:12: a ":" can't follow here (quote a text that has ": " in it`,
		"a:\n- b\n c: d":                      `3:3: a ":" can't follow here`,
		"é: 'it's'":                           "1:8: a key is expected here",
		"a: \"x\" y\nb: 1":                    "1:8: a key is expected here",
		"a:\n   b: 1\n  c: 2\nd: 1":           "3:3: a key is expected here",
		"a: 1\n- b":                           "2:1: a key is expected here",
		"a: 1\nfoo\nb: 2\nc: 3":               `2:1: a key without a ":"`,
		"- a\nb: 1":                           `2:2: a "-" is expected here`,
		"a: - b":                              `1:4: a "-" can't follow here`,
		"a: ? b":                              `1:4: a "?" can't follow here`,
		"a: 1\nb: [1, 2\nc: 3":                "2:4: this list isn't closed, or lacks a comma",
		"a: {b: 1 c: 2}":                      "1:4: this mapping isn't closed, or lacks a comma",
		"a: 1\nb: \"it's\nc: 1\nd: 2\n":       "2:4: this quote isn't closed",
		"a: 1\nb: 'x\nc: 1\n":                 "2:4: this quote isn't closed",
		`a: "\d+"`:                            `1:5: there is no such escape in double quotes (write \\ for a backslash`,
		`a: "\xz"`:                            `1:6: an escape lacks digits`,
		`a: "\ud800"`:                         `an escape names no character`,
		"a: @x":                               "1:4: a text can't begin with this character (quote the text)",
		"a: `x`":                              "1:4: a text can't begin with this character (quote the text)",
		"a: 1\nb: *":                          "2:4: a text can't begin with this character",
		"a: |x\n b":                           "1:5: nothing can follow | or > in its line",
		"a: ]":                                "1:4: a value is expected here",
		"a: |0\n b":                           "1:5: found an indentation indicator equal to 0",
		strings.Repeat("#\n", 100) + "a: [\n": "101:4: a value is expected here (a list or mapping in brackets",
		strings.Repeat("a: [\n", 100):         "a value is expected here (a list or mapping in brackets",
	} {
		_, err := read(text)
		if err == nil || !strings.HasPrefix(err.Error(), "f.yaml:"+want) && !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: got %v, want %s", text, err, want)
		}
	}
}
