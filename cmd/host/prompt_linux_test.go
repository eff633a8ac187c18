package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reflectory/reflectory/core/plugin/install"
)

// terminal opens a pseudo terminal: what is written to person is what the
// program reads.
func terminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = person.Close() })
	if err := unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Close() })
	return person, program
}

func TestAPersonIsShownWhatAPluginAsksForAndAsked(t *testing.T) {
	for answer, code := range map[string]int{"y\n": exitPassed, "YES\n": exitPassed, "n\n": exitDenied, "\n": exitDenied} {
		t.Run(strings.TrimSpace(answer), func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{
				install.PackageFile: "{name: acme/a, version: 1.0.0, kinds: [evaluator], entry: a, capabilities: {env: [A], host: [cache]}}", "a": "x",
			} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			person, program := terminal(t)
			if _, err := person.WriteString(answer); err != nil {
				t.Fatal(err)
			}
			data := t.TempDir()
			var out, errs bytes.Buffer
			got := run(t.Context(), []string{"plugin", "add", dir, "--data-dir", data}, program, &out, &errs, func(string) string { return "" })
			if got != code || !strings.Contains(errs.String(), "acme/a 1.0.0 asks for:\n  env:A\n  host:cache\ngrant that? [y/N] ") {
				t.Errorf("exit %d: %s%s", got, &out, &errs)
			}
			if _, err := os.Stat(filepath.Join(data, install.LockFile)); (err == nil) != (code == exitPassed) {
				t.Errorf("the lock: %v", err)
			}
		})
	}
}
