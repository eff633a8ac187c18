package pebble

import (
	"context"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
)

// approvals is a governor that wants an approval above depth 1.
type approvals struct{}

func (approvals) Resolve(_ core.Reader, namespace string) (*core.Governance, error) {
	above := 1
	return &core.Governance{Namespace: namespace, MaxReflectionDepth: 2, RequireApprovalAbove: &above}, nil
}

// memoryScenario is a list of commits, each with the events that it appends.
func memoryScenario() (steps []func(context.Context, *memory.Memories) error, events []int) {
	add := func(n int, step func(context.Context, *memory.Memories) error) {
		steps, events = append(steps, step), append(events, n)
	}
	reflect := func(sources ...string) {
		add(1, func(ctx context.Context, m *memory.Memories) error {
			_, err := m.Reflect(ctx, &core.ReflectRequest{SourceIDs: sources, Title: fmt.Sprint(sources), Content: "c", IdempotencyKey: fmt.Sprint(sources)})
			return err
		})
	}
	// Each reflection takes one id of coretest.IDs, observations bring their own.
	first, pending := "00000000-0000-7000-8000-000000000001", "00000000-0000-7000-8000-000000000002"
	add(3, func(ctx context.Context, m *memory.Memories) error {
		_, err := m.ObserveAll(ctx, []*core.ObserveRequest{
			{ID: "a", Namespace: "ns", Content: "c", Tags: []string{"x", "y"}, AgentID: "alice"},
			{ID: "b", Namespace: "ns", Content: "c"}, {ID: "c", Namespace: "ns", Content: "c"},
		})
		return err
	})
	reflect("a", "b", "c")
	add(1, func(ctx context.Context, m *memory.Memories) error {
		_, err := m.Link(ctx, &memory.LinkRequest{From: "a", Relation: "contradicts", To: "b"})
		return err
	})
	reflect(first, "a")
	add(1, func(ctx context.Context, m *memory.Memories) error {
		_, err := m.Approve(ctx, pending, "boss")
		return err
	})
	return steps, events
}

// playMemories carries out the scenario, and calls acknowledged after each
// commit with how many events there are.
func playMemories(ctx context.Context, s core.Store, acknowledged func(events int)) error {
	m, err := memory.New(memory.Options{Store: s, Clock: fixedClock{}, IDs: &coretest.IDs{}, Governor: approvals{}})
	if err != nil {
		return err
	}
	steps, events := memoryScenario()
	n := 0
	for i, step := range steps {
		if err := step(ctx, m); err != nil {
			return err
		}
		n += events[i]
		acknowledged(n)
	}
	return nil
}

// checkMemories proves that a store holds whole operations only, and at least
// the acknowledged ones.
func checkMemories(t *testing.T, s core.Store, acknowledged int) {
	t.Helper()
	m, err := memory.New(memory.Options{Store: s, Governor: approvals{}})
	if err != nil {
		t.Fatal(err)
	}
	entries := 0
	err = s.View(t.Context(), func(r core.Reader) error {
		stream := journal.NamespaceStream("ns")
		if err := journal.Verify(r, stream); err != nil {
			return err
		}
		if err := journal.Read(r, stream, func(journal.Entry) error { entries++; return nil }); err != nil {
			return err
		}
		return m.Check(t.Context(), r, func(p core.Problem) { t.Errorf("after %d events: %+v", acknowledged, p) })
	})
	if err != nil {
		t.Fatal(err)
	}
	_, events := memoryScenario()
	for _, n := range append([]int{0}, events...) {
		if entries -= n; entries == 0 {
			break
		}
	}
	if entries != 0 {
		t.Errorf("after %d acknowledged events the store holds a part of an operation", acknowledged)
	}
}

func TestCrashAtEveryCommitOfMemories(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := openTest(t, Options{Dir: "db", MemTableBytes: 64 << 10}, fs)
	clones := 0
	err := playMemories(t.Context(), s, func(events int) {
		clone := openTest(t, Options{Dir: "db"}, fs.CrashClone(vfs.CrashCloneCfg{}))
		checkMemories(t, clone, events)
		if n := countStream(t, clone); n != events {
			t.Errorf("%d events are there, %d were acknowledged", n, events)
		}
		clones++
	})
	if err != nil || clones != 5 {
		t.Errorf("%d crashes, error %v", clones, err)
	}
}

func countStream(t *testing.T, s core.Store) (entries int) {
	t.Helper()
	err := s.View(t.Context(), func(r core.Reader) error {
		return journal.Read(r, journal.NamespaceStream("ns"), func(journal.Entry) error { entries++; return nil })
	})
	if err != nil {
		t.Fatal(err)
	}
	return entries
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
		if got := countStream(t, clone); got < c.acknowledged {
			t.Errorf("%d events are there, %d were acknowledged", got, c.acknowledged)
		}
	}
}
