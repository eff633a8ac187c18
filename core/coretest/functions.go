//go:build functions

package coretest

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Functions is how many functions of the project a path may pass, each counted once however often it is called:
// what somebody would have to read who follows the path from its beginning to its end. What other goroutines do
// because of it counts too.
type Functions struct {
	// Path names what is counted.
	Path string
	// Most is how many functions it may pass. If it passes far fewer, Check asks for a lower limit.
	Most int
}

const (
	// functionCalls is the variable with which Check starts its own program: it has how often to call the path.
	functionCalls = "REFLECTORY_FUNCTION_CALLS"
	// fewCalls are before what is made once is made. moreCalls are so many more that what only runs next to the
	// path doesn't run as often.
	fewCalls, moreCalls = 2, 40
)

// Check counts the path as a test of its own. The program must be built with coverage counters of the packages that
// count, as make functions does: Check runs it twice, and a function that runs as much oftener as the path is
// called oftener is one that the path passes.
func (f Functions) Check(t *testing.T, path func()) {
	t.Helper()
	t.Run(f.Path, func(t *testing.T) {
		if n, _ := strconv.Atoi(os.Getenv(functionCalls)); n > 0 {
			for range n {
				path()
			}
			return
		}
		few, many := countBlocks(t, fewCalls), countBlocks(t, fewCalls+moreCalls)
		var passed bytes.Buffer
		passed.WriteString("mode: set\n")
		for block, n := range many {
			if n-few[block] >= moreCalls {
				fmt.Fprintln(&passed, block, 1)
			}
		}
		profile := filepath.Join(t.TempDir(), "passed")
		if err := os.WriteFile(profile, passed.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		list, err := exec.CommandContext(t.Context(), "go", "tool", "cover", "-func="+profile).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, list)
		}
		var functions []string
		for line := range strings.Lines(string(list)) {
			if fields := strings.Fields(line); len(fields) == 3 && strings.Contains(fields[0], ".go:") && fields[2] != "0.0%" {
				functions = append(functions, fields[0]+" "+fields[1])
			}
		}
		n := len(functions)
		t.Logf("%s passes %d functions (limit %d)", f.Path, n, f.Most)
		if n > f.Most {
			t.Errorf("%s passes %d functions (limit %d): let it pass fewer, or say in the commit why it needs them:\n%s", f.Path, n, f.Most, strings.Join(functions, "\n"))
		}
		if 10*n < 7*f.Most {
			t.Errorf("%s passes only %d functions: lower its limit to %d", f.Path, n, n*11/10)
		}
	})
}

// countBlocks calls the path of the test in another process, and returns how often each block of code ran, but for
// the tests' own.
func countBlocks(t *testing.T, calls int) map[string]int {
	t.Helper()
	profile := filepath.Join(t.TempDir(), "profile")
	parts := strings.Split(t.Name(), "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	run := exec.CommandContext(t.Context(), os.Args[0], "-test.run="+strings.Join(parts, "/"), "-test.coverprofile="+profile)
	run.Env = append(os.Environ(), functionCalls+"="+strconv.Itoa(calls))
	if said, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	file, err := os.Open(profile)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // only reads
	counts := map[string]int{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		at := strings.LastIndexByte(lines.Text(), ' ')
		if n, err := strconv.Atoi(lines.Text()[at+1:]); err == nil && !strings.Contains(lines.Text(), "test/") {
			counts[lines.Text()[:at]] = n
		}
	}
	if len(counts) == 0 {
		t.Fatal("the program has no coverage counters: run make functions")
	}
	return counts
}
