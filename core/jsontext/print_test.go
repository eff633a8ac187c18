package jsontext_test

import (
	"encoding/json"
	"testing"

	"github.com/reflectory/reflectory/core/jsontext"
)

func TestPrintJSON_EscapesOnlyWhatATerminalObeys(t *testing.T) {
	value := map[string]any{"a": "<b> & é", "z": "x\u202ey\u009bz\u007f"}
	text, err := jsontext.Print(value)
	want := "{\n  \"a\": \"<b> & é\",\n  \"z\": \"x\\u202ey\\u009bz\\u007f\"\n}\n"
	if err != nil || string(text) != want {
		t.Errorf("%q, %v; want %q", text, err, want)
	}
	var again map[string]any
	if err := json.Unmarshal(text, &again); err != nil || again["z"] != value["z"] {
		t.Errorf("read again it is %q: %v", again["z"], err)
	}
	if _, err := jsontext.Print(func() {}); err == nil {
		t.Error("a function is printed")
	}
}
