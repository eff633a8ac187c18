package memory_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/core/store/pebble"
	"github.com/reflectory/reflectory/core/store/postgres/postgrestest"
	"github.com/reflectory/reflectory/sdk"
)

// database is what tests run on in make scale, besides the other engines.
var database postgrestest.Shared

// concurrent matches the tests in which several things happen at once: callers, hosts, exports next to
// writes, and indices that are read while memories are written.
const concurrent = `AtOnce|Many|While|Between|^Test(Hosts|Index|Quota)_|OneRequest|AColdNamespace|LimitsHold`

func TestOthersWithoutTheRaceDetector(t *testing.T) { coretest.Rest(t, concurrent) }

func TestMain(m *testing.M) {
	coretest.Split(concurrent, "TestOthersWithoutTheRaceDetector")
	os.Exit(database.Main(coretest.WithPlain(m)))
}

// empty returns an empty store: on PostgreSQL in make scale, and otherwise in memory.
func empty(t testing.TB) core.Store {
	t.Helper()
	return database.OpenOr(t, mem.Open())
}

// onEngines runs a test on an empty store of each engine.
func onEngines(t *testing.T, test func(t *testing.T, s core.Store)) {
	t.Run("mem", func(t *testing.T) { test(t, mem.Open()) })
	t.Run("pebble", func(t *testing.T) { test(t, openPebble(t)) })
	if postgrestest.Wanted() {
		t.Run("postgres", func(t *testing.T) { test(t, database.Open(t)) })
	}
}

func openPebble(t testing.TB) core.Store {
	t.Helper()
	s, err := pebble.Open(t.Context(), pebble.Options{Dir: t.TempDir(), Durability: pebble.Relaxed})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// world is the memories of a test, with what they are made of.
type world struct {
	*memory.Memories
	store    core.Store
	clock    *coretest.Clock
	governor governor
	entries  []journal.Entry
}

// newWorld returns memories on a store, with a fixed clock and counted ids.
// Change may set further options.
func newWorld(t *testing.T, s core.Store, change func(*memory.Options)) *world {
	t.Helper()
	w := &world{store: s, clock: &coretest.Clock{}, governor: governor{}}
	o := memory.Options{
		Store: s, Clock: w.clock, IDs: &coretest.IDs{}, Random: &coretest.Random{}, Governor: w.governor,
		Subscribers: []journal.Subscriber{func(_ string, e journal.Entry) {
			if !e.Is(journal.RecordsWritten{}) { // each transaction ends with them
				w.entries = append(w.entries, e)
			}
		}},
	}
	if change != nil {
		change(&o)
	}
	var err error
	if w.Memories, err = memory.New(o); err != nil {
		t.Fatal(err)
	}
	return w
}

// as is a context with a caller that has a label and no subject.
func as(t *testing.T, label string) context.Context {
	return core.WithLabel(t.Context(), label)
}

// events counts the entries of a type that were committed.
func (w *world) events(name string) (n int) {
	for _, e := range w.entries {
		if e.Type == name {
			n++
		}
	}
	return n
}

// observe stores a memory that must be taken.
func (w *world) observe(t *testing.T, r core.ObserveRequest) *core.Memory {
	t.Helper()
	if r.Namespace == "" {
		r.Namespace = "ns"
	}
	m, err := w.Observe(t.Context(), &r)
	if err != nil {
		t.Fatalf("Observe(%+v): %v", r, err)
	}
	return m
}

// governor is a [core.Governor] for tests: the settings of each namespace, by
// its name, without inheritance.
type governor map[string]core.Governance

// Resolve implements [core.Governor].
func (g governor) Resolve(_ core.Reader, namespace string) (*core.Governance, error) {
	settings, set := g[namespace]
	settings.Namespace = namespace
	if !set {
		settings.MaxReflectionDepth, settings.DecidedBy = core.DefaultMaxReflectionDepth, "default"
	}
	settings.MinGateConfidence, settings.Cut = core.DefaultMinGateConfidence, core.DefaultCut
	settings.Retention = core.DefaultRetentionWeights()
	return &settings, nil
}

// wantReason fails unless an error has a class and a reason; "" is no error. Where
// there is none that should be, it ends the test.
func wantReason(t *testing.T, err error, code sdk.Code, reason string) {
	t.Helper()
	if err == nil && code != "" {
		t.Fatalf("no error, want %s %s", code, reason)
	}
	if sdk.CodeOf(err) != code || sdk.ReasonOf(err) != reason {
		t.Errorf("error %v (%s %s), want %s %s", err, sdk.CodeOf(err), sdk.ReasonOf(err), code, reason)
	}
}

// view reads a store.
func view(t *testing.T, s core.Store, fn func(core.Reader) error) {
	t.Helper()
	if err := s.View(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

// wantJournalWhole proves the chains of a store's journal.
func wantJournalWhole(t *testing.T, s core.Store) {
	t.Helper()
	view(t, s, func(r core.Reader) error {
		_, err := (&journal.Audit{}).Verify(t.Context(), r)
		return err
	})
}

// dump is everything that a store holds, except what the engine keeps there.
func dump(t *testing.T, s core.Store) map[string]string {
	t.Helper()
	all := map[string]string{}
	view(t, s, func(r core.Reader) error {
		return r.Scan([]byte{1}, nil, func(key, value []byte) (bool, error) {
			if !strings.HasPrefix(string(key), "meta/") {
				all[string(key)] = string(value)
			}
			return true, nil
		})
	})
	return all
}

// zoned is a clock somewhere else than UTC.
type zoned struct{ at time.Time }

func (z zoned) Now() time.Time { return z.at }
