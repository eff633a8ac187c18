package document_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/core/jsontext"
)

func TestMain(m *testing.M) { os.Exit(coretest.WithPlain(m).Run()) }

// The official JSON Schema suite has numbers, escapes and names of all kinds. As
// YAML its files must say what they say as JSON.
func TestTheFilesOfTheJSONSchemaSuiteAreReadAsJSON(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	cmd := exec.Command("go", "mod", "download", "-json", "github.com/kaptinlin/jsonschema")
	cmd.Dir = filepath.Join("..", "..", "testdata", "suites")
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go mod download in testdata/suites: %v", err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(module.Dir, "testdata", "JSON-Schema-Test-Suite", "tests", "draft*", "*.json"))
	if err != nil || len(files) < 100 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := &document.Problems{File: filepath.Base(file)}
		root := document.Read(string(text), document.Limits{Bytes: 1 << 20, Depth: 100}, found)
		if err := found.Err("file_invalid"); err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		want, err := jsontext.Decode(text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := jsontext.Decode(root.JSON(nil))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", file, err, diff)
		}
	}
}
