package inject_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core/inject"
	"github.com/reflectory/reflectory/sdk"
)

// TestReadFiles has the YAML files of a folder, and none of a folder that doesn't exist.
func TestReadFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"p/a.yaml": "a", "p/b.yml": "b", "p/readme.md": "c", "p/.a.yaml": "d", "p/in/a.yaml": "e", "q/a.yaml": "f"} {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for folder, want := range map[string]map[string]string{"p": {"p/a.yaml": "a", "p/b.yml": "b"}, "absent": nil} {
		got, err := inject.ReadFiles(dir, folder)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", folder, err, diff)
		}
	}
	if _, err := inject.ReadFiles(dir, "p/a.yaml"); sdk.ReasonOf(err) != "prompt_files_unreadable" {
		t.Errorf("a file in place of the folder: %v", err)
	}
}
