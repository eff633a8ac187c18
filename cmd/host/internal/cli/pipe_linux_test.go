package cli

import (
	"os"
	"syscall"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/config"
)

// TestFilesAreBoundedAndInputsMayBePipes: what the program finds by itself must be a
// plain file, and what is named for it as an input may be a stream.
func TestFilesAreBoundedAndInputsMayBePipes(t *testing.T) {
	w := newPlainWorld(t)
	if err := core.JoinErrors(syscall.Mkfifo("pipe", 0o600), os.Mkdir("folder", 0o700)); err != nil {
		t.Fatal(err)
	}
	piped := func(text, line string) {
		t.Helper()
		written := make(chan error)
		go func() { written <- os.WriteFile("pipe", []byte(text), 0) }()
		w.line(exitPassed, "", line)
		if err := <-written; err != nil {
			t.Error(err)
		}
	}
	piped(`{"content": "x", "id": "fact-0001"}`, "memory observe --namespace n --file pipe")
	piped(failuresOf("fact-0001"), "evidence tool --file pipe")
	out, _ := w.line(exitPassed, "", "store export -")
	piped(out, "store import pipe --data-dir other")

	for _, c := range []struct{ line, reason string }{
		{"memory observe --namespace n --file folder", "file_unreadable"},
		{"memory observe --namespace n --file /dev/zero", "line_invalid"},
		{"evidence tool --file folder", "file_unreadable"},
		{"evidence tool --file /dev/zero", "file_too_large"},
		{"audit verify --head @/dev/zero", "file_too_large"},
		{"store import folder --data-dir third", "file_unreadable"},
		{"policy replay folder --log folder", "file_unreadable"},
		{"plugin list --lock pipe", "file_unreadable"},
		{"run folder", "file_unreadable"},
		{"run /dev/zero", "file_too_large"},
	} {
		if code, message, _ := w.refusal(exitFailure, c.line); code != c.reason {
			t.Errorf("%s: %s %q, want %s", c.line, code, message, c.reason)
		}
	}
	if err := os.Rename("pipe", config.FileName); err != nil {
		t.Fatal(err)
	}
	_, errs := w.line(exitFailure, "", "memory list --namespace n")
	wantIn(t, errs, config.FileName, "it is a named pipe", "hint: ")
}
