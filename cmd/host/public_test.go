package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// publicPackages are those that programs of others import.
var publicPackages = []string{
	"sdk", "sdk/guest", "sdk/jsonconfig", "sdk/process", "sdk/sdktest",
	"core", "core/host", "core/host/config", "core/host/operation", "core/loop", "core/memory", "policy",
}

// internalPackage is what the comment of any other package says, unless Go itself keeps others from
// importing it.
const internalPackage = "\n// It is internal to Reflectory: its API may change in any release.\npackage "

func TestPackages_SayThatTheyAreInternal(t *testing.T) {
	for name := range imports {
		if strings.Contains(name+"/", "/internal/") || strings.HasPrefix(name, "examples") {
			continue
		}
		internal, importable := false, false
		files, err := filepath.Glob("../../" + name + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			internal = internal || strings.Contains(string(text), internalPackage)
			importable = importable || !strings.HasSuffix(file, "_test.go") && !strings.Contains(string(text), "\npackage main\n")
		}
		switch public := slices.Contains(publicPackages, name); {
		case public && internal:
			t.Errorf("%s is public, but its comment says that it is internal", name)
		case importable && !public && !internal:
			t.Errorf("the comment of %s must end with %q", name, strings.Split(internalPackage, "\n")[1])
		}
	}
}

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
