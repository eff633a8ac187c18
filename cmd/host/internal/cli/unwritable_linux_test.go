package cli

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A data folder in which nobody may make anything, as /sys is for everybody, is
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
		if code != exitFailure || e.Code != "store_unwritable" || !strings.Contains(e.Message, "it can't be made in /sys:") || !strings.Contains(e.Hint, "--data-dir") {
			t.Errorf("%v: exit %d: %+v", args, code, e)
		}
	}
}

// A data folder that can't be one is reported as that, with the part of the path that is
// wrong, whatever the command looks for in it first.
func TestADataFolderThatCannotBeOneIsTold(t *testing.T) {
	dir := t.TempDir()
	file, link, loop := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "loop")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Symlink(filepath.Join(dir, "gone"), link), os.Symlink(loop, loop)); err != nil {
		t.Fatal(err)
	}
	for path, problem := range map[string]string{
		file:                              file + " is a file, not a folder",
		filepath.Join(file, "a", "b"):     file + " is a file, not a folder",
		link:                              link + " is a link to " + filepath.Join(dir, "gone") + ", which can't be followed",
		filepath.Join(link, "a"):          link + " is a link to ",
		filepath.Join(loop, "a"):          loop + " is a link to ",
		"/proc/reflectory":                "it can't be made in /proc:",
		"/proc/self/reflectory/deeper":    "it can't be made in /proc/self:",
		filepath.Join("/dev/null", "sub"): "/dev/null is a file, not a folder",
	} {
		w := newWorld(t)
		w.env["REFLECTORY_DATA_DIR"] = path
		for _, args := range [][]string{{"memory", "list"}, {"run", "workflow.yaml"}, {"plugin", "list"}, {"store", "restore", dir}, {"store", "import", "-"}} {
			if strings.HasPrefix(path, "/proc") && (args[0] == "run" || args[0] == "plugin") {
				continue // which end before they make it
			}
			code, out, _ := w.run(t.Context(), append(args, "--json")...)
			var said struct {
				Error struct{ Code, Message, Hint string }
			}
			if err := json.Unmarshal([]byte(out), &said); err != nil {
				t.Fatalf("%v: %v: %s", args, err, out)
			}
			e := said.Error
			if code != exitFailure || e.Code != "data_dir_invalid" || !strings.Contains(e.Message, problem) || !strings.Contains(e.Hint, "--data-dir") {
				t.Errorf("%s: %v: exit %d: %+v", path, args, code, e)
			}
		}
	}
}
