package pebble

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/memory/embed"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/sdk"
)

// pending makes each memory that is looked at wait for the gate.
type pending struct{}

func (pending) Retention(_ context.Context, _ core.Reader, in *policypoint.RetentionInput) policypoint.RetentionOutcome {
	return policypoint.RetentionOutcome{State: string(core.StateRevalidatePending)}
}

// purger is a gate that purges all that it is asked about.
type purger struct{}

func (purger) Decide(context.Context, core.Reader, *verdict.GateCase) (*verdict.GateDecision, error) {
	return &verdict.GateDecision{Verdict: "obsolete", NextAction: verdict.NextPurge, Confidence: 1}, nil
}

// TestPurge_LeavesNothingInTheDataFolder purges one of many memories, and looks for its
// title, content, tag and metadata, a word and its window in every file of the folder: as they
// are, and in what tables hold compressed. The kept index has the tag, the word and the window too.
func TestPurge_LeavesNothingInTheDataFolder(t *testing.T) {
	coretest.Long(t)
	if coretest.Plain(t) {
		return
	}
	others := coretest.Heavy(2_000, 30_000)
	dir := filepath.Join(t.TempDir(), "db")
	s, err := Open(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	m := newMemories(t, s)
	observeMany(t, m, 0, others/2)
	observed, err := m.Observe(core.WithCaller(t.Context(), core.Caller{Subject: "author"}), &core.ObserveRequest{
		ID: "doomed", Namespace: "doomed", Title: "a title that goes", Content: "the zsecretz content that goes", Attributes: core.Attributes{AgentID: "agent", Tags: []string{"tag-that-goes"}, Metadata: json.RawMessage(`{"metadata":"that goes"}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	recallInRun(t, s, m)
	m.Close() // its index is kept
	gone := []string{"that goes", "that-goes", "zsecretz", string(observed.Signals.Window)}
	if kept := indexHolds(t, s, gone); kept != 3 {
		t.Fatalf("the kept index has %d of a tag, a word and a window", kept)
	}
	observeMany(t, m, others/2, others)
	if _, err := m.Gate.Sweep(t.Context(), "doomed", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Get(t.Context(), "doomed"); err == nil {
		t.Fatal("it wasn't purged")
	}
	checkFolder(t, dir, !s.relist, gone)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	checkFolder(t, dir, true, gone)
}

// indexHolds counts the texts that the kept index holds.
func indexHolds(t *testing.T, s core.Store, texts []string) (count int) {
	t.Helper()
	all := ""
	err := s.View(t.Context(), func(r core.Reader) error {
		return core.ScanPrefix(r, []byte("memory-index-"), func(_, value []byte) (bool, error) {
			all += string(value)
			return true, nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		if strings.Contains(all, text) {
			count++
		}
	}
	return count
}

// newMemories returns memories of which the gate purges all that are swept.
func newMemories(t *testing.T, s core.Store) *memory.Memories {
	t.Helper()
	m, err := memory.New(memory.Options{
		Store: s, Retention: pending{}, Gate: purger{}, Embedder: embed.Hashed{}, IndexKeptFrom: 1, Forgetters: []core.Forgetter{run.Memories{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// recallInRun makes a run recall the memory that is purged.
func recallInRun(t *testing.T, s core.Store, m *memory.Memories) {
	t.Helper()
	found, err := m.Recall(t.Context(), &core.RecallRequest{Query: "what goes", RecallFilter: core.RecallFilter{Namespace: "doomed"}})
	if err != nil || len(found.Memories) != 1 {
		t.Fatalf("recalled %v, error %v", found, err)
	}
	found.Memories[0].Signals.Window = "" // a run keeps how a memory did, but for its texts
	runs, run := run.NewRepository(s, core.SystemClock{}), &core.Run{ID: "run", State: json.RawMessage("{}")}
	if err := runs.Create(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	visit := &core.Visit{Number: 1, Node: "n", Result: jsontext.MustEncode(found)}
	if err := runs.Recorder(run).RecordVisit(t.Context(), visit); err != nil {
		t.Fatal(err)
	}
}

// observeMany makes memories, a thousand at a time.
func observeMany(t *testing.T, m *memory.Memories, from, to int) {
	t.Helper()
	var all []*core.ObserveRequest
	for i := from; i < to; i++ {
		all = append(all, &core.ObserveRequest{
			ID: fmt.Sprintf("m-%06d", i), Namespace: fmt.Sprintf("n%d", i%7), Title: fmt.Sprint("memory ", i), Attributes: core.Attributes{Tags: []string{fmt.Sprint("tag-", i%50)}},
			Content: fmt.Sprintf("what was learned the %d-th time of %d", i, i*7919%1000),
		})
		if len(all) == 1000 || i == to-1 {
			if _, _, err := m.ObserveAll(t.Context(), all); err != nil {
				t.Fatal(err)
			}
			all = nil
		}
	}
}

// checkFolder looks for what went. The lists of tables may name it until the store is
// closed.
func checkFolder(t *testing.T, dir string, lists bool, texts []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d files, error %v", len(paths), err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // compacted meanwhile
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, gone := range texts {
			if bytes.Contains(data, []byte(gone)) && (lists || !strings.Contains(path, "MANIFEST-")) {
				t.Errorf("%s holds %q", path, gone)
			}
			if strings.HasSuffix(path, ".sst") {
				checkTable(t, vfs.Default, path, gone)
			}
		}
	}
}

// TestPurge_ThatCantCleanTheFilesSaysSo fails the disk between the commit of a purge and
// the end of its scrub: the answer has the decision, and says what is left.
func TestPurge_ThatCantCleanTheFilesSaysSo(t *testing.T) {
	fs := vfs.NewMem()
	hook := &beforeWrite{do: func(int64) error { return errors.New("the disk failed") }}
	s, err := open(t.Context(), Options{Dir: "db"}, hook.wrap(fs))
	if err != nil {
		t.Fatal(err)
	}
	m, err := memory.New(memory.Options{Store: armedByScrub{s, hook}, Gate: purger{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"doomed", "lost"} {
		if _, err := m.Observe(t.Context(), &core.ObserveRequest{ID: id, Namespace: "doomed", Title: "a title", Content: "the content that goes with " + id}); err != nil {
			t.Fatal(err)
		}
	}
	d, err := m.Gate.Erase(t.Context(), "doomed", memory.EraseRequest{Reason: "asked"})
	if d == nil || d.NextAction != verdict.NextPurge || d.GivenTo == nil || d.GivenTo.MemoryID != "doomed" {
		t.Errorf("the decision is %+v", d)
	}
	e := sdk.AsError(err)
	if e == nil || e.Reason != "purge_unfinished" || e.Code != sdk.Unavailable || !strings.Contains(e.Message, "the purge is done") ||
		!strings.Contains(e.Message, "the disk failed") || fmt.Sprint(e.Details["purged"]) != "[doomed]" {
		t.Errorf("the error is %+v", e)
	}
	if d, err := m.Gate.Erase(t.Context(), "lost", memory.EraseRequest{Reason: "asked"}); d != nil || sdk.ReasonOf(err) != "store_io" {
		t.Errorf("a purge that can't be committed gives %+v, %v", d, err)
	}
	hook.armed.Store(false)
	_ = s.Close() // the call that met the failure told of it
	if s, err = open(t.Context(), Options{Dir: "db"}, fs); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, name := range filesOf(t, fs) {
		if strings.HasSuffix(name, ".sst") {
			checkTable(t, fs, fs.PathJoin("db", name), "goes with doomed")
		}
	}
}

// armedByScrub is a store whose disk fails from its first scrub on.
type armedByScrub struct {
	*Store
	hook *beforeWrite
}

func (s armedByScrub) Scrub(ctx context.Context) (held string, err error) {
	s.hook.armed.Store(true)
	return s.Store.Scrub(ctx)
}
