package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInit_NextIsACommandThatStarts: the command to go on with starts this program, by its name only
// if PATH leads to it.
func TestInit_NextIsACommandThatStarts(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	linked, other, folder, closed := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	link := func(to, dir string) {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(dir, "reflectory")); err != nil {
			t.Fatal(err)
		}
	}
	link(self, linked)
	for path, mode := range map[string]os.FileMode{filepath.Join(other, "reflectory"): 0o755, filepath.Join(closed, "reflectory"): 0o644} {
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(folder, "reflectory"), 0o755); err != nil {
		t.Fatal(err)
	}
	list := func(dirs ...string) string { return strings.Join(dirs, string(filepath.ListSeparator)) }
	for name, c := range map[string]struct{ path, want string }{
		"an empty PATH":               {"", self},
		"a PATH without it":           {t.TempDir(), self},
		"a PATH that isn't there":     {filepath.Join(linked, "none"), self},
		"another program first":       {list(other, linked), self},
		"only another program":        {other, self},
		"a folder of the name":        {folder, self},
		"a file that can't be run":    {closed, self},
		"it itself":                   {linked, "reflectory"},
		"it itself, another later":    {list(linked, other), "reflectory"},
		"it itself, after what isn't": {list(folder, closed, linked), "reflectory"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newPlainWorld(t)
			t.Setenv("PATH", c.path)
			stdout, stderr := w.ok("init", "hello")
			if !strings.Contains(stdout+stderr, "next: "+c.want+" run workflow.yaml\n") {
				t.Errorf("it doesn't say to run %s: %s", c.want, stderr)
			}
		})
	}
}
