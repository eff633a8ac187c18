package pebble

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/memory/embed"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/policy"
)

// approvals is a governor that wants an approval above depth 1.
type approvals struct{}

func (approvals) Resolve(_ core.Reader, namespace string) (*core.Governance, error) {
	above := 1
	return &core.Governance{
		Namespace: namespace, MaxReflectionDepth: 2, RequireApprovalAbove: &above,
		Retention: core.DefaultRetentionWeights(), MinGateConfidence: core.DefaultMinGateConfidence,
	}, nil
}

// policies are the default ones, which take a while to compile.
var policies = sync.OnceValue(func() *policy.Policies { return policy.New(policy.NewPoints(), policy.Options{}) })

// memoryWorld is memories with what records their evidence.
type memoryWorld struct {
	*memory.Memories
	evidence *gate.Recorder
}

// memoryStep is one call, of one commit or several.
type memoryStep func(context.Context, *memoryWorld) error

// memoryScenario are calls that make memories, and then live with them until the
// gate purges one and promotes another.
func memoryScenario() (steps []memoryStep) {
	add := func(step memoryStep) { steps = append(steps, step) }
	reflect := func(sources ...string) {
		add(func(ctx context.Context, m *memoryWorld) error {
			_, err := m.Reflect(ctx, &core.ReflectRequest{SourceIDs: sources, Title: fmt.Sprint(sources), Content: "c", IdempotencyKey: fmt.Sprint(sources)})
			return err
		})
	}
	// Each reflection takes one id of coretest.IDs, observations bring their own.
	first, pending := "00000000-0000-7000-8000-000000000001", "00000000-0000-7000-8000-000000000002"
	add(func(ctx context.Context, m *memoryWorld) error {
		_, err := m.ObserveAll(ctx, []*core.ObserveRequest{
			{ID: "a", Namespace: "ns", Content: "c", Tags: []string{"x", "y"}, AgentID: "alice"},
			{ID: "b", Namespace: "ns", Content: "c", Tags: []string{"z"}}, {ID: "c", Namespace: "ns", Content: "c"},
		})
		return err
	})
	reflect("a", "b", "c")
	add(func(ctx context.Context, m *memoryWorld) error {
		_, err := m.Link(ctx, &memory.LinkRequest{From: "a", Relation: "contradicts", To: "b"})
		return err
	})
	reflect(first, "a")
	add(func(ctx context.Context, m *memoryWorld) error {
		_, err := m.Approve(ctx, pending, "boss")
		return err
	})
	return append(steps, livesScenario()...)
}

// playMemories carries out the scenario, and calls acknowledged after each
// commit with how many events there are.
func playMemories(ctx context.Context, s core.Store, acknowledged func(events int)) error {
	m, err := memory.New(memory.Options{
		Store: s, Clock: fixedClock{}, IDs: &coretest.IDs{}, Governor: approvals{}, Embedder: embed.Hashed{},
		Retention: policies(), Gate: gate.New(policies()), Evidence: gate.Evidence{},
	})
	if err != nil {
		return err
	}
	w := &memoryWorld{m, &gate.Recorder{Writer: &journal.Writer{Store: s, Clock: fixedClock{}}, Memories: m}}
	for _, step := range memoryScenario() {
		if err := step(ctx, w); err != nil {
			return err
		}
		n, err := countStream(ctx, s)
		if err != nil {
			return err
		}
		acknowledged(n)
	}
	return nil
}

// counting is a store that notes how many events there are after each commit.
type counting struct {
	core.Store
	events []int
}

func (c *counting) Update(ctx context.Context, fn func(core.Tx) error) error {
	if err := c.Store.Update(ctx, fn); err != nil {
		return err
	}
	n, err := countStream(ctx, c.Store)
	c.events = append(c.events, n)
	return err
}

// wholeOperations are how many events there are after each commit of the
// scenario.
var wholeOperations = sync.OnceValues(func() ([]int, error) {
	s := &counting{Store: mem.Open(), events: []int{0}}
	err := playMemories(context.Background(), s, func(int) {})
	return s.events, err
})

// checkMemories proves that a store holds whole operations only, and at least
// the acknowledged ones.
func checkMemories(t *testing.T, s core.Store, acknowledged int) {
	t.Helper()
	m, err := memory.New(memory.Options{Store: s, Governor: approvals{}})
	if err != nil {
		t.Fatal(err)
	}
	err = s.View(t.Context(), func(r core.Reader) error {
		for _, part := range []core.Checker{journal.Checker{}, m, gate.Evidence{}} {
			if err := part.Check(t.Context(), r, func(p core.Problem) { t.Errorf("after %d events: %+v", acknowledged, p) }); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := wholeOperations()
	if err != nil {
		t.Fatal(err)
	}
	n, err := countStream(t.Context(), s)
	if err != nil || n < acknowledged || !slices.Contains(whole, n) {
		t.Errorf("after %d acknowledged events %d are there, a part of an operation or too few (%v)", acknowledged, n, err)
	}
}

func TestCrashAtEveryCommitOfMemories(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := openTest(t, Options{Dir: "db", MemTableBytes: 64 << 10}, fs)
	clones := 0
	err := playMemories(t.Context(), s, func(events int) {
		clone := openTest(t, Options{Dir: "db"}, fs.CrashClone(vfs.CrashCloneCfg{}))
		checkMemories(t, clone, events)
		clones++
	})
	if err != nil || clones != len(memoryScenario()) {
		t.Errorf("%d crashes, error %v", clones, err)
	}
}

func countStream(ctx context.Context, s core.Store) (entries int, err error) {
	err = s.View(ctx, func(r core.Reader) error {
		entries = 0
		return journal.Read(r, journal.NamespaceStream("ns"), func(journal.Entry) error { entries++; return nil })
	})
	return entries, err
}

// TestCrashInsideCommitsOfMemories crashes at every write and sync of the log.
func TestCrashInsideCommitsOfMemories(t *testing.T) {
	mem := vfs.NewCrashableMem()
	acknowledged := -1 // while the store is being opened
	type crash struct {
		fs           *vfs.MemFS
		acknowledged int
	}
	crashes := make(chan crash, 1000)
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if acknowledged >= 0 && (op.Kind == errorfs.OpFileWrite || op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData) {
			crashes <- crash{mem.CrashClone(vfs.CrashCloneCfg{}), acknowledged}
		}
		return nil
	}))
	s := openTest(t, Options{Dir: "db"}, fs)
	acknowledged = 0
	if err := playMemories(t.Context(), s, func(events int) { acknowledged = events }); err != nil {
		t.Fatal(err)
	}
	n := len(crashes)
	if n < 5 {
		t.Fatalf("only %d crashes", n)
	}
	for range n {
		c := <-crashes
		clone := openTest(t, Options{Dir: "db"}, c.fs)
		checkMemories(t, clone, c.acknowledged)
	}
}
