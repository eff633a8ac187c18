package pebble

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/sdk"
)

// entryBytes is the size of a test's entry: a log of smallTables takes 15.
const entryBytes = 4 << 10

// crowd is writers that append to lists of their own at the same time, and
// notes what was acknowledged.
type crowd struct {
	running      atomic.Bool
	acknowledged []atomic.Int64
	mu           sync.Mutex
	errs         []error
}

// newCrowd returns 16 writers.
func newCrowd() *crowd { return &crowd{acknowledged: make([]atomic.Int64, 16)} }

// run lets each writer make up to n commits, until one of its own fails.
func (c *crowd) run(t *testing.T, s core.Store, n int) {
	c.running.Store(true)
	var all sync.WaitGroup
	for w := range c.acknowledged {
		all.Go(func() {
			for i := range n {
				if err := appendEntry(t, s, w, i); err != nil {
					c.mu.Lock()
					defer c.mu.Unlock()
					c.errs = append(c.errs, err)
					return
				}
				c.acknowledged[w].Store(int64(i) + 1)
			}
		})
	}
	all.Wait()
}

// appendEntry writes entry i of writer w and the writer's count.
func appendEntry(t *testing.T, s core.Store, w, i int) error {
	return s.Update(t.Context(), func(tx core.Tx) error {
		if err := tx.Put(crowdKey(w, i), make([]byte, entryBytes)); err != nil {
			return err
		}
		return tx.Put(fmt.Appendf(nil, "count/%02d", w), binary.BigEndian.AppendUint64(nil, uint64(i)+1))
	})
}

func crowdKey(w, i int) []byte {
	return binary.BigEndian.AppendUint32(fmt.Appendf(nil, "list/%02d/", w), uint32(i))
}

func (c *crowd) counts() []int64 {
	counts := make([]int64, len(c.acknowledged))
	for w := range counts {
		counts[w] = c.acknowledged[w].Load()
	}
	return counts
}

// checkCrowd proves that every list is whole: at least what was acknowledged, at
// most one more, no gap, and a count that fits.
func checkCrowd(t *testing.T, s core.Store, acknowledged []int64) {
	t.Helper()
	err := s.View(t.Context(), func(r core.Reader) error {
		for w, least := range acknowledged {
			length := 0
			err := r.Scan(crowdKey(w, 0), crowdKey(w, 1<<31), func(key, value []byte) (bool, error) {
				if !slices.Equal(key, crowdKey(w, length)) || len(value) != entryBytes {
					t.Errorf("writer %d: entry %d is %x with %d bytes", w, length, key, len(value))
				}
				length++
				return true, nil
			})
			if err != nil {
				return err
			}
			count, _, err := r.Get(fmt.Appendf(nil, "count/%02d", w))
			if err != nil {
				return err
			}
			count = append(make([]byte, 8-len(count)), count...)
			if n := int64(binary.BigEndian.Uint64(count)); n != int64(length) || n < least {
				t.Errorf("writer %d: %d entries, count %d, acknowledged %d", w, length, n, least)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// memDisk is a disk in memory that can crash. [vfs.MemFS.ReuseForWrite] holds a read lock
// and takes it again in Rename, so that a crash asked for in between waits for ever, and
// all others for it. Here the two steps are apart.
type memDisk struct{ *vfs.MemFS }

func newMemDisk() memDisk { return memDisk{vfs.NewCrashableMem()} }

// ReuseForWrite implements [vfs.FS].
func (d memDisk) ReuseForWrite(oldName, newName string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := d.Rename(oldName, newName); err != nil {
		return nil, err
	}
	return d.OpenReadWrite(newName, category)
}

// smallTables makes the store rotate its log and flush every few commits.
func smallTables() Options { return Options{Dir: "db", MemTableBytes: 64 << 10} }

// TestCrashAmongWriters crashes at random moments, with some of what wasn't
// synced on disk all the same.
func TestCrashAmongWriters(t *testing.T) {
	coretest.Long(t)
	crashes := 0
	for seed := range coretest.Heavy(uint64(8), 20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		at, percent := 1+rng.Int64N(200), rng.IntN(101)
		mem := newMemDisk()
		c := newCrowd()
		var clone *vfs.MemFS
		var acknowledged []int64
		var writes atomic.Int64
		fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && c.running.Load() && writes.Add(1) == at {
				acknowledged = c.counts()
				clone = mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng})
			}
			return nil
		}))
		s := openTest(t, smallTables(), fs)
		c.run(t, s, 40)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if clone != nil {
			crashes++
			checkCrowd(t, openTest(t, smallTables(), clone), acknowledged)
		}
	}
	if crashes < 4 {
		t.Errorf("only %d crashes", crashes)
	}
}

// TestFullDiskAmongWriters lets the disk fill up at random moments: no call
// hangs, each ends well or says why, and all that ended well is there later.
func TestFullDiskAmongWriters(t *testing.T) {
	failed := 0
	for seed := range coretest.Heavy(uint64(8), 20) {
		mem := newMemDisk()
		room := rand.New(rand.NewPCG(seed, 2)).Int64N(400)
		c := newCrowd()
		var writes atomic.Int64
		fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			switch op.Kind {
			case errorfs.OpFileWrite, errorfs.OpCreate, errorfs.OpFileSyncData, errorfs.OpReuseForWrite:
				if c.running.Load() && writes.Add(1) > room {
					return syscall.ENOSPC
				}
			}
			return nil
		}))
		s := openTest(t, smallTables(), fs)
		c.run(t, s, 100)
		failed += len(c.errs)
		for _, err := range c.errs {
			if sdk.ReasonOf(err) != "store_io" {
				t.Errorf("a writer's error: %v (%s)", err, sdk.ReasonOf(err))
			}
		}
		if len(c.errs) > 0 {
			checkFailed(t, s)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		checkCrowd(t, openTest(t, smallTables(), mem.CrashClone(vfs.CrashCloneCfg{})), c.counts())
	}
	if failed == 0 {
		t.Error("no write failed")
	}
}

// TestEveryWriteErrorWhileLogsRotate makes the i-th change of the disk fail, once or from
// then on, while a writer fills log after log. That is where Pebble can't bear an error.
func TestEveryWriteErrorWhileLogsRotate(t *testing.T) {
	for _, lasting := range []bool{false, true} {
		t.Run(fmt.Sprintf("lasting=%t", lasting), func(t *testing.T) {
			logs := 0
			for i := int64(1); ; i += coretest.Heavy(int64(3), 1) {
				f := &failing{mem: newMemDisk(), of: errorfs.OpIsWrite, at: i, lasting: lasting}
				acknowledged := f.fill(t, smallTables())
				if f.made.Load() < i {
					break // all changes succeeded
				}
				if made := f.first.Kind; strings.HasSuffix(f.first.Path, ".log") && (made == errorfs.OpCreate || made == errorfs.OpReuseForWrite) {
					logs++
				}
				checkCrowd(t, openTest(t, smallTables(), f.mem.CrashClone(vfs.CrashCloneCfg{})), []int64{acknowledged})
			}
			if logs == 0 {
				t.Error("no failure met the making of a log")
			}
		})
	}
}

// failing is a disk that fails at its at-th change, or read.
type failing struct {
	mem     memDisk
	of      errorfs.OpReadWrite
	at      int64
	lasting bool
	made    atomic.Int64
	// opened is whether the store has been opened, and acknowledged how many of its
	// commits were.
	opened       atomic.Bool
	acknowledged atomic.Int64
	// before is called before each change, or read, if it is set, and reports whether
	// it counts. until, if it is set, ends fill.
	before func(errorfs.Op) bool
	until  func() bool
	// first is what failed first.
	first errorfs.Op
}

// MaybeError implements [errorfs.Injector].
func (f *failing) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != f.of || op.Kind == errorfs.OpFilePreallocate {
		return nil
	}
	if f.before != nil && !f.before(op) {
		return nil
	}
	n := f.made.Add(1)
	if n == f.at {
		f.first = op
	}
	if n == f.at || f.lasting && n > f.at {
		return syscall.EIO
	}
	return nil
}

func (f *failing) String() string { return "failing" }

// goesOn reports whether fill writes its i-th entry.
func (f *failing) goesOn(i int) bool {
	if f.until == nil {
		return i < 60
	}
	return i < 5000 && !f.until()
}

// fill writes about four logs of smallTables full, unless until says otherwise, and
// returns how many commits were acknowledged. An error of the disk that no call reports is one of removing a
// file, or came when all was written.
func (f *failing) fill(t *testing.T, o Options) (acknowledged int64) {
	s, err := open(t.Context(), o, errorfs.Wrap(f.mem, f))
	f.opened.Store(true)
	for i := 0; err == nil && f.goesOn(i); i++ {
		if err = appendEntry(t, s, 0, i); err == nil {
			acknowledged++
			f.acknowledged.Store(acknowledged)
		}
	}
	if err != nil && sdk.ReasonOf(err) != "store_io" {
		t.Errorf("change %d: error %v (%s)", f.at, err, sdk.ReasonOf(err))
	}
	if s == nil {
		return 0
	}
	if err != nil {
		checkFailed(t, s)
	}
	if err := s.Close(); err != nil && sdk.ReasonOf(err) != "store_io" {
		t.Errorf("change %d: close: %v", f.at, err)
	}
	return acknowledged
}
