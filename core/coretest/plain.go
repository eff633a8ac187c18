package coretest

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Runner runs the tests of a package, as *testing.M does.
type Runner interface{ Run() int }

// WithPlain runs the tests of a package in which tests call [Plain], and removes the
// program that they need.
func WithPlain(m Runner) Runner { return plainRunner{m} }

type plainRunner struct{ Runner }

func (r plainRunner) Run() int {
	plain.allowed = true
	defer func() { _ = os.RemoveAll(plain.dir) }()
	return r.Runner.Run()
}

// plain is the program of [Plain], made when a test first needs it.
var plain struct {
	allowed   bool
	once      sync.Once
	dir, path string
	err       error
}

// Plain runs the calling test in a program without the race detector, and reports whether it
// did; the test then returns. Call it first. The package's TestMain needs [WithPlain].
//
// It is for tests that try hundreds of cases one after the other, and would take several
// times as long with the detector. What goroutines share must be seen by other tests.
// The program gets the flags that the package defines, but none of go test's.
func Plain(t *testing.T) bool {
	t.Helper()
	if settings, err := buildSettings(); err == nil && settings["-race"] != "true" {
		return false
	}
	if !plain.allowed {
		t.Fatal("coretest.Plain needs coretest.WithPlain in TestMain")
	}
	plain.once.Do(func() {
		if plain.dir, plain.err = os.MkdirTemp("", "plain-"); plain.err == nil {
			plain.path, plain.err = PlainBinary(plain.dir)
		}
	})
	if plain.err != nil {
		t.Fatal(plain.err)
	}
	used := filepath.Join(plain.dir, strings.ReplaceAll(t.Name(), "/", "-")+".used")
	args := append(ownFlags(), "-test.v", "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$", "-test.testlogfile="+used)
	if deadline, ok := t.Deadline(); ok { // so that it ends first, and shows where it hangs
		args = append(args, fmt.Sprint("-test.timeout=", max(time.Until(deadline)-10*time.Second, time.Second)))
	}
	out, err := exec.CommandContext(t.Context(), plain.path, args...).CombinedOutput()
	err = errors.Join(err, dependOn(used))
	switch {
	case err == nil && strings.Contains(string(out), "--- SKIP: "+t.Name()+" "):
		t.Skipf("%s", out)
	case err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()+" "):
		t.Errorf("without the race detector: %v\n%s", err, out)
	case testing.Verbose():
		t.Logf("%s", out)
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

// dependOn makes the running test depend on what another program used, by the log of it that
// go test keeps, so that an earlier result isn't taken once a file or a variable has changed.
func dependOn(log string) error {
	file, err := os.Open(log)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // only read
	dir := ""
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		verb, name, _ := strings.Cut(lines.Text(), " ")
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		switch verb {
		case "getenv":
			_ = os.Getenv(name)
		case "chdir":
			dir = path
		case "stat":
			_, _ = os.Stat(path) // it may be gone, which counts too
		case "open":
			if f, err := os.Open(path); err == nil {
				_ = f.Close()
			}
		}
	}
	return lines.Err()
}
