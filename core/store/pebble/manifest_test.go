package pebble

import (
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/reflectory/reflectory/core/coretest"
)

// tinyTables makes the store write its list of files again after some dozens of entries.
func tinyTables() Options { return Options{Dir: "db", MemTableBytes: 16 << 10} }

// rotation is the steps in which the list of files is written again: a new file, which
// holds all, a marker in the place of the one that names the old file, and the end of
// the file before that.
var rotation = []string{
	"create MANIFEST", "write MANIFEST", "sync MANIFEST", "create marker", "remove marker", "sync db", "remove MANIFEST",
}

// stepOf names a change of the disk as rotation does.
func stepOf(op errorfs.Op) string {
	kinds := map[errorfs.OpKind]string{
		errorfs.OpCreate: "create", errorfs.OpFileWrite: "write", errorfs.OpFileSync: "sync", errorfs.OpRemove: "remove",
	}
	name := path.Base(op.Path)
	if end := strings.IndexAny(name, "-."); end > 0 {
		name = name[:end]
	}
	return kinds[op.Kind] + " " + name
}

// TestEveryWriteErrorWhileTheListOfFilesRotates lets each step fail, at the first
// rotation and at later ones, once or from then on.
func TestEveryWriteErrorWhileTheListOfFilesRotates(t *testing.T) {
	for _, step := range rotation {
		for at := range coretest.Heavy(int64(1), 3) {
			for _, lasting := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s,%d,lasting=%t", step, at, lasting), func(t *testing.T) {
					f := &failing{mem: newMemDisk(), of: errorfs.OpIsWrite, at: at + 1, lasting: lasting}
					f.before = func(op errorfs.Op) bool {
						return f.opened.Load() && (stepOf(op) == step || f.made.Load() >= f.at)
					}
					more := 20 // entries after the failure
					f.until = func() bool {
						if f.made.Load() >= f.at {
							more--
						}
						return more < 0
					}
					acknowledged := f.fill(t, tinyTables())
					if f.made.Load() < f.at {
						t.Fatalf("after %d entries: no such step", acknowledged)
					}
					checkCrowd(t, openTest(t, tinyTables(), f.mem.CrashClone(vfs.CrashCloneCfg{})), []int64{acknowledged})
				})
			}
		}
	}
}

// crashes are disks as crashes would leave them.
type crashes struct {
	mu   sync.Mutex
	list []crash
	// met counts the steps that were taken while the store was open.
	met map[string]int
}

type crash struct {
	disk         *vfs.MemFS
	acknowledged int64
}

// add crashes a disk before a change, with nothing, some or all of what wasn't synced
// on it all the same. What a store does while it is open counts only if it is a step.
func (c *crashes) add(f *failing, op errorfs.Op) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if step := stepOf(op); f.opened.Load() {
		if !slices.Contains(rotation, step) {
			return true
		}
		c.met[step]++
	}
	for _, percent := range []int{0, 50, 100} {
		acknowledged := f.acknowledged.Load() // before the crash
		rng := rand.New(rand.NewPCG(uint64(len(c.list)), 3))
		disk := f.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng})
		c.list = append(c.list, crash{disk, acknowledged})
	}
	return true
}

// enough reports whether each step was taken several times: the first rotation, and one
// that meets the files of another.
func (c *crashes) enough() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !slices.ContainsFunc(rotation, func(step string) bool { return c.met[step] < coretest.Heavy(2, 3) })
}

// TestCrashWhileTheListOfFilesRotates crashes before each step, while the store is
// filled, and before each change while it is made and opened again.
func TestCrashWhileTheListOfFilesRotates(t *testing.T) {
	coretest.Long(t)
	if coretest.Plain(t) {
		return
	}
	c := &crashes{met: map[string]int{}}
	f := &failing{mem: newMemDisk(), of: errorfs.OpIsWrite, until: c.enough}
	f.before = func(op errorfs.Op) bool { return c.add(f, op) }
	f.fill(t, tinyTables())
	if !c.enough() {
		t.Errorf("steps: %v", c.met)
	}
	f.opened.Store(false)
	s, err := open(t.Context(), tinyTables(), errorfs.Wrap(f.mem, f))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for i, crash := range c.list {
		s, err := open(t.Context(), tinyTables(), crash.disk)
		if err != nil {
			t.Fatalf("crash %d: %v", i, err)
		}
		checkCrowd(t, s, []int64{crash.acknowledged})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
