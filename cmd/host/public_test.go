package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// publicPackages are those that programs of others import.
var publicPackages = []string{"sdk", "sdk/process", "sdk/guest", "sdk/sdktest", "policy", "core", "core/loop", "core/memory", "core/host", "core/host/operation"}

var runnableExample = regexp.MustCompile(`(?s)func Example\w*\(\) \{.*?// Output:`)

// Each public package shows, in code that runs with the tests, how it is used.
func TestPublicPackages_HaveRunnableExamples(t *testing.T) {
	for _, name := range publicPackages {
		files, err := filepath.Glob("../../" + name + "/*_test.go")
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			found = found || runnableExample.Match(text)
		}
		if !found {
			t.Errorf("%s has no example that runs", name)
		}
	}
}
