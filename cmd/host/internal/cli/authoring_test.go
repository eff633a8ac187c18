package cli

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/sdktest"
)

// indentedBlock is a code block of the guide, which may be in a list.
var indentedBlock = regexp.MustCompile("(?ms)^ *```(sh|yaml)\n(.*?)^ *```$")

var codeBlock = regexp.MustCompile("(?ms)^```(go|json|python)\n(.*?)^```$")

// Every snippet of the authors' guide is in an example, which is compiled and
// run by its own tests.
func TestTheAuthorsGuideShowsWhatIsTested(t *testing.T) {
	guide := readText(t, "../../../../sdk/AUTHORING.md")
	var examples strings.Builder
	err := fs.WalkDir(os.DirFS("../../../../examples"), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			examples.WriteString(readText(t, "../../../../examples/"+name))
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
	guide := readText(t, "../../../../sdk/AUTHORING.md")
	for _, r := range sdktest.Check(t.Context(), sdktest.InProcess(sdk.Plugin{}), nil, sdktest.Options{}) {
		if row := "| `" + r.Case + "` | " + r.Rule + " |"; !strings.Contains(guide, row) {
			t.Errorf("the guide lacks the row %s", row)
		}
	}
}

// The files of the guide's ten minutes are in a script, which also runs its commands.
func TestTheAuthorsGuideIsFollowed(t *testing.T) {
	script := readText(t, "testdata/script/authoring.txtar")
	_, section, _ := strings.Cut(readText(t, "../../../../sdk/AUTHORING.md"), "## Ten minutes\n")
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := indentedBlock.FindAllStringSubmatch(section, -1)
	if len(blocks) < 8 {
		t.Errorf("the guide's ten minutes have %d blocks", len(blocks))
	}
	for _, block := range blocks {
		text := strings.ReplaceAll("\n"+block[2], "\n   ", "\n")[1:]
		if block[1] == "yaml" {
			if !strings.Contains(script, " --\n"+text+"-- ") && !strings.HasSuffix(script, " --\n"+text) {
				t.Errorf("the script has no file that holds this:\n%s", text)
			}
			continue
		}
		for line := range strings.Lines(text) {
			if command := followed(line); command != "" && !strings.Contains(script, "\nexec "+command+"\n") {
				t.Errorf("the script doesn't run %s", command)
			}
		}
	}
}

// followed is the command of a line of the guide as the script has it: in Python,
// for Go needs a build, and with what Python has to be granted.
func followed(line string) string {
	command := strings.TrimSpace(line)
	if _, reads, piped := strings.Cut(command, " | "); piped {
		command = reads
	}
	switch {
	case !strings.HasPrefix(command, "reflectory "):
		return ""
	case strings.HasPrefix(command, "reflectory plugin add "):
		return command + " --grant fs:system"
	}
	return strings.Replace(command, "--lang go --sdk ~/reflectory", "--lang python", 1)
}

func readText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
