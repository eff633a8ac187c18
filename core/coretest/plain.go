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

// WithPlain runs the tests of a package in which tests call [Plain] or [Rest], and removes
// the program that they need.
func WithPlain(m Runner) Runner { return plainRunner{m, ""} }

// WithPlainAt does so for a package that has made that program itself, with [PlainBinary].
func WithPlainAt(m Runner, program string) Runner { return plainRunner{m, program} }

type plainRunner struct {
	Runner
	program string
}

func (r plainRunner) Run() int {
	plain.allowed, plain.path = true, r.program
	defer func() { _ = os.RemoveAll(plain.dir) }()
	return r.Runner.Run()
}

// plain is the program of [Plain] and [Rest], made when a test first needs it.
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
// The program gets the flags that the package defines, and of go test's -short.
func Plain(t *testing.T) bool {
	t.Helper()
	if !raced() {
		return false
	}
	out, err := runPlain(t, "-test.v", "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$")
	switch {
	case err == nil && strings.Contains(out, "--- SKIP: "+t.Name()+" "):
		t.Skip(out)
	case err != nil || !strings.Contains(out, "--- PASS: "+t.Name()+" "):
		t.Errorf("without the race detector: %v\n%s", err, out)
	case testing.Verbose():
		t.Log(out)
	}
	return true
}

// Split makes go test -race run of a package only the tests whose names match concurrent, and
// the one named rest, which calls [Rest] for the others. A call of go test that names tests gets
// all of them with the race detector. Call it in TestMain.
func Split(concurrent, rest string) {
	flag.Parse()
	for _, name := range []string{"test.run", "test.skip", "test.list"} {
		if flag.Lookup(name).Value.String() != "" {
			return
		}
	}
	if raced() {
		_ = flag.Set("test.run", concurrent+"|^"+rest+"$") // any text can be set
	}
}

// Rest runs the tests of a package whose names don't match concurrent in a program without the
// race detector. The package's TestMain needs [Split] and [WithPlain].
//
// It is for packages with hundreds of tests that do one thing after the other, and would take
// several times as long with the detector. What goroutines share must be seen by the tests that
// match. Where the test binary has no race detector it runs all tests, and Rest none.
func Rest(t *testing.T, concurrent string) {
	t.Helper()
	if !raced() {
		return
	}
	args := []string{"-test.skip=" + concurrent + "|^" + t.Name() + "$"}
	if testing.Verbose() {
		args = append(args, "-test.v")
	}
	out, err := runPlain(t, args...)
	switch {
	case err != nil || strings.Contains(out, "no tests to run"):
		t.Errorf("without the race detector: %v\n%s", err, out)
	case testing.Verbose():
		t.Log(out)
	}
}

// runPlain runs tests in the program without the race detector, and returns what it wrote.
func runPlain(t *testing.T, args ...string) (string, error) {
	t.Helper()
	if !plain.allowed {
		t.Fatal("tests without the race detector need coretest.WithPlain in TestMain")
	}
	plain.once.Do(func() {
		if plain.path != "" {
			return
		}
		if plain.dir, plain.err = os.MkdirTemp("", "plain-"); plain.err == nil {
			plain.path, plain.err = PlainBinary(plain.dir)
		}
	})
	if plain.err != nil {
		t.Fatal(plain.err)
	}
	used := filepath.Join(t.TempDir(), "used")
	args = append(append(ownFlags(), "-test.testlogfile="+used, fmt.Sprint("-test.short=", testing.Short())), args...)
	if deadline, ok := t.Deadline(); ok { // so that it ends first, and shows where it hangs
		args = append(args, fmt.Sprint("-test.timeout=", max(time.Until(deadline)-10*time.Second, time.Second)))
	}
	out, err := exec.CommandContext(t.Context(), plain.path, args...).CombinedOutput()
	return string(out), errors.Join(err, dependOn(used))
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
