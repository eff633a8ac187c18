package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// A state folder in which nobody may make anything, as /sys is for everybody, is
// named, with what to do.
func TestAStateFolderThatCannotBeWrittenIsNamed(t *testing.T) {
	w := newWorld(t)
	w.env["REFLECTORY_DATA_DIR"] = "/sys/reflectory"
	for _, args := range [][]string{{"memory", "list"}, {"runs", "list"}, {"governance", "set", "a", "max_reflection_depth=1"}} {
		code, out, _ := w.run(t.Context(), append(args, "--json")...)
		var said struct {
			Error struct{ Code, Message, Hint string }
		}
		if err := json.Unmarshal([]byte(out), &said); err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
		e := said.Error
		if code != exitFailure || e.Code != "store_unwritable" || !strings.Contains(e.Message, "/sys/reflectory/store") || !strings.Contains(e.Hint, "--data-dir") {
			t.Errorf("%v: exit %d: %+v", args, code, e)
		}
	}
}
