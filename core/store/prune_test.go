package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/decisions"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/core/store/pebble"
	"github.com/reflectory/reflectory/sdk"
)

const day = 24 * time.Hour

// archive is a store of several days.
type archive struct {
	*testing.T
	store core.Store
	clock *coretest.Clock
	dir   string
}

// newArchive is a store that on each of ten days recorded two decisions of the gate and
// one of a loop, and a run: on even days one that passed, on odd ones in turn one that
// ended in an error and one that was killed.
func newArchive(t *testing.T, s core.Store) *archive {
	t.Helper()
	a := &archive{t, s, &coretest.Clock{}, t.TempDir()}
	a.must(store.Prepare(t.Context(), s))
	for d := range 10 {
		a.decide("gate", fmt.Sprintf("gate-%d-a", d), fmt.Sprintf("gate-%d-b", d))
		a.decide("loop", fmt.Sprintf("loop-%d", d))
		a.run(fmt.Sprintf("run-0000%d", d), []core.Status{core.StatusPassed, core.StatusError, core.StatusExhausted, core.StatusRunning}[d%4])
		a.clock.Advance(day)
	}
	return a
}

func (a *archive) must(err error) {
	a.Helper()
	if err != nil {
		a.Fatal(err)
	}
}

func (a *archive) writer() *journal.Writer { return &journal.Writer{Store: a.store, Clock: a.clock} }

// decide records decisions.
func (a *archive) decide(point string, ids ...string) {
	a.Helper()
	a.must(a.decided(point, ids...))
}

func (a *archive) decided(point string, ids ...string) error {
	return a.writer().Update(a.Context(), func(tx *journal.Tx) error {
		for _, id := range ids {
			record := jsontext.MustEncode(map[string]string{"decided": id})
			if err := tx.Put([]byte("decision/"+id), record); err != nil {
				return err
			}
			if err := tx.Append(journal.DecisionStream(point), journal.PolicyDecided{ID: id, File: "f", Record: core.Digest(record)}); err != nil {
				return err
			}
		}
		return nil
	})
}

// run records a run of a loop of two attempts.
func (a *archive) run(id string, status core.Status) {
	a.Helper()
	runs := run.NewRepository(a.store, a.clock)
	run := &core.Run{ID: id, Workflow: "w", State: jsontext.MustEncode(map[string]any{})}
	a.must(runs.Create(a.Context(), run))
	rec := runs.Recorder(run)
	for i := 1; i <= 2; i++ {
		a.must(rec.Attempts(1, "loop").RecordOutput(a.Context(), output(i)))
		a.must(rec.Attempts(1, "loop").RecordVerdict(a.Context(), judged(i)))
	}
	if status == core.StatusRunning {
		return
	}
	a.must(rec.RecordVisit(a.Context(), &core.Visit{Number: 1, Node: "loop", Result: []byte(`{"score":0.5}`)}))
	run.Status = status
	a.must(rec.RecordEnd(a.Context(), run, nil))
}

// options prune what is from before a day, in batches of a few keys.
func (a *archive) options(days int) store.PruneOptions {
	at := coretest.Epoch().Add(time.Duration(days) * day)
	return store.PruneOptions{
		Parts: []store.PrunePart{{Name: "decisions", Pruner: decisions.Pruner{Before: at}}, {Name: "runs", Pruner: &run.Pruner{Before: at}}},
		Dir:   a.dir, BatchKeys: 8,
	}
}

func (a *archive) prune(days int) []store.PrunedPart {
	a.Helper()
	done, err := store.Prune(a.Context(), a.writer(), a.options(days))
	a.must(err)
	return done
}

// sound checks that nothing is wrong with the store.
func (a *archive) sound() {
	a.Helper()
	_, err := journal.Record(a.Context(), a.writer())
	a.must(err)
	for _, p := range a.problems() {
		a.Errorf("found %+v", p)
	}
	a.must(a.store.View(a.Context(), func(r core.Reader) error {
		_, err := (&journal.Audit{}).Verify(a.Context(), r)
		return err
	}))
}

func (a *archive) problems() (list []core.Problem) {
	a.Helper()
	_, err := store.Check(a.Context(), a.store, append(parts(), decisions.Checker{}), func(p core.Problem) { list = append(list, p) })
	a.must(err)
	return list
}

// left are the ids of the decisions and runs that are there, sorted.
func (a *archive) left() (ids []string) {
	a.Helper()
	for key := range dump(a.T, a.store) {
		if id, is := strings.CutPrefix(key, "decision/"); is {
			ids = append(ids, id)
		}
		if id, is := strings.CutPrefix(key, "run/"); is {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// files are the names of the files, sorted.
func (a *archive) files() []string {
	a.Helper()
	list, err := filepath.Glob(filepath.Join(a.dir, "*"))
	a.must(err)
	return list
}

func (a *archive) checkFile(path string) (store.CheckedSegments, error) {
	a.Helper()
	f, err := os.Open(path)
	a.must(err)
	defer f.Close()
	var found store.CheckedSegments
	err = a.store.View(a.Context(), func(r core.Reader) (err error) {
		found, err = store.CheckSegments(a.Context(), r, f)
		return err
	})
	return found, err
}

// from lists names that are there from a day on, and those that are never pruned.
func from(days int) (ids []string) {
	for d := range 10 {
		if d >= days {
			ids = append(ids, fmt.Sprintf("gate-%d-a", d), fmt.Sprintf("gate-%d-b", d), fmt.Sprintf("loop-%d", d))
		}
		if d >= days || d%2 == 1 {
			ids = append(ids, fmt.Sprintf("run-0000%d", d))
		}
	}
	slices.Sort(ids)
	return ids
}

func TestPrune_MovesWhatIsOldToFiles(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		a := newArchive(t, s)
		before := dump(t, s)
		dry := a.options(6)
		dry.DryRun = true
		would, err := store.Prune(t.Context(), a.writer(), dry)
		a.must(err)
		if diff := cmp.Diff(before, dump(t, s)); diff != "" || len(a.files()) != 0 {
			t.Errorf("a dry run changed something: %s, %q", diff, a.files())
		}
		done := a.prune(6)
		for i := range done {
			if len(done[i].Files) < 2 {
				t.Errorf("%s went in one batch", done[i].Name)
			}
			done[i].Files = []store.SegmentFile{}
		}
		want := []store.PrunedPart{{Name: "decisions", Streams: 2, Entries: 18, Records: 18}, {Name: "runs", Streams: 3, Entries: 21, Records: 18}}
		for i := range want {
			want[i].Files = []store.SegmentFile{}
		}
		if diff := cmp.Diff(want, done) + cmp.Diff(want, would); diff != "" {
			t.Errorf("%s", diff)
		}
		a.sound()
		if diff := cmp.Diff(from(6), a.left()); diff != "" {
			t.Errorf("left: %s", diff)
		}
		var total store.CheckedSegments
		for _, path := range a.files() {
			found, err := a.checkFile(path)
			if err != nil {
				t.Errorf("%s: %v", path, err)
			}
			total.Entries, total.Records = total.Entries+found.Entries, total.Records+found.Records
			data, err := os.ReadFile(path)
			a.must(err)
			if found.Digest != core.Digest(data) || !strings.Contains(path, found.Digest[len("sha256:"):][:16]) {
				t.Errorf("%s has the digest %s", path, found.Digest)
			}
		}
		if total.Entries != 39 || total.Records != 36 {
			t.Errorf("the files have %+v", total)
		}
		many := len(a.files())
		if done := a.prune(6); len(a.files()) != many || len(done[0].Files)+len(done[1].Files) != 0 {
			t.Errorf("pruned again: %+v", done)
		}
		a.prune(8) // goes on from there
		a.sound()
		if diff := cmp.Diff(from(8), a.left()); diff != "" {
			t.Errorf("left: %s", diff)
		}
		for _, path := range a.files() { // the older ones too
			if _, err := a.checkFile(path); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	})
}

// TestPrune_GoesThroughAnExport: what was pruned stays so, and proven.
func TestPrune_GoesThroughAnExport(t *testing.T) {
	a := newArchive(t, mem.Open())
	a.prune(5)
	text := exported(t, a.store)
	b := &archive{t, mem.Open(), a.clock, a.dir}
	_, err := store.Import(t.Context(), b.store, strings.NewReader(text), append(parts(), decisions.Checker{}), nil)
	a.must(err)
	if again := exported(t, b.store); again != text {
		t.Error("the export of the import differs")
	}
	b.sound()
	for _, path := range b.files() {
		if _, err := b.checkFile(path); err != nil {
			t.Error(err)
		}
	}
}

// TestPrune_ARunThatWasPrunedIsNamed: the one who asks for it learns where it is.
func TestPrune_ARunThatWasPrunedIsNamed(t *testing.T) {
	a := newArchive(t, mem.Open())
	a.prune(2)
	runs := run.NewRepository(a.store, a.clock)
	_, shown := runs.Find(t.Context(), "run-00000")
	_, got := runs.Get(t.Context(), "run-00000")
	_, resumed := runs.Resume(t.Context(), "run-00000")
	_, attempts := runs.Attempts(t.Context(), "run-00000")
	for what, err := range map[string]error{"find": shown, "get": got, "resume": resumed, "attempts": attempts} {
		if sdk.ReasonOf(err) != "run_pruned" || sdk.CodeOf(err) != sdk.NotFound || !strings.Contains(err.Error(), filepath.Base(a.files()[len(a.files())-1])) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := runs.Create(t.Context(), &core.Run{ID: "run-00000", State: []byte("{}")}); sdk.ReasonOf(err) != "run_exists" {
		t.Errorf("its id is given again: %v", err)
	}
	a.prune(5)
	if _, err := runs.Find(t.Context(), "run-0000"); sdk.ReasonOf(err) != "run_ambiguous" { // two that are there
		t.Errorf("%v", err)
	}
	for id, reason := range map[string]string{"run-00002": "run_pruned", "run-00001": "", "run-0000x": "run_not_found"} {
		if _, err := runs.Find(t.Context(), id); sdk.ReasonOf(err) != reason {
			t.Errorf("%s: %v", id, err)
		}
	}
}

var errKilled = errors.New("killed")

// mortal is a store whose program is killed as it begins a commit.
type mortal struct {
	core.Store
	commits int
}

func (m *mortal) Update(ctx context.Context, fn func(core.Tx) error) error {
	if m.commits--; m.commits < 0 {
		return errKilled
	}
	return m.Store.Update(ctx, fn)
}

// TestPrune_AKillLeavesWholeSteps kills it before each commit: nothing is wrong, what isn't
// in the store is in a file that holds, and pruning again leaves what an unkilled one does.
func TestPrune_AKillLeavesWholeSteps(t *testing.T) {
	for commits := 0; ; commits++ {
		a := newArchive(t, mem.Open())
		all := a.left()
		_, err := store.Prune(t.Context(), &journal.Writer{Store: &mortal{a.store, commits}, Clock: a.clock}, a.options(6))
		if err == nil {
			if commits < 5 {
				t.Errorf("only %d commits", commits)
			}
			return
		}
		if !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		a.sound()
		kept, stray := map[string]bool{}, 0
		for _, path := range a.files() {
			_, err := a.checkFile(path)
			data, readErr := os.ReadFile(path)
			a.must(readErr)
			for _, id := range all {
				kept[id] = kept[id] || err == nil && bytes.Contains(data, []byte(`"`+id+`"`))
			}
			if err != nil { // of the batch that wasn't committed
				stray++
				if sdk.ReasonOf(err) != "segment_broken" || !strings.Contains(sdk.AsError(err).Hint, "prune again") {
					t.Errorf("%d commits: %v", commits, err)
				}
			}
		}
		left := a.left()
		for _, id := range all {
			if slices.Contains(left, id) == kept[id] {
				t.Errorf("%d commits: %s is in the store or in a file: both %t", commits, id, kept[id])
			}
		}
		if stray > 1 {
			t.Errorf("%d commits: %d files of a batch", commits, stray)
		}
		a.prune(6)
		a.sound()
		if diff := cmp.Diff(from(6), a.left()); diff != "" {
			t.Errorf("%d commits, left: %s", commits, diff)
		}
	}
}

// TestPrune_DamageStays: what is damaged isn't removed, so that it can be looked into.
func TestPrune_DamageStays(t *testing.T) {
	for name, key := range map[string]string{
		"a decision": "decision/gate-0-a", "a decision's event": "event/decision/gate\x00\x00\x00\x00\x00\x00\x00\x00\x01",
		"an attempt": "attempt/run-00000/\x00\x00\x00\x01\x00\x00\x00\x01", "a run's event": "event/run/run-00000\x00\x00\x00\x00\x00\x00\x00\x00\x03",
		"a run": "run/run-00000", "a visit": "visit/run-00000/\x00\x00\x00\x01",
	} {
		for _, how := range []string{"gone", "changed"} {
			t.Run(name+" is "+how, func(t *testing.T) {
				a := newArchive(t, mem.Open())
				value := dump(t, a.store)[key]
				if value == "" {
					t.Fatal("there is no such key")
				}
				change(t, a.store, func(tx core.Tx) error {
					if how == "gone" {
						return tx.Delete([]byte(key))
					}
					return tx.Put([]byte(key), []byte(strings.NewReplacer("0.5", "0.6", "gate-0-a", "gate-0-c", `"number":1`, `"number":2`, `"loop"`, `"lo0p"`, `"passed"`, `"raised"`).Replace(value)))
				})
				_, err := journal.Record(t.Context(), a.writer())
				a.must(err)
				before, o := dump(t, a.store), a.options(2)
				if o.BatchKeys = 1000; strings.Contains(key, "run") {
					o.Parts = o.Parts[1:]
				}
				if _, err := store.Prune(t.Context(), a.writer(), o); sdk.CodeOf(err) != sdk.Internal || len(a.files()) > 0 {
					t.Errorf("%v, %q", err, a.files())
				}
				if diff := cmp.Diff(before, dump(t, a.store)); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// TestPrune_ChecksFindWhatWasDroppedOrPutBack, in spite of whole chains.
func TestPrune_ChecksFindWhatWasDroppedOrPutBack(t *testing.T) {
	for name, c := range map[string]struct {
		tamper func(a *archive, before map[string]string) func(core.Tx) error
		says   string
	}{
		"a run is dropped with all of its records": {func(a *archive, before map[string]string) func(core.Tx) error {
			return func(tx core.Tx) error { return eachOf(before, "run-00008", "event", tx.Delete) }
		}, "the run is gone, but no seal says that it was pruned"},
		"a pruned run is put back": {func(a *archive, before map[string]string) func(core.Tx) error {
			return func(tx core.Tx) error {
				return eachOf(before, "run-00000", "event", func(key []byte) error { return tx.Put(key, []byte(before[string(key)])) })
			}
		}, "the run was pruned, but part of it is left"},
		"a pruned decision is put back": {func(a *archive, before map[string]string) func(core.Tx) error {
			return func(tx core.Tx) error {
				return tx.Put([]byte("decision/gate-0-a"), []byte(before["decision/gate-0-a"]))
			}
		}, "no event names 1 of the records"},
		"a pruned event is put back": {func(a *archive, before map[string]string) func(core.Tx) error {
			return func(tx core.Tx) error {
				key := "event/decision/gate\x00\x00\x00\x00\x00\x00\x00\x00\x04"
				return tx.Put([]byte(key), []byte(before[key]))
			}
		}, "entry 5: the entry in its place has the number 4"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newArchive(t, mem.Open())
			before := dump(t, a.store)
			a.prune(2)
			change(t, a.store, c.tamper(a, before))
			if list := a.problems(); !slices.ContainsFunc(list, func(p core.Problem) bool { return strings.Contains(p.Message, c.says) }) {
				t.Errorf("found %+v", list)
			}
		})
	}
}

// eachOf calls fn for each key of a run that doesn't begin so.
func eachOf(all map[string]string, run, but string, fn func([]byte) error) error {
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if strings.Contains(key, run) && !strings.HasPrefix(key, but) {
			if err := fn([]byte(key)); err != nil {
				return err
			}
		}
	}
	return nil
}

// TestPrune_AFolderThatCannotBeWrittenSaysSo, and then nothing was pruned.
func TestPrune_AFolderThatCannotBeWrittenSaysSo(t *testing.T) {
	a := newArchive(t, mem.Open())
	o := a.options(6)
	o.Dir = filepath.Join(a.dir, "file", "below")
	a.must(os.WriteFile(filepath.Join(a.dir, "file"), nil, 0o600))
	_, err := store.Prune(t.Context(), a.writer(), o)
	if sdk.ReasonOf(err) != "segment_io" || sdk.AsError(err).Hint == "" {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff(from(0), a.left()); diff != "" {
		t.Error(diff)
	}
	a.sound()
}

// TestPrune_HoldsLittleInMemory: 20,000 decisions, or a million.
func TestPrune_HoldsLittleInMemory(t *testing.T) {
	count := coretest.Heavy(10_000, 1_000_000)
	s, err := pebble.Open(t.Context(), pebble.Options{Dir: t.TempDir(), Durability: pebble.Relaxed})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	a := &archive{t, s, &coretest.Clock{}, t.TempDir()}
	a.must(store.Prepare(t.Context(), s))
	const batch = 5000
	for first := 0; first < count; first += batch {
		ids := make([]string, batch)
		for i := range ids {
			ids[i] = fmt.Sprintf("decision-of-the-gate-%012d", first+i)
		}
		a.decide("gate", ids...)
	}
	a.clock.Advance(day)
	var most uint64
	o := store.PruneOptions{
		Parts: []store.PrunePart{{Name: "decisions", Pruner: decisions.Pruner{Before: a.clock.Now()}}}, Dir: a.dir,
		Progress: func(store.PrunedPart) {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapInuse)
		},
	}
	done, err := store.Prune(t.Context(), a.writer(), o)
	if err != nil || done[0].Records != count || len(done[0].Files) != count/10_000 {
		t.Fatalf("%+v, %v", done, err)
	}
	t.Logf("%d decisions in %d files: at most %d MiB of heap", count, len(done[0].Files), most>>20)
	if limit := uint64(192 << 20); most == 0 || most > limit {
		t.Errorf("the heap grew to %d MiB", most>>20)
	}
	a.sound()
}

// TestPrune_WritersGoOn prunes while others record runs and decisions.
func TestPrune_WritersGoOn(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		a := newArchive(t, s)
		var all sync.WaitGroup
		for i := range 4 {
			runs := run.NewRepository(s, a.clock)
			all.Go(func() {
				for n := range 5 {
					run := &core.Run{ID: fmt.Sprintf("new-%d-%d", i, n), Workflow: "w", State: jsontext.MustEncode(map[string]any{})}
					if err := recordRun(t, runs, run, 2); err != nil {
						t.Error(err)
					}
					err := a.decided("gate", fmt.Sprintf("new-decision-%d-%d", i, n))
					_, unrecorded := journal.Record(t.Context(), a.writer())
					if err := core.JoinErrors(err, unrecorded); err != nil {
						t.Error(err)
					}
				}
			})
		}
		a.prune(10)
		all.Wait()
		a.sound()
		for _, path := range a.files() {
			if _, err := a.checkFile(path); err != nil {
				t.Error(err)
			}
		}
		if left := a.left(); len(left) != 5+2*20 {
			t.Errorf("left are %d: %q", len(left), left)
		}
	})
}
