package pebble

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/decisions"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/governance"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/memory/embed"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/policy"
)

// points are the policy points, whose defaults take a while to compile.
var points = sync.OnceValue(policy.AllPoints)

// memoryWorld is memories with all the parts that the host gives them.
type memoryWorld struct {
	*memory.Memories
	options  memory.Options
	writer   *journal.Writer
	settings *governance.Governor
	evidence *gate.Recorder
	log      *decisions.Log
	// made are the ids of reflections, by what the scenario calls them.
	made map[string]string
}

func newMemoryWorld(s core.Store) (*memoryWorld, error) {
	writer := &journal.Writer{Store: s, Clock: fixedClock{}}
	w := &memoryWorld{
		writer: writer, settings: governance.New(writer), log: decisions.NewLog(decisions.Options{IDs: &coretest.IDs{}, Writer: writer, Ready: make(chan struct{})}), made: map[string]string{},
	}
	policies := policy.New(points(), policy.Options{Log: w.decided, Clock: fixedClock{}, SampleEvery: 1})
	w.options = memory.Options{
		Store: s, Clock: fixedClock{}, IDs: &coretest.IDs{}, Random: &coretest.Random{}, Governor: w.settings, Embedder: embed.Hashed{},
		Reflection: policies, Retention: policies, Gate: gate.New(policies), Evidence: gate.Evidence{},
	}
	var err error
	w.Memories, err = memory.New(w.options)
	w.evidence = &gate.Recorder{Writer: writer, Memories: w.Memories}
	return w, err
}

// Close ends what the memories do in the background, and drops decisions that weren't
// written.
func (w *memoryWorld) Close() {
	w.log.Discard()
	w.Memories.Close()
}

// decided keeps each decision of a policy, with its inputs.
func (w *memoryWorld) decided(_ context.Context, r *policy.Record) {
	w.log.Add(decisions.Decision{Point: r.Point, Make: func() (journal.PolicyDecided, []byte, error) {
		text, err := r.Encode()
		return journal.PolicyDecided{Namespace: r.Namespace, File: r.File, Digest: r.Digest, Masked: r.Masked}, text, err
	}})
}

// committing is a store that tells after each commit how many there were.
type committing struct {
	core.Store
	commits int
	tell    func(commits int) error
}

func (c *committing) Update(ctx context.Context, fn func(core.Tx) error) error {
	if err := c.Store.Update(ctx, fn); err != nil {
		return err
	}
	c.commits++
	return c.tell(c.commits)
}

// playMemories carries out the scenario, and calls tell after each commit.
func playMemories(ctx context.Context, s core.Store, tell func(commits int) error) error {
	w, err := newMemoryWorld(&committing{Store: s, tell: tell})
	if err != nil {
		return err
	}
	defer w.Close()
	for _, step := range memoryScenario() {
		if err := step(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// dumpMemories is everything that a store holds, except what the engine keeps
// there.
func dumpMemories(ctx context.Context, s core.Store) (map[string]string, error) {
	all := map[string]string{}
	err := s.View(ctx, func(r core.Reader) error {
		return r.Scan([]byte{1}, nil, func(key, value []byte) (bool, error) {
			if !strings.HasPrefix(string(key), "meta/") {
				all[string(key)] = string(value)
			}
			return true, nil
		})
	})
	return all, err
}

// wholeOperations are what the reference store holds after each commit of the
// scenario, from none on. All parts find each of them sound, so that they needn't look
// again at a store that holds the same.
var wholeOperations = sync.OnceValues(func() (dumps []map[string]string, err error) {
	s := mem.Open()
	dumps = append(dumps, map[string]string{})
	err = playMemories(context.Background(), s, func(int) error {
		dump, err := dumpMemories(context.Background(), s)
		dumps = append(dumps, dump)
		return core.JoinErrors(err, soundMemories(context.Background(), s))
	})
	return dumps, err
})

// soundMemories has all parts look at a store.
func soundMemories(ctx context.Context, s core.Store) error {
	w, err := newMemoryWorld(s)
	if err != nil {
		return err
	}
	defer w.Close()
	var found []error
	err = s.View(ctx, func(r core.Reader) error {
		for _, part := range []core.Checker{journal.Checker{}, w.settings, w.Memories, gate.Evidence{}, decisions.Checker{}} {
			if err := part.Check(ctx, r, func(p core.Problem) { found = append(found, fmt.Errorf("found %+v", p)) }); err != nil {
				return err
			}
		}
		return nil
	})
	return core.JoinErrors(append(found, err)...)
}

// checkMemories proves that a store is what the reference is after so many
// commits, or after one more, which wasn't acknowledged, where late allows that. All
// parts look at the one that holds all, and at each in make stress.
func checkMemories(t *testing.T, s core.Store, commits int, late bool) {
	t.Helper()
	whole, err := wholeOperations()
	if err != nil {
		t.Fatal(err)
	}
	got, err := dumpMemories(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	switch there := slices.IndexFunc(whole[commits:], func(dump map[string]string) bool { return cmp.Equal(dump, got) }); {
	case there < 0:
		t.Errorf("after %d commits (-whole +got):\n%s", commits, cmp.Diff(whole[commits], got))
	case there > 1 || there == 1 && !late:
		t.Errorf("after %d commits it is as after %d", commits, commits+there)
	}
	if commits < len(whole)-1 && !coretest.Stress() {
		return
	}
	if err := soundMemories(t.Context(), s); err != nil {
		t.Errorf("after %d commits: %v", commits, err)
	}
}

// checkClone checks what a crash left, and closes it.
func checkClone(t *testing.T, fs vfs.FS, commits int, late bool) {
	t.Helper()
	clone, err := open(t.Context(), Options{Dir: "db"}, fs)
	if err != nil {
		t.Fatal(err)
	}
	checkMemories(t, clone, commits, late)
	if err := clone.Close(); err != nil {
		t.Error(err)
	}
}

func TestCrashAtEveryCommitOfMemories(t *testing.T) {
	coretest.Long(t)
	if coretest.Plain(t) {
		return
	}
	fs := newMemDisk()
	s := openTest(t, Options{Dir: "db", MemTableBytes: 64 << 10}, fs)
	var clones []*vfs.MemFS
	err := playMemories(t.Context(), s, func(int) error {
		clones = append(clones, fs.CrashClone(vfs.CrashCloneCfg{}))
		return nil
	})
	if whole, _ := wholeOperations(); err != nil || len(clones) != len(whole)-1 {
		t.Errorf("%d crashes, error %v", len(clones), err)
	}
	for i := 0; i < len(clones); i += coretest.Heavy(2, 1) {
		checkClone(t, clones[i], i+1, false)
	}
}

// TestCrashInsideCommitsOfMemories crashes at every write and sync of the log:
// what wasn't synced is lost, or some of it is. Where it is lost, a crash at a write is the
// one at the sync that follows. There is one log only, since errorfs doesn't see what is
// written to one that is used again.
func TestCrashInsideCommitsOfMemories(t *testing.T) {
	mem := newMemDisk()
	torn := vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: rand.New(rand.NewPCG(3, 7))}
	type crash struct {
		fs           *vfs.MemFS
		acknowledged int
	}
	var acknowledged atomic.Int64
	var mu sync.Mutex
	var crashes []crash
	opened := false
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if opened && (op.Kind == errorfs.OpFileWrite || op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData) {
			// Read before the clones are made: in the background the store writes while
			// commits go on. One that begins now waits for the lock.
			commits := int(acknowledged.Load())
			crashes = append(crashes, crash{mem.CrashClone(torn), commits})
			if op.Kind != errorfs.OpFileWrite {
				crashes = append(crashes, crash{mem.CrashClone(vfs.CrashCloneCfg{}), commits})
			}
		}
		return nil
	}))
	s := openTest(t, Options{Dir: "db"}, fs)
	mu.Lock()
	opened = true
	mu.Unlock()
	err := playMemories(t.Context(), s, func(commits int) error {
		acknowledged.Store(int64(commits))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if whole, _ := wholeOperations(); len(crashes) < 3*(len(whole)-1) {
		t.Errorf("only %d crashes in %d commits", len(crashes), len(whole)-1)
	}
	for i := 0; i < len(crashes); i += coretest.Heavy(3, 1) {
		checkClone(t, crashes[i].fs, crashes[i].acknowledged, true)
	}
}
