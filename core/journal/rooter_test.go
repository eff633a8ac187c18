package journal_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/sdk"
)

func (b *book) rootSeq() uint64 {
	b.Helper()
	var head journal.Head
	err := b.Store.View(b.Context(), func(r core.Reader) (err error) {
		head, err = journal.ReadHead(r, journal.RootStream)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return head.Seq
}

func TestTheRooterRecordsEverySecondAndAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook(t)
		r := journal.StartRooter(b.Writer)
		for i := range uint64(3) {
			b.append("run/a", "run/b")
			if got := b.rootSeq(); got != i {
				t.Errorf("before second %d the root has %d entries", i+1, got)
			}
			time.Sleep(time.Second) // a root each second
			synctest.Wait()
		}
		time.Sleep(time.Hour) // nothing changes
		b.append("run/a")
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := b.rootSeq(); got != 4 {
			t.Errorf("the root has %d entries, want 4", got)
		}
		if _, err := b.audit(journal.Head{}); err != nil {
			t.Error(err)
		}
	})
}

// failing is a store that can't be written while broken is set.
type failing struct {
	core.Store
	broken atomic.Bool
}

func (f *failing) Update(ctx context.Context, fn func(core.Tx) error) error {
	if f.broken.Load() {
		return sdk.Errorf(sdk.Unavailable, "store_io", "the disk is full")
	}
	return f.Store.Update(ctx, fn)
}

func TestTheRooterGoesOnAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook(t)
		disk := &failing{Store: b.Store}
		w := *b.Writer
		w.Store = &counting{Store: disk} // nothing is committed between two tries
		r := journal.StartRooter(&w)
		b.append("run/a")
		disk.broken.Store(true)
		time.Sleep(2 * journal.RootInterval)
		synctest.Wait()
		if sdk.ReasonOf(r.Err()) != "store_io" {
			t.Errorf("Err: %v", r.Err())
		}
		disk.broken.Store(false)
		time.Sleep(journal.RootInterval)
		synctest.Wait()
		if r.Err() != nil || b.rootSeq() != 1 {
			t.Errorf("Err: %v, %d entries", r.Err(), b.rootSeq())
		}
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestAHeadThatCannotBeReadKeepsNoOtherFromTheRoot.
func TestAHeadThatCannotBeReadKeepsNoOtherFromTheRoot(t *testing.T) {
	b := newBook(t)
	b.append("run/a", "run/b")
	b.change(func(tx core.Tx) error { return tx.Put([]byte("event-head/run/a"), []byte("?")) })
	if _, err := journal.Record(t.Context(), b.Writer); sdk.ReasonOf(err) != "journal_broken" {
		t.Errorf("%v", err)
	}
	if b.rootSeq() != 1 {
		t.Errorf("the root has %d entries", b.rootSeq())
	}
	alone := newBook(t)
	alone.append("run/a")
	alone.change(func(tx core.Tx) error { return tx.Put([]byte("event-head/run/a"), []byte("?")) })
	if _, err := journal.Record(t.Context(), alone.Writer); sdk.ReasonOf(err) != "journal_broken" || alone.rootSeq() != 0 {
		t.Errorf("%v, and the root has %d entries of nothing", err, alone.rootSeq())
	}
}

func TestSubscribersAreCalledAfterTheCommit(t *testing.T) {
	b := newBook(t)
	var lines []string
	counts := map[string]int{}
	b.Subscribers = []journal.Subscriber{
		journal.LogTo(func(message string, args ...any) {
			lines = append(lines, fmt.Sprintln(append([]any{message}, args[:4]...)...))
		}),
		func(_ string, e journal.Entry) { counts[e.Type]++ },
	}
	b.append("run/a", "run/a")
	failed := errors.New("no")
	err := b.Update(t.Context(), func(tx *journal.Tx) error {
		_ = tx.Append("run/a", journal.RunResumed{})
		return failed
	})
	if !errors.Is(err, failed) {
		t.Error(err)
	}
	b.record()
	if got := fmt.Sprint(counts); got != "map[heads_recorded:1 run_resumed:2]" {
		t.Errorf("counted %s", got)
	}
	want := "run_resumed stream run/a seq 1\nrun_resumed stream run/a seq 2\nheads_recorded stream root seq 1\n"
	if got := strings.Join(lines, ""); got != want {
		t.Errorf("logged\n%s", got)
	}
}

// TestTheCatalogueHasEveryEvent reads the names from the source.
func TestTheCatalogueHasEveryEvent(t *testing.T) {
	var known []string
	for _, info := range journal.Catalogue() {
		known = append(known, info.Type)
		for _, f := range info.Fields {
			if f.Name == "" || f.Name == "-" {
				t.Errorf("%s has a field without a name in JSON", info.Type)
			}
		}
	}
	if !slices.IsSorted(known) || len(slices.Compact(slices.Clone(known))) != len(known) {
		t.Errorf("not sorted, or twice: %v", known)
	}
	written := typesInSource(t)
	isKnown := func(name string) bool { return slices.Contains(known, name) }
	if lacking := slices.DeleteFunc(written, isKnown); len(lacking) > 0 {
		t.Errorf("add a zero value of each of these events to the list at the end of its file event_*.go: %q", lacking)
	}
}

// typesInSource are what the methods eventType return.
func typesInSource(t *testing.T) (types []string) {
	t.Helper()
	files, err := filepath.Glob("event_*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if f, ok := n.(*ast.FuncDecl); ok && f.Name.Name == "eventType" {
				literal := f.Body.List[0].(*ast.ReturnStmt).Results[0].(*ast.BasicLit).Value
				types = append(types, strings.Trim(literal, `"`))
			}
			return true
		})
	}
	return types
}

func TestTheCatalogueDescribesFields(t *testing.T) {
	for _, info := range journal.Catalogue() {
		switch info.Type {
		case "run_ended":
			want := `[{"name":"status","kind":"text"},{"name":"stop_reason","kind":"text","optional":true},{"name":"exhausted_loops","kind":"list","optional":true},{"name":"result","kind":"text"}]`
			if got := string(jsontext.MustEncode(info.Fields)); got != want {
				t.Errorf("%s: %s", info.Type, got)
			}
		case "agent.injection.block.truncated":
			if got := info.Fields[0].Name; got != "session_id" {
				t.Errorf("%s begins with %s: fields that events share come first", info.Type, got)
			}
		}
	}
}

// TestTheCatalogueHasTheFieldsOfTheContract checks that the catalogue has the events of
// memories that the specification lists, with the fields that it demands.
func TestTheCatalogueHasTheFieldsOfTheContract(t *testing.T) {
	const turn, life, gate = "session_id turn_id", " memory_id state_before ttl_score", " state_after decision.verdict decision.confidence"
	want := map[string]string{
		"agent.memory.recalled":             turn + " latency_ms",
		"agent.memory.evolution.applied":    turn + " latency_ms",
		"agent.memory.revalidate.started":   turn + life,
		"agent.memory.revalidate.decision":  turn + life + gate + " latency_ms",
		"agent.memory.lifecycle.transition": turn + life + gate,
		"agent.memory.purged":               turn + life + gate,
		"agent.memory.promoted":             turn + life + gate,
		"reflection.depth_exceeded":         "agent_id attempted cap namespace title source_ids",
	}
	for _, info := range journal.Catalogue() {
		for _, field := range strings.Fields(want[info.Type]) {
			if !slices.ContainsFunc(info.Fields, func(f journal.FieldInfo) bool { return f.Name == field }) {
				t.Errorf("%s has no %s", info.Type, field)
			}
		}
		delete(want, info.Type)
	}
	if len(want) > 0 {
		t.Errorf("the catalogue lacks %v", want)
	}
	for _, info := range journal.Catalogue() {
		has := func(name string) bool {
			return slices.ContainsFunc(info.Fields, func(f journal.FieldInfo) bool { return f.Name == name })
		}
		if has("state_before") != has("state_after") {
			t.Errorf("%s has one of state_before and state_after", info.Type)
		}
	}
}

// counting is a store that counts its commits and the looks at it.
type counting struct {
	core.Store
	commits uint64
	views   int
}

func (c *counting) Commits() uint64 { return c.commits }

func (c *counting) View(ctx context.Context, fn func(core.Reader) error) error {
	c.views++
	return c.Store.View(ctx, fn)
}

func (c *counting) Update(ctx context.Context, fn func(core.Tx) error) error {
	err := c.Store.Update(ctx, fn)
	if err == nil {
		c.commits++
	}
	return err
}

func TestTheRooterRestsWhereNothingIsCommitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook(t)
		b.append("run/a") // by an earlier host
		c := &counting{Store: b.Store}
		w := *b.Writer
		w.Store = c
		r := journal.StartRooter(&w)
		time.Sleep(5 * journal.RootInterval)
		synctest.Wait()
		if b.rootSeq() != 1 {
			t.Error("what an earlier host left isn't recorded")
		}
		looks := c.views
		time.Sleep(time.Hour)
		synctest.Wait()
		if c.views != looks {
			t.Errorf("%d looks in an idle hour", c.views-looks)
		}
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A root that hosts share is written by the one that leads, through the store that it is
// given, and at the end too.
func TestRooter_OfSharedStoreWritesWhereItLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mem.Open()
		w := &journal.Writer{Store: s}
		var leads atomic.Bool
		var through atomic.Int32
		rooter := journal.StartSharedRooter(w, func(_ context.Context, last bool, record func(core.Store) error) error {
			if !leads.Load() && !last {
				return nil
			}
			through.Add(1)
			return record(s)
		})
		change := func() {
			if err := w.Update(t.Context(), func(tx *journal.Tx) error {
				return tx.Append("a", journal.RunStarted{Workflow: "w"})
			}); err != nil {
				t.Fatal(err)
			}
		}
		recorded := func() (seq uint64) {
			_ = s.View(t.Context(), func(r core.Reader) error {
				head, err := journal.ReadHead(r, journal.RootStream)
				seq = head.Seq
				return err
			})
			return seq
		}
		change()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if recorded() != 0 || through.Load() != 0 {
			t.Error("it writes the root of another")
		}
		leads.Store(true)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if recorded() != 1 || through.Load() == 0 {
			t.Error("it doesn't write the root")
		}
		leads.Store(false)
		change()
		if err := rooter.Close(t.Context()); err != nil || recorded() != 2 {
			t.Error(recorded(), err)
		}
	})
}
