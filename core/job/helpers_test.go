package job_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/core/store/pebble"
	"github.com/reflectory/reflectory/core/store/postgres/postgrestest"
	"github.com/reflectory/reflectory/sdk"
)

// database is what tests run on in make scale.
var database postgrestest.Shared

func TestMain(m *testing.M) { goleak.VerifyTestMain(coretest.WithPlain(onDatabase{m})) }

// onDatabase runs the tests, and ends the database after them.
type onDatabase struct{ *testing.M }

func (o onDatabase) Run() int { return database.Main(o.M) }

// empty returns an empty store: on PostgreSQL in make scale, and otherwise in memory.
func empty(t testing.TB) core.Store {
	t.Helper()
	return database.OpenOr(t, mem.Open())
}

// board is jobs on a store, with a clock that stands still.
type board struct {
	*job.Repository
	t     testing.TB
	store core.Store
	clock *coretest.Clock
	ids   *coretest.IDs
}

// newBoard returns jobs on an empty store in memory.
func newBoard(t testing.TB, o job.Options) *board {
	t.Helper()
	b := &board{t: t, store: empty(t), clock: &coretest.Clock{}, ids: &coretest.IDs{}}
	must(t, store.Prepare(t.Context(), b.store))
	b.restart(o)
	return b
}

// restart is another process on the same store.
func (b *board) restart(o job.Options) {
	b.t.Helper()
	if o.Random == nil {
		o.Random = func() float64 { return 0.5 } // no jitter
	}
	var err error
	b.Repository, err = job.New(&journal.Writer{Store: b.store, Clock: b.clock}, b.ids, o)
	must(b.t, err)
}

// add queues a job, which must succeed.
func (b *board) add(user string, t job.Type, namespace string) string {
	b.t.Helper()
	q := job.Request{UserID: user, Type: t, Namespace: namespace}
	if t == job.Workflow {
		q.IdempotencyKey = b.ids.NewID()
	}
	made, err := b.Enqueue(b.t.Context(), &q)
	must(b.t, err)
	if !made.Made {
		b.t.Fatalf("no job is made for %s: there is %s", user, made.ID)
	}
	return made.ID
}

// claim claims a job of any type; nil if none may run.
func (b *board) claim(holder string) *job.Claimed {
	b.t.Helper()
	c, err := b.Claim(b.t.Context(), holder, job.Types())
	must(b.t, err)
	return c
}

// claims claims a job, which must exist.
func (b *board) claims(holder string) *job.Claimed {
	b.t.Helper()
	c := b.claim(holder)
	if c == nil {
		b.t.Fatal("no job may run")
	}
	return c
}

// get reads a job, which must exist.
func (b *board) get(id string) *job.Job {
	b.t.Helper()
	j, err := b.Get(b.t.Context(), id)
	must(b.t, err)
	return j
}

// wantStatus fails unless a job has a status and a reason.
func (b *board) wantStatus(id string, status job.Status, reason string) *job.Job {
	b.t.Helper()
	j := b.get(id)
	if j.Status != status || j.Reason != reason {
		b.t.Fatalf("job %s is %s (%q), want %s (%q)", id, j.Status, j.Reason, status, reason)
	}
	return j
}

// sound fails unless the store's check finds nothing.
func (b *board) sound() {
	b.t.Helper()
	for _, p := range problems(b.t, b.store) {
		b.t.Errorf("%s %s: %s", p.Part, p.Key, p.Message)
	}
}

func problems(t testing.TB, s core.Store) (list []core.Problem) {
	t.Helper()
	_, err := store.Check(context.Background(), s, parts(), func(p core.Problem) { list = append(list, p) })
	must(t, err)
	return list
}

func parts() []core.Checker { return []core.Checker{journal.Checker{}, job.Checker{}} }

// events are the types of the events of a user's jobs, in order.
func (b *board) events(user string) (types []string) {
	b.t.Helper()
	must(b.t, b.store.View(b.t.Context(), func(r core.Reader) error {
		types = nil
		return journal.Read(r, job.Stream(user), func(e journal.Entry) error { types = append(types, e.Type[len("agent.job."):]); return nil })
	}))
	return types
}

// dump is all that a store holds, except the journal. Ordered pages are listed item by
// item, since how they are cut into pages depends on the order of the changes.
func dump(t testing.TB, s core.Store) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, s.View(t.Context(), func(r core.Reader) error {
		return core.ScanPrefix(r, []byte("job"), func(key, value []byte) (bool, error) {
			name := string(key)
			if !strings.HasPrefix(name, "job-ready/") && !strings.HasPrefix(name, "job-wait/") {
				all[name] = string(value)
			} else if set, _, isPage := strings.Cut(name, "page/"); isPage {
				for line := range strings.SplitSeq(string(value), "\n") {
					all[set+line] = ""
				}
			}
			return true, nil
		})
	}))
	return all
}

// swap writes a value behind the program's back, and returns the one before.
func (b *board) swap(key, value []byte) (before []byte) {
	b.t.Helper()
	must(b.t, b.store.Update(b.t.Context(), func(tx core.Tx) error {
		old, _, err := tx.Get(key)
		if err != nil {
			return err
		}
		before = bytes.Clone(old)
		return tx.Put(key, value)
	}))
	return before
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantReason(t testing.TB, err error, reason string) {
	t.Helper()
	if sdk.ReasonOf(err) != reason {
		t.Fatalf("the error is %v (%s), want %s", err, sdk.ReasonOf(err), reason)
	}
}

// onDisk opens a store on disk that doesn't wait for it.
func onDisk(t testing.TB) core.Store {
	t.Helper()
	s, err := pebble.Open(t.Context(), pebble.Options{Dir: t.TempDir(), Durability: pebble.Relaxed})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}
