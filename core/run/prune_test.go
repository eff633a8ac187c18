package run_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/core/store"
)

// TestPrune_TextsOfMemoriesGoWithoutATrace: a purge couldn't find them in a file.
func TestPrune_TextsOfMemoriesGoWithoutATrace(t *testing.T) {
	b := newBenchOfMemories(t)
	b.run.Status = core.StatusPassed
	b.must(b.runs.Recorder(b.run).RecordEnd(b.ctx, b.run, nil))
	clock, dir := &coretest.Clock{}, t.TempDir()
	_, text, _ := strings.Cut(recalled, `"content":"`)
	text, _, _ = strings.Cut(text, `"`)
	if !b.holds(text) {
		t.Fatalf("the store has no %q", text)
	}
	clock.Advance(1e6 * time.Hour)
	done, err := store.Prune(t.Context(), &journal.Writer{Store: b.store, Clock: clock}, store.PruneOptions{
		Parts: []store.PrunePart{{Name: "runs", Pruner: &run.Pruner{Before: clock.Now(), Purged: isPurged}}}, Dir: dir,
	})
	if err != nil || done[0].Streams != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	if b.holds(text) || len(b.problems()) != 0 {
		t.Errorf("the store still has %q, or %q", text, b.problems())
	}
	if runs := b.purge("m"); !slices.Equal(runs, []string{runID}) || len(b.problems()) != 0 {
		t.Errorf("it was given to %q; %q", runs, b.problems())
	}
	change(t, b.store, func(tx core.Tx) error { return tx.Put([]byte("run-memory/n/"+runID+"/\x00\x00\x00\x01"), []byte("{}")) })
	if list := b.problems(); len(list) != 1 || !strings.Contains(list[0], "no visit holds this memory") {
		t.Errorf("texts that were put back: %q", list)
	}
	data, err := os.ReadFile(filepath.Join(dir, done[0].Files[0].Name))
	b.must(err)
	if bytes.Contains(data, []byte(text)) || !bytes.Contains(data, []byte("[purged]")) {
		t.Errorf("the file has %s", data)
	}
}
