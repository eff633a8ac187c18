//go:build cgo && lua54

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
)

// The README's first project is what init writes, and runs as it says.
func TestReadme_FirstProjectIsMadeByInit(t *testing.T) {
	readme, err := os.ReadFile("../../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	delete(w.env, "REFLECTORY_DATA_DIR")
	t.Chdir(w.dir)
	listed, _ := w.ok("init", "hello")
	if files := strings.Fields(listed); len(files) > 12 || strings.Contains(listed, "key") {
		t.Errorf("init writes %d files: %s", len(files), listed)
	}
	if _, err := os.Stat("hello/data"); err == nil {
		t.Error("init makes runs")
	}
	workflow, err := os.ReadFile(filepath.Join("hello", "workflow.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "```yaml\n"+string(workflow)+"```") {
		t.Error("the README's first workflow isn't the one that init makes")
	}
	t.Chdir("hello")
	if stdout, _ := w.ok("run", "workflow.yaml"); !strings.Contains(stdout, `"ada.lovelace@example.org"`) {
		t.Errorf("it gave %s", stdout)
	}

	if code, _, stderr := w.run(t.Context(), "init"); code != exitFailure || !strings.Contains(stderr, "is there already") {
		t.Errorf("init over a project: exit %d, %s", code, stderr)
	}
}

// What examples of the help read is in a project with examples before the examples that write
// it are run.
func TestInit_Examples(t *testing.T) {
	coretest.Long(t)
	w := newWorld(t)
	delete(w.env, "REFLECTORY_DATA_DIR")
	t.Chdir(w.dir)
	listed, _ := w.ok("init", "--examples", "hello")
	wantIn(t, listed, sampleFiles()...)
	t.Chdir("hello")
	for _, line := range []string{
		"correct --corrector examples/extract-contact/corrector.yaml --errors verdict.json draft.json",
		"dream run --plan plan.json",
		"audit verify --head @head.txt",
		"store import everything.jsonl --data-dir imported",
	} {
		w.line(exitPassed, "", line)
	}

	// Nothing is overwritten.
	if code, _, stderr := w.run(t.Context(), "init", "--examples"); code != exitFailure || !strings.Contains(stderr, "is there already") {
		t.Errorf("init over a project: exit %d, %s", code, stderr)
	}
	if err := os.Mkdir("other", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range sampleFiles() {
		w.file("hello/other/"+name, "mine")
		if code, _, stderr := w.run(t.Context(), "init", "--examples", "other"); code != exitFailure || !strings.Contains(stderr, name+" is there already") {
			t.Errorf("init over %s: exit %d, %s", name, code, stderr)
		}
		if err := os.Remove(filepath.Join("other", name)); err != nil {
			t.Fatal(err)
		}
	}
	// The key is the user's alone.
	if info, err := os.Stat("key.pem"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("key.pem: %v %v", info, err)
	}
}
