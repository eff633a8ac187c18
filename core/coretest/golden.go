package coretest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files of these tests")

// Golden compares a text with the file of a name in testdata, which -update rewrites.
func Golden(t testing.TB, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if line, here, there := firstDifference(got, string(want)); line > 0 {
		t.Errorf("%s has %.200q in line %d, and the test gives %.200q; if that is right, rewrite it: go test -run '^%s$' -update", path, there, line, here, t.Name())
	}
}

// firstDifference is the number of the first line in which two texts differ, and what each has
// there; 0 if they are equal.
func firstDifference(a, b string) (number int, inA, inB string) {
	linesA, linesB := strings.SplitAfter(a, "\n"), strings.SplitAfter(b, "\n")
	for i := range max(len(linesA), len(linesB)) {
		if inA, inB = lineAt(linesA, i), lineAt(linesB, i); inA != inB {
			return i + 1, inA, inB
		}
	}
	return 0, "", ""
}

// lineAt is the line with an index, "" after the last.
func lineAt(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}
