package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
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

// TestInit_NextCanBePasted: a shell reads the printed commands as the words that were meant, whatever
// the folder is called, and wherever the program is.
func TestInit_NextCanBePasted(t *testing.T) {
	for _, name := range []string{
		"hello", "two words", "it's", `a"b`, "$HOME", "`id`", "a;b", "a&b", "a*", "~", "#x", `back\slash`, "(x)", "a|b", " lead", "{a,b}", "!x", "-", "-x", "grün",
	} {
		t.Run(name, func(t *testing.T) {
			w := newPlainWorld(t)
			t.Setenv("PATH", "")
			stdout, stderr := w.ok("init", "--", name)
			if want := filepath.Join(w.dir, name); shellIn(t, stdout+stderr, "next: cd ", "cd %s && pwd") != want {
				t.Errorf("the command doesn't lead to %q: %s", want, stderr)
			}
		})
	}
}

// TestInit_NextStartsAProgramAnywhere: the program is in a folder whose name has a space.
func TestInit_NextStartsAProgramAnywhere(t *testing.T) {
	w := newPlainWorld(t)
	real, err := filepath.EvalSymlinks(filepath.Join(programs, "reflectory"))
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(w.dir, "my programs", "reflectory")
	if err := errors.Join(os.Mkdir(filepath.Dir(program), 0o700), os.Link(real, program)); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), program, "init", "hello")
	c.Env = append(os.Environ(), "PATH=", "HOME="+w.dir)
	printed, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, printed)
	}
	if got, want := shellIn(t, string(printed), "next: ", `printf '%%s\n' %s`), program+"\nrun\nworkflow.yaml"; got != want {
		t.Errorf("a shell reads %q in %s", got, printed)
	}
}

// shellIn is what a shell prints for a line in which %s is the rest of the last printed line that
// begins with begun.
func shellIn(t *testing.T, printed, begun, line string) string {
	t.Helper()
	at := strings.LastIndex(printed, begun)
	if at < 0 {
		t.Fatalf("there is no line %q in %q", begun, printed)
	}
	command, _, _ := strings.Cut(printed[at+len(begun):], "\n")
	out, _ := exec.CommandContext(t.Context(), "/bin/sh", "-c", fmt.Sprintf(line, command)).Output() // what fails prints nothing
	return strings.TrimSuffix(string(out), "\n")
}
