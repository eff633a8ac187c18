package main

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/sdktest"
)

var codeBlock = regexp.MustCompile("(?ms)^```(go|json|python)\n(.*?)^```$")

// Every snippet of the authors' guide stands in an example, which is compiled and
// run by its own tests.
func TestTheAuthorsGuideShowsWhatIsTested(t *testing.T) {
	guide := readText(t, "../../sdk/AUTHORING.md")
	var examples strings.Builder
	err := fs.WalkDir(os.DirFS("../../examples"), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			examples.WriteString(readText(t, "../../examples/"+name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	blocks := codeBlock.FindAllStringSubmatch(guide, -1)
	if len(blocks) < 5 {
		t.Errorf("the guide has %d snippets", len(blocks))
	}
	for _, block := range blocks {
		if !strings.Contains(examples.String(), block[2]) {
			t.Errorf("no example holds this:\n%s", block[2])
		}
	}
}

// The guide lists the kit's cases as they are.
func TestTheAuthorsGuideListsTheKitsCases(t *testing.T) {
	guide := readText(t, "../../sdk/AUTHORING.md")
	for _, r := range sdktest.Check(t.Context(), sdktest.InProcess(sdk.Plugin{}), nil, sdktest.Options{}) {
		if row := "| `" + r.Case + "` | " + r.Rule + " |"; !strings.Contains(guide, row) {
			t.Errorf("the guide lacks the row %s", row)
		}
	}
}

func readText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
