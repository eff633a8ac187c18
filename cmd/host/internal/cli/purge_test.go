package cli

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
)

// recallsThenWaits recalls, and ends in an error, resumable, until the memory is purged.
const recallsThenWaits = `name: recalls
nodes:
  - {name: tips, action: memory.recall, with: {query: "how zebras sleep"}}
  - name: work
    action: reflection.loop
    with:
      on_generator_error: stop
      generator: {run: "if state.tips.memories[1].content ~= '[purged]' then error('not yet') end return state.tips.memories[1].id"}
      evaluator: {run: "return output == 'zebra-note'"}
`

// TestPurge_TakesRecalledMemoriesOutOfRuns erases a memory that two runs recalled: its
// texts are in no file any more, the answer names who was given it, and the runs show,
// continue and are judged again without them.
func TestPurge_TakesRecalledMemoriesOutOfRuns(t *testing.T) {
	coretest.Long(t)
	w := newWorld(t)
	w.ok("memory", "observe", "--id", "zebra-note", "--namespace", "default", "--title", "How zebras title-that-goes",
		"--content", "zebras sleep content-that-goes", "--tag", "tag-that-goes", "--metadata", `{"from":"metadata-that-goes"}`, "--idempotency-key", "once")
	reflection, _ := w.parsed(exitPassed, "memory reflect --source zebra-note --title rest --content rest")["id"].(string)
	waits := w.file("waits.yaml", recallsThenWaits)
	done := w.file("done.yaml", "name: done\nnodes:\n  - {name: tips, action: memory.recall, with: {query: how zebras sleep, kinds: [observation]}}\n")

	waiting, _ := w.parsed(exitFailure, "run "+waits)["run_id"].(string)
	passed, _ := w.parsed(exitPassed, "run "+done)["run_id"].(string)
	if out, _ := w.ok("runs", "show", passed, "--json"); strings.Count(out, "-that-goes") < 4 {
		t.Fatalf("a run shows what it recalled while that is there: %s", out)
	}

	erased := w.parsed(exitPassed, "gate request zebra-note --erase --reason asked")
	given, _ := erased["given_to"].(map[string]any)
	want := []string{waiting, passed}
	slices.Sort(want)
	if runs := words(given["runs"]); !slices.Equal(runs, want) {
		t.Errorf("the answer names the runs %v, not %v", runs, want)
	}
	if reflections := words(given["reflections"]); !slices.Equal(reflections, []string{reflection}) {
		t.Errorf("the answer names the reflections %v", reflections)
	}

	nowhereBelow(t, filepath.Join(w.dir, "data"), "that-goes")
	export := filepath.Join(w.dir, "all.jsonl")
	w.ok("store", "export", export)
	nowhereBelow(t, export, "that-goes")
	w.ok("store", "check")

	for _, id := range want {
		out, _ := w.ok("runs", "show", id, "--json")
		wantIn(t, out, "[purged]", "zebra-note")
	}
	out, _ := w.ok("resume", waiting, "--json")
	wantIn(t, out, `"status": "passed"`, "[purged]")
	w.ok("replay", waiting)
	w.ok("store", "check")
}

// words are the texts of a list in JSON.
func words(list any) []string {
	var all []string
	text, _ := json.Marshal(list)
	_ = json.Unmarshal(text, &all) // what isn't a list has none
	return all
}

// nowhereBelow looks for a text in a file, or in all files of a folder.
func nowhereBelow(t *testing.T, path, gone string) {
	t.Helper()
	err := filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(gone)) {
			t.Errorf("%s holds %q", path, gone)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
