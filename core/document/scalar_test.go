package document_test

import (
	"strings"
	"testing"
)

func TestScalarsAreThoseOfTheCoreSchema(t *testing.T) {
	for text, want := range map[string]string{
		"": "null", "~": "null", "null": "null", "Null": "null", "NULL": "null", "nULL": `"nULL"`, "none": `"none"`,
		"true": "true", "True": "true", "TRUE": "true", "false": "false", "False": "false", "FALSE": "false", "tRUE": `"tRUE"`,
		"yes": `"yes"`, "no": `"no"`, "on": `"on"`, "off": `"off"`, "y": `"y"`, "N": `"N"`,
		"0": "0", "-0": "-0", "12": "12", "+12": "12", "-12": "-12", "18446744073709551615": "18446744073709551615",
		"98249283749234923498293171823948729348710298301928331": "98249283749234923498293171823948729348710298301928331",
		"0o17": "15", "0x1F": "31", "0xffffffffffffffff": "18446744073709551615", "-0x1": `"-0x1"`, "0b11": `"0b11"`, "0o8": `"0o8"`, "0xg": `"0xg"`,
		"1.50": "1.50", "-.5": "-0.5", "5.": "5.0", "+1.5": "1.5", "1e3": "1e3", "1E5": "1E5", "1e-8": "1e-8", "1.e3": "1.0e3", ".5E+1": "0.5E+1", "00.5": "0.5", "0e0": "0e0",
		"1_000": `"1_000"`, "1:30": `"1:30"`, "2001-01-01": `"2001-01-01"`, "1.2.3": `"1.2.3"`, ".": `"."`, "1e": `"1e"`, "e3": `"e3"`, "--1": `"--1"`, "+": `"+"`, "0x": `"0x"`,
		"'1'": `"1"`, `"true"`: `"true"`, `'~'`: `"~"`, ".infinity": `".infinity"`,
	} {
		root, err := read("[" + text + ", x]\n")
		if text == "" {
			root, err = read("- " + text + "\n- x")
		}
		if err != nil || string(root.JSON(nil)) != "["+want+`,"x"]` {
			t.Errorf("%s: got %v, %v, want %s", text, root, err, want)
		}
	}
	for text, want := range map[string]string{
		".inf": "no such number", "-.INF": "no such number", "+.Inf": "no such number", ".nan": "no such number", ".NaN": "no such number",
		"1e999": "out of range", "-1e999": "out of range", "0x10000000000000000": "out of range",
		"01234": "ambiguous", "-007": "ambiguous", "+08": "ambiguous", "00": "ambiguous",
	} {
		if _, err := read("a: " + text); err == nil || !strings.Contains(err.Error(), "f.yaml:1:4: "+text) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

func TestKeysAreNamesAsTheyAreWritten(t *testing.T) {
	const want = `{"01234":1,"1e3":1,"true":1,"null":1,".inf":1,"<<":1}`
	if root, err := read("01234: 1\n1e3: 1\ntrue: 1\nnull: 1\n.inf: 1\n'<<': 1"); err != nil || string(root.JSON(nil)) != want {
		t.Errorf("got %v, %v", root, err)
	}
}

func TestJSONIsReadAsItIs(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": "x\/y\\/z\ud83d\udc0d\/\u00e9"}`:                     `{"a":"x/y\\/z🐍/é"}`,
		"{\n\t\"a\": [\n\t\t1.0,\n\t\t\"\\ud83d\\udc0d\"\n\t]\n}\n": `{"a":[1.0,"🐍"]}`,
		`["\\/", "\\\/", "` + "\ue000" + `\/"]`:                     `["\\/","\\/","` + "\ue000" + `/"]`,
		`a\/b: ^[^\/]\ud83d\udc0d$`:                                 `{"a\\/b":"^[^\\/]\\ud83d\\udc0d$"}`,
		"'\\/': |\n  \\/\n\"\\/\": '\\/'":                           `{"\\/":"\\/\n","/":"\\/"}`,
	} {
		if root, err := read(text); err != nil || string(root.JSON(nil)) != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}
