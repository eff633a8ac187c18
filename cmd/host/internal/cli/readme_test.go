//go:build cgo && lua54

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The README's first project is what init writes, and runs as it says.
func TestReadme_FirstProjectIsThatOfInit(t *testing.T) {
	readme, err := os.ReadFile("../../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	delete(w.env, "REFLECTORY_DATA_DIR")
	t.Chdir(w.dir)
	w.ok("init", "hello")
	workflow, err := os.ReadFile(filepath.Join("hello", "workflow.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "```yaml\n"+string(workflow)+"```") {
		t.Error("the README's first workflow isn't that of init")
	}
	t.Chdir("hello")
	if stdout, _ := w.ok("run", "workflow.yaml"); !strings.Contains(stdout, `"ada.lovelace@example.org"`) {
		t.Errorf("it gave %s", stdout)
	}

	// Nothing is overwritten.
	if code, _, stderr := w.run(t.Context(), "init"); code != exitFailure || !strings.Contains(stderr, "is there already") {
		t.Errorf("init over a project: exit %d, %s", code, stderr)
	}
	// The key is the user's alone.
	if info, err := os.Stat("key.pem"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("key.pem: %v %v", info, err)
	}
}
