package pebble

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/sdk"
)

// fixedClock tells the same time for ever.
type fixedClock struct{}

func (fixedClock) Now() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }

const testRun = "0193f2a0-0000-7000-8000-000000000001"

// scenario is a run of two visits with three attempts each, as a list of
// commits; each may be retried as a whole after a crash.
func scenario() []func(context.Context, core.RunRecorder) error {
	var steps []func(context.Context, core.RunRecorder) error
	for visit := 1; visit <= 2; visit++ {
		for i := 1; i <= 3; i++ {
			a := core.Attempt{Iteration: i, Role: sdk.RoleGenerate, Output: jsontext.MustEncode(fmt.Sprintf("out %d.%d", visit, i))}
			judged := a
			judged.Judged, judged.Score = true, float64(i)/4
			steps = append(steps,
				func(ctx context.Context, r core.RunRecorder) error {
					return r.Attempts(visit, "loop").RecordOutput(ctx, &a)
				},
				func(ctx context.Context, r core.RunRecorder) error {
					return r.Attempts(visit, "loop").RecordVerdict(ctx, &judged)
				})
		}
		steps = append(steps, func(ctx context.Context, r core.RunRecorder) error {
			return r.RecordVisit(ctx, &core.Visit{Number: visit, Node: "loop", Result: jsontext.MustEncode("done")})
		})
	}
	return append(steps, func(ctx context.Context, r core.RunRecorder) error {
		return r.RecordEnd(ctx, &core.Run{ID: testRun, Status: core.StatusPassed}, nil)
	})
}

// play creates the run, records the scenario, and calls acknowledged after each
// commit with how many there are.
func play(ctx context.Context, s core.Store, acknowledged func(commits int)) error {
	runs := run.NewRepository(s, fixedClock{})
	run := &core.Run{ID: testRun, Workflow: "test", State: jsontext.MustEncode(map[string]any{})}
	if err := runs.Create(ctx, run); err != nil {
		return err
	}
	acknowledged(1)
	recorder := runs.Recorder(run)
	for i, step := range scenario() {
		if err := step(ctx, recorder); err != nil {
			return err
		}
		acknowledged(i + 2)
	}
	return nil
}

// checkHistory proves that a store holds the first commits of the scenario, at
// least as many as were acknowledged, without a gap, and an unbroken journal.
func checkHistory(t *testing.T, s core.Store, acknowledged int) {
	t.Helper()
	entries := countEntries(t, s)
	if entries < acknowledged || entries > acknowledged+1 {
		t.Fatalf("%d commits are there, %d were acknowledged", entries, acknowledged)
	}
	if entries == 0 {
		return
	}
	checkRecords(t, s, entries-1)
}

// countEntries returns how many entries the run's journal has, and proves that
// the journal is whole.
func countEntries(t *testing.T, s core.Store) (entries int) {
	t.Helper()
	err := s.View(t.Context(), func(r core.Reader) error {
		if _, err := (&journal.Audit{}).Verify(t.Context(), r); err != nil {
			return err
		}
		return journal.Read(r, run.Stream(testRun), func(journal.Entry) error { entries++; return nil })
	})
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// checkRecords proves that the records are the result of the scenario's first steps.
func checkRecords(t *testing.T, s core.Store, steps int) {
	t.Helper()
	const perVisit = 7
	runs := run.NewRepository(s, fixedClock{})
	progress, err := runs.Progress(t.Context(), testRun)
	if err != nil {
		t.Fatal(err)
	}
	visits := min(steps/perVisit, 2)
	attempts := 0
	if visits < 2 {
		attempts = (steps%perVisit + 1) / 2
	}
	if len(progress.Visits) != visits || len(progress.Attempts) != attempts {
		t.Errorf("after %d steps: %d visits and %d open attempts, want %d and %d",
			steps, len(progress.Visits), len(progress.Attempts), visits, attempts)
	}
	listed, _, err := runs.List(t.Context(), run.ListFilter{})
	if err != nil || len(listed) != 1 {
		t.Errorf("List: %d runs, error %v", len(listed), err)
	}
	_, err = runs.Resume(t.Context(), testRun)
	if ended := steps == len(scenario()); ended != (sdk.ReasonOf(err) == "run_not_resumable") || !ended && err != nil {
		t.Errorf("Resume after %d steps: %v", steps, err)
	}
}

func TestCrashAtEveryCommit(t *testing.T) {
	fs := newMemDisk()
	s := openTest(t, Options{Dir: "db", MemTableBytes: 64 << 10}, fs)
	clones := 0
	err := play(t.Context(), s, func(commits int) {
		clone := fs.CrashClone(vfs.CrashCloneCfg{})
		checkHistory(t, openTest(t, Options{Dir: "db"}, clone), commits)
		clones++
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := len(scenario()) + 1; clones != want {
		t.Errorf("%d crashes, want %d", clones, want)
	}
}

// TestCrashInsideCommits crashes at every write and sync of the log, not only
// between commits.
func TestCrashInsideCommits(t *testing.T) {
	mem := newMemDisk()
	var acknowledged atomic.Int64
	acknowledged.Store(-1) // while the store is being opened
	var mu sync.Mutex
	var crashes []crash
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if n := acknowledged.Load(); n >= 0 && (op.Kind == errorfs.OpFileWrite || op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData) {
			mu.Lock()
			defer mu.Unlock()
			crashes = append(crashes, crash{mem.CrashClone(vfs.CrashCloneCfg{}), n})
		}
		return nil
	}))
	s := openTest(t, Options{Dir: "db"}, fs)
	acknowledged.Store(0)
	if err := play(t.Context(), s, func(commits int) { acknowledged.Store(int64(commits)) }); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(crashes) < len(scenario()) {
		t.Fatalf("only %d crashes", len(crashes))
	}
	for _, c := range crashes {
		checkHistory(t, openTest(t, Options{Dir: "db"}, c.disk), int(c.acknowledged))
	}
}

// TestEveryWriteErrorOnce makes the i-th change of the disk fail, for i from 0
// until the scenario succeeds.
func TestEveryWriteErrorOnce(t *testing.T) {
	failures := 0
	for i := int32(0); ; i++ {
		if i > 2000 {
			t.Fatal("the scenario never succeeds")
		}
		mem := newMemDisk()
		acknowledged, err := playInjected(t, mem, i)
		if err == nil {
			break
		}
		failures++
		if !errors.Is(err, errorfs.ErrInjected) || sdk.ReasonOf(err) != "store_io" {
			t.Fatalf("error %d surfaces as %v (%s)", i, err, sdk.ReasonOf(err))
		}
		checkHistory(t, openTest(t, Options{Dir: "db"}, mem.CrashClone(vfs.CrashCloneCfg{})), acknowledged)
	}
	if failures < 20 {
		t.Errorf("only %d errors were injected", failures)
	}
}

// TestAnOpenThatCannotWriteSaysSo: also where nothing but the open itself writes.
func TestAnOpenThatCannotWriteSaysSo(t *testing.T) {
	failures := 0
	for i := int32(0); i < 100; i++ {
		mem := vfs.NewMem()
		first := openTest(t, Options{Dir: "db"}, mem)
		if err := core.JoinErrors(play(t.Context(), first, func(int) {}), first.Close()); err != nil {
			t.Fatal(err)
		}
		s, err := open(t.Context(), Options{Dir: "db"}, failingOnce(mem, i))
		if err == nil {
			if s.Err() != nil {
				t.Errorf("write %d failed, and the store is open: %v", i, s.Err())
			}
			_ = s.Close()
			break
		}
		failures++
		if !errors.Is(err, errorfs.ErrInjected) || sdk.ReasonOf(err) != "store_io" {
			t.Fatalf("error %d surfaces as %v (%s)", i, err, sdk.ReasonOf(err))
		}
		checkHistory(t, openTest(t, Options{Dir: "db"}, mem), len(scenario())+1)
	}
	if failures < 3 {
		t.Errorf("only %d errors were injected", failures)
	}
}

// failingOnce is a disk whose i-th change fails.
func failingOnce(mem vfs.FS, i int32) vfs.FS {
	index := errorfs.OnIndex(i)
	return errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch op.Kind.ReadOrWrite() {
		case errorfs.OpIsWrite:
			switch op.Kind {
			case errorfs.OpRemove, errorfs.OpRemoveAll, errorfs.OpFilePreallocate, errorfs.OpFileClose:
				return nil // harmless: nothing is promised by them
			}
			return index.MaybeError(op)
		}
		return nil
	}))
}

// playInjected plays the scenario while the i-th change of the disk fails, and
// returns how many commits were acknowledged.
func playInjected(t *testing.T, mem vfs.FS, i int32) (acknowledged int, err error) {
	s, err := open(t.Context(), Options{Dir: "db", MemTableBytes: 64 << 10}, failingOnce(mem, i))
	if err != nil {
		return 0, err
	}
	err = play(t.Context(), s, func(commits int) { acknowledged = commits })
	if err != nil {
		checkFailed(t, s)
	}
	if closeErr := s.Close(); closeErr != nil && err == nil {
		err = closeErr
	}
	return acknowledged, err
}

// checkFailed proves that a store whose disk failed refuses writes and reads on.
func checkFailed(t *testing.T, s *Store) {
	t.Helper()
	if s.Err() == nil {
		t.Error("a failed store says that it takes writes")
	}
	err := s.Update(t.Context(), func(tx core.Tx) error { return tx.Put([]byte("late"), nil) })
	if sdk.ReasonOf(err) != "store_io" {
		t.Errorf("a write after the failure: %v", err)
	}
	err = s.View(t.Context(), func(r core.Reader) error {
		_, _, err := r.Get([]byte("meta/format"))
		return err
	})
	if err != nil {
		t.Errorf("a read after the failure: %v", err)
	}
}
