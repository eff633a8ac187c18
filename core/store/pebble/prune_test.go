package pebble

import (
	"crypto/sha256"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/decisions"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/sdk"
)

// old is a store with decisions of the gate, each with some bytes that can't be compressed,
// and a run that passed.
func old(t *testing.T, s core.Store, count, size int) {
	t.Helper()
	if err := play(t.Context(), s, func(int) {}); err != nil {
		t.Fatal(err)
	}
	w := &journal.Writer{Store: s, Clock: fixedClock{}}
	for first := 0; first < count; first += 500 {
		err := w.Update(t.Context(), func(tx *journal.Tx) error {
			for i := first; i < min(count, first+500); i++ {
				id := fmt.Sprintf("0193f2a0-%012x", i)
				var noise []byte
				for sum := sha256.Sum256([]byte(id)); len(noise) < size; sum = sha256.Sum256(sum[:]) {
					noise = append(noise, sum[:]...)
				}
				record := jsontext.MustEncode(noise)
				err := tx.Put([]byte("decision/"+id), record)
				if err == nil {
					err = tx.Append(journal.DecisionStream("gate"), journal.PolicyDecided{ID: id, Record: core.Digest(record)})
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// pruneAll prunes all that can be.
func pruneAll(t *testing.T, s core.Store, dir string, batch int) error {
	at := fixedClock{}.Now().Add(time.Hour)
	_, err := store.Prune(t.Context(), &journal.Writer{Store: s, Clock: fixedClock{}}, store.PruneOptions{
		Parts: []store.PrunePart{{Name: "decisions", Pruner: decisions.Pruner{Before: at}}, {Name: "runs", Pruner: &run.Pruner{Before: at}}},
		Dir:   dir, BatchKeys: batch,
	})
	return err
}

// checkPruned proves that nothing is wrong with a store, and returns how many decisions
// and runs are in it.
func checkPruned(t *testing.T, s core.Store) (decided, runs int) {
	t.Helper()
	parts := []core.Checker{journal.Checker{}, run.Checker{}, decisions.Checker{}}
	_, err := store.Check(t.Context(), s, parts, func(p core.Problem) { t.Errorf("found %+v", p) })
	if err == nil {
		err = s.View(t.Context(), func(r core.Reader) error {
			for prefix, count := range map[string]*int{"decision/": &decided, "run/": &runs} {
				err := core.ScanPrefix(r, []byte(prefix), func(_, _ []byte) (bool, error) { *count++; return true, nil })
				if err != nil {
					return err
				}
			}
			_, err := (&journal.Audit{}).Verify(t.Context(), r)
			return err
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return decided, runs
}

// TestPrune_CrashAtEveryWrite crashes at every write and sync of the disk: what is there
// then is whole steps, and pruning again does the rest.
func TestPrune_CrashAtEveryWrite(t *testing.T) {
	const count = 12
	mem, dir := newMemDisk(), t.TempDir()
	var watching atomic.Bool
	var mu sync.Mutex
	var disks []*vfs.MemFS
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if watching.Load() && (op.Kind == errorfs.OpFileWrite || op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData) {
			mu.Lock()
			defer mu.Unlock()
			disks = append(disks, mem.CrashClone(vfs.CrashCloneCfg{}))
		}
		return nil
	}))
	s := openTest(t, Options{Dir: "db"}, fs)
	old(t, s, count, 100)
	watching.Store(true)
	err := pruneAll(t, s, dir, 8)
	watching.Store(false)
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	steps := map[int]bool{}
	for i := 0; i < len(disks); i += coretest.Heavy(3, 1) {
		disk := disks[i]
		crashed := openTest(t, Options{Dir: "db"}, disk)
		decided, _ := checkPruned(t, crashed)
		steps[decided] = true
		if err := pruneAll(t, crashed, dir, 8); err != nil {
			t.Fatal(err)
		}
		if decided, runs := checkPruned(t, crashed); decided+runs != 0 {
			t.Errorf("%d decisions and %d runs are left", decided, runs)
		}
	}
	if len(steps) != 4 { // of 4 decisions each
		t.Errorf("crashes left %v decisions", steps)
	}
}

// TestPrune_EveryWriteErrorOnce makes the i-th change of the disk fail: the pruning returns
// the error, and continues after the next opening.
func TestPrune_EveryWriteErrorOnce(t *testing.T) {
	coretest.Long(t)
	if coretest.Plain(t) {
		return
	}
	made := newMemDisk()
	first := openTest(t, Options{Dir: "db"}, made)
	old(t, first, 12, 100)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	failures := 0
	for i := int32(0); ; i += coretest.Heavy(int32(3), 1) {
		mem, dir := made.CrashClone(vfs.CrashCloneCfg{}), t.TempDir()
		s, err := open(t.Context(), Options{Dir: "db"}, failingOnce(mem, i))
		if err == nil {
			err = pruneAll(t, s, dir, 8)
			if closed := s.Close(); err == nil {
				err = closed
			}
		}
		again := openTest(t, Options{Dir: "db"}, mem)
		checkPruned(t, again)
		if pruned := pruneAll(t, again, dir, 8); pruned != nil {
			t.Fatal(pruned)
		}
		if decided, runs := checkPruned(t, again); decided+runs != 0 {
			t.Errorf("%d decisions and %d runs are left", decided, runs)
		}
		if err == nil {
			break
		}
		if failures++; sdk.ReasonOf(err) != "store_io" {
			t.Fatalf("error %d surfaces as %v", i, err)
		}
	}
	if failures < 10 {
		t.Errorf("only %d errors were injected", failures)
	}
}

// TestPrune_GivesTheRoomBack: the tables of what was pruned are gone when it returns.
func TestPrune_GivesTheRoomBack(t *testing.T) {
	s := openTest(t, Options{Dir: "db", MemTableBytes: 1 << 20, Durability: Relaxed}, vfs.NewMem())
	old(t, s, coretest.Heavy(1_500, 5_000), 1_000)
	if err := s.flush(); err != nil {
		t.Fatal(err)
	}
	tables := func() (bytes uint64) {
		levels, err := s.db.SSTables()
		if err != nil {
			t.Fatal(err)
		}
		for _, level := range levels {
			for i := range level {
				bytes += level[i].Size
			}
		}
		return bytes
	}
	before := tables()
	if err := pruneAll(t, s, t.TempDir(), 0); err != nil {
		t.Fatal(err)
	}
	if after := tables(); before < 1<<20 || after > before/50 {
		t.Errorf("of %d bytes %d are left", before, after)
	}
	checkPruned(t, s)
}
