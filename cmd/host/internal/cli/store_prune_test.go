package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestStorePrune_ItsFilesAreProven prunes a run and the decisions on it, and changes the
// files that they went to. The name of each names its digest.
func TestStorePrune_ItsFilesAreProven(t *testing.T) {
	w := newPlainWorld(t)
	w.env["REFLECTORY_KEEP_RUNS"], w.env["REFLECTORY_KEEP_DECISIONS"] = "1ns", "1ns"
	w.ok("run", w.file("recall.yaml", "nodes:\n  - {name: tips, action: memory.recall, with: {query: zebras}}\n"))
	w.ok("memory", "observe", "--id", "source", "--namespace", "default", "--content", "zebras sleep")
	w.ok("memory", "reflect", "--source", "source", "--title", "rest", "--content", "rest")
	pruned := w.parsed(exitPassed, "store prune --out archive")
	if within(pruned, "runs.streams") != 1.0 || within(pruned, "decisions.records") == 0.0 {
		t.Fatalf("pruned %v", pruned)
	}
	files, err := filepath.Glob(filepath.Join("archive", "*.jsonl"))
	if err != nil || len(files) < 2 {
		t.Fatalf("%q, %v", files, err)
	}
	line := "audit verify"
	for _, file := range files {
		line += " --segment " + file
	}
	out, _ := w.line(exitPassed, "", line)
	if strings.Count(out, ", as sealed\n") != len(files) {
		t.Errorf("it says %s", out)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for what, changed := range map[string][]byte{
			"edited": bytes.Replace(data, []byte(`"at":"2`), []byte(`"at":"1`), 1), "cut": data[:len(data)-10], "of another system": bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")),
		} {
			if err := os.WriteFile(file, changed, 0o600); err != nil {
				t.Fatal(err)
			}
			out, _ = w.line(exitNotValid, "", "audit verify --segment "+file)
			wantIn(t, out, file)
			verified := w.parsed(exitNotValid, "audit verify --segment "+file)
			if code := within(verified, "problem.code"); code != "segment_broken" && code != "journal_broken" {
				t.Errorf("%s, %s: %v", file, what, verified)
			}
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.line(exitPassed, "", line)
}

// TestStorePrune_APurgeStillLeavesNothing: neither the file that a run went to has what
// the run recalled, nor the tables that it was in. The answer names the run all the same.
func TestStorePrune_APurgeStillLeavesNothing(t *testing.T) {
	w := newPlainWorld(t)
	w.env["REFLECTORY_KEEP_RUNS"] = "1ns"
	w.ok("memory", "observe", "--id", "zebra-note", "--namespace", "default", "--title", "How zebras title-that-goes",
		"--content", "zebras sleep content-that-goes", "--tag", "tag-that-goes")
	run, _ := w.parsed(exitPassed, "run "+w.file("recall.yaml", "nodes:\n  - {name: tips, action: memory.recall, with: {query: how zebras sleep}}\n"))["run_id"].(string)
	if out, _ := w.ok("runs", "show", run); !strings.Contains(out, run) {
		t.Fatalf("the run shows as %s", out)
	}
	if pruned := w.parsed(exitPassed, "store prune"); within(pruned, "runs.streams") != 1.0 {
		t.Fatalf("pruned %v", pruned)
	}
	erased := w.parsed(exitPassed, "gate request zebra-note --erase --reason asked")
	if runs := words(within(erased, "given_to.runs")); !slices.Equal(runs, []string{run}) {
		t.Errorf("it was given to %v", runs)
	}
	nowhereBelow(t, filepath.Join(w.dir, "data"), "that-goes")
	w.ok("store", "check")
}
