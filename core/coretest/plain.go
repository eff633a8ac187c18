package coretest

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Runner runs the tests of a package, as *testing.M does.
type Runner interface{ Run() int }

// WithPlain runs the tests of a package in which tests call [Plain], and removes the
// program that they need.
func WithPlain(m Runner) Runner { return plainRunner{m} }

type plainRunner struct{ Runner }

func (r plainRunner) Run() int {
	defer os.RemoveAll(plain.dir)
	return r.Runner.Run()
}

// plain is the program of [Plain], made when a test first needs it.
var plain struct {
	once      sync.Once
	dir, path string
	err       error
}

// Plain does the test that calls it, before it has done anything else, in another program
// without the race detector, and reports whether it did: then the test returns. It is for
// tests in which one goroutine tries many cases one after the other: the race detector has
// nothing to find in them, and makes them take five times as long. Without the race
// detector it reports false.
func Plain(t *testing.T) bool {
	t.Helper()
	if settings, err := buildSettings(); err == nil && settings["-race"] != "true" {
		return false
	}
	plain.once.Do(func() {
		if plain.dir, plain.err = os.MkdirTemp("", "plain-"); plain.err == nil {
			plain.path, plain.err = PlainBinary(plain.dir)
		}
	})
	if err := errors.Join(plain.err, dependOn("testdata")); err != nil {
		t.Fatal(err)
	}
	args := append(ownFlags(), "-test.v", "-test.timeout=0", "-test.run=^"+t.Name()+"$")
	out, err := exec.CommandContext(t.Context(), plain.path, args...).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()+" ") {
		t.Errorf("without the race detector: %v\n%s", err, out)
	}
	return true
}

// ownFlags are the flags that the tests of the package define and that were set.
func ownFlags() (args []string) {
	flag.Visit(func(f *flag.Flag) {
		if !strings.HasPrefix(f.Name, "test.") {
			args = append(args, "-"+f.Name+"="+f.Value.String())
		}
	})
	return args
}

// dependOn makes the running test depend on the files of a folder, so that go test doesn't
// take an earlier result once one of them has changed.
func dependOn(dir string) error {
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil {
			_, err = os.Stat(path)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
