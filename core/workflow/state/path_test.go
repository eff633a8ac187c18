package state_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/workflow/state"
	"github.com/reflectory/reflectory/sdk"
)

func TestSetState(t *testing.T) {
	for name, test := range map[string]struct{ state, path, value, want, reason string }{
		"a new key":               {`{"b":1}`, "a", `"x"`, `{"a":"x","b":1}`, ""},
		"a key of no state":       {``, "a", `1`, `{"a":1}`, ""},
		"a path":                  {`{"a":{"c":9007199254740993}}`, "a.b.c", `[1]`, `{"a":{"b":{"c":[1]},"c":9007199254740993}}`, ""},
		"over null":               {`{"a":null}`, "a.b", `1`, `{"a":{"b":1}}`, ""},
		"through a list":          {`{"a":[1]}`, "a.b", `1`, "", "state_key_invalid"},
		"an empty key":            {`{}`, "a..b", `1`, "", "state_key_invalid"},
		"a reserved key":          {`{}`, "reflection_x.y", `1`, "", "state_key_invalid"},
		"a value that isn't JSON": {`{}`, "a", `{`, "", "json_invalid"},
		"a number too great":      {`{}`, "a", `1e999`, "", "json_invalid"},
		"a value too deep":        {`{}`, "a", strings.Repeat("[", 300) + strings.Repeat("]", 300), "", "json_too_deep"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := state.Set(json.RawMessage(test.state), test.path, json.RawMessage(test.value))
			if string(got) != test.want || sdk.ReasonOf(err) != test.reason {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
}

func TestMergeState(t *testing.T) {
	got, err := state.Merge(json.RawMessage(`{"a":{"x":1},"b":1}`), json.RawMessage(`{"a":{"y":2},"c":3}`))
	if err != nil || string(got) != `{"a":{"y":2},"b":1,"c":3}` {
		t.Errorf("got %s, %v", got, err)
	}
	for patch, reason := range map[string]string{`[1]`: "state_invalid", `{"reflection_x":1}`: "state_key_invalid", `{`: "json_invalid"} {
		if _, err := state.Merge(nil, json.RawMessage(patch)); sdk.ReasonOf(err) != reason {
			t.Errorf("%s: got %v", patch, err)
		}
	}
}
