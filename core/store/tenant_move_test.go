package store_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/sdk"
)

// newMover moves tenant team between databases, the first of which is the main one.
func newMover(t *testing.T, databases ...core.Store) *store.TenantMover {
	t.Helper()
	m := &store.TenantMover{Tenant: "team", Main: "0", Databases: map[string]store.TenantDatabase{}, BatchKeys: 3}
	for i, s := range databases {
		id, err := store.DatabaseID(t.Context(), s, func() string { return fmt.Sprint(i) })
		if err != nil {
			t.Fatal(err)
		}
		m.Databases[id] = store.TenantDatabase{Writer: &journal.Writer{Store: s}, RemoveJobs: func(context.Context, string) error { return nil }}
	}
	return m
}

// moved moves the tenant, and fails the test if it can't.
func moved(t *testing.T, m *store.TenantMover, to string) *store.TenantMove {
	t.Helper()
	done, err := m.To(t.Context(), to)
	if err != nil {
		t.Fatalf("%v %v", err, sdk.AsError(err).Details)
	}
	return done
}

// appendTo appends an event to the stream of a namespace, as a host does.
func appendTo(ctx context.Context, s core.Store, namespace string) error {
	w := journal.Writer{Store: store.HereStore(s, nil)}
	return w.Update(ctx, func(tx *journal.Tx) error {
		return tx.Append(journal.NamespaceStream(namespace), journal.NamespaceImported{Namespace: namespace})
	})
}

// pairs are the pairs of a store but for those that say where it is, where tenants are, and what
// the root has to record.
func pairs(t *testing.T, s core.Store) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := s.View(t.Context(), func(r core.Reader) error {
		return r.Scan(nil, nil, func(key, value []byte) (bool, error) {
			all[string(key)] = string(value)
			return true, nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// entries counts the entries of the streams of namespaces.
func entries(t *testing.T, s core.Store, namespaces ...string) (n int) {
	t.Helper()
	err := s.View(t.Context(), func(r core.Reader) error {
		for _, namespace := range namespaces {
			head, err := journal.ReadHead(r, journal.NamespaceStream(namespace))
			if err != nil {
				return err
			}
			n += int(head.Seq)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A write that was acknowledged is in the copy; another one is refused. Other tenants notice
// nothing, even if their names begin like the tenant's.
func TestTenantMove_WritersAtOnce(t *testing.T) {
	main, own := mem.Open(), mem.Open()
	m := newMover(t, main, own)
	namespaces := []string{"team", "team/a", "team/b"}
	var writers sync.WaitGroup
	var acknowledged [3]int
	begun, stop := make(chan bool, 3), make(chan bool)
	for i, namespace := range namespaces {
		writers.Go(func() {
			for n := 0; ; n++ {
				err := appendTo(t.Context(), main, namespace)
				switch {
				case err == nil:
					acknowledged[i]++
				case sdk.ReasonOf(err) != store.TenantMoving || sdk.CodeOf(err) != sdk.Unavailable || sdk.AsError(err).Hint == "":
					if sdk.ReasonOf(err) != store.TenantElsewhere {
						t.Errorf("a writer: %v", err)
					}
					return
				}
				if n == 10 {
					begun <- true
				}
			}
		})
	}
	for _, other := range []string{"team2", "teams/a"} {
		writers.Go(func() {
			for {
				if err := appendTo(t.Context(), main, other); err != nil {
					t.Errorf("another tenant: %v", err)
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for range namespaces {
		<-begun
	}
	done := moved(t, m, "1")
	close(stop)
	writers.Wait()
	if got, want := entries(t, own, namespaces...), acknowledged[0]+acknowledged[1]+acknowledged[2]; got != want || !done.Moved {
		t.Errorf("%d writes were acknowledged, and %d are there (%+v)", want, got, done)
	}
	if n := entries(t, main, namespaces...); n != 0 || entries(t, main, "team2") == 0 || entries(t, own, "team2", "teams/a") != 0 {
		t.Errorf("%d are left, %d and %d are of others", n, entries(t, main, "team2"), entries(t, own, "team2", "teams/a"))
	}
	if err := appendTo(t.Context(), own, "team/a"); err != nil {
		t.Errorf("a write to the new database: %v", err)
	}
}

// A transaction that began before the tenant was closed doesn't commit after it, and neither does a
// move that was stopped until another one was completed.
func TestTenantMove_StoppedWritersChangeNothing(t *testing.T) {
	main, own := mem.Open(), mem.Open()
	if err := appendTo(t.Context(), main, "team/a"); err != nil {
		t.Fatal(err)
	}
	first := true
	err := store.HereStore(main, nil).Update(t.Context(), func(tx core.Tx) error {
		err := tx.Put([]byte("event-head/namespace/team/late"), []byte("{}"))
		if first {
			first = false
			moved(t, newMover(t, main, own), "1")
		}
		return err
	})
	if sdk.ReasonOf(err) != store.TenantElsewhere {
		t.Errorf("a stopped writer: %v", err)
	}
	for _, stop := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10} {
		stopped, n := &pausedStore{Store: main}, 0
		stopped.before = func() {
			if n++; n != stop {
				return
			}
			if _, err := newMover(t, main, own).To(t.Context(), "0"); err != nil {
				t.Error(err)
			}
			if err := appendTo(t.Context(), main, "team/a"); err != nil {
				t.Error(err)
			}
		}
		want := entries(t, own, "team/a") + 1
		_, err := newMover(t, stopped, own).To(t.Context(), "0")
		if n < stop {
			break
		}
		if reason := sdk.ReasonOf(err); err != nil && reason != "tenant_move_changed" && reason != "tenant_taken" && reason != "tenant_copy_wrong" {
			t.Errorf("a move that was stopped at commit %d: %v", stop, err)
		}
		if got := entries(t, main, "team/a"); got != want {
			t.Errorf("stopped at commit %d: %d entries, not %d", stop, got, want)
		}
		if err := appendTo(t.Context(), main, "team/a"); err != nil {
			t.Errorf("stopped at commit %d: %v", stop, err)
		}
		moved(t, newMover(t, main, own), "1")
	}
}

// pausedStore does something before each of its commits.
type pausedStore struct {
	core.Store
	before func()
}

func (s *pausedStore) Update(ctx context.Context, fn func(core.Tx) error) error {
	s.before()
	return s.Store.Update(ctx, fn)
}

func TestTenantMove_Refusals(t *testing.T) {
	put := func(key, value string) func(core.Tx) error {
		return func(tx core.Tx) error { return tx.Put([]byte(key), []byte(value)) }
	}
	for name, c := range map[string]struct {
		main, own func(core.Tx) error
		want      string
	}{
		"a run goes on":         {put("run/1", `{"namespace":"team/a","status":"running"}`), nil, "tenant_busy"},
		"a job waits":           {put("job/1", `{"namespace":"team","status":"queued"}`), nil, "tenant_busy"},
		"of another tenant":     {put("run/1", `{"namespace":"team2","status":"running"}`), nil, ""},
		"of the default tenant": {put("run/1", `{"status":"running"}`), nil, ""},
		"its name is taken":     {nil, put("event-head/namespace/team/a", `{"seq":1,"hash":"x"}`), "tenant_taken"},
		"its id is taken":       {put("memory/1", `{"namespace":"team"}`), put("memory/1", `{"namespace":"staff"}`), "tenant_taken"},
		"a link": {func(tx core.Tx) error {
			return core.JoinErrors(put("memory/1", `{"namespace":"team"}`)(tx), put("memory/2", `{"namespace":"team2"}`)(tx), put("link/2/supports/1", "{}")(tx))
		}, nil, "tenant_shared"},
		"a session": {func(tx core.Tx) error {
			return core.JoinErrors(put("session/s", `{"namespace":"team"}`)(tx), put("turn/s/00000001", `{"namespace":"staff"}`)(tx))
		}, nil, "tenant_shared"},
		"texts of others in a run": {func(tx core.Tx) error {
			return core.JoinErrors(put("run/1", `{"namespace":"team","status":"passed"}`)(tx), put("memory/2", `{"namespace":"team2"}`)(tx), put("run-memory/2/1/0001", "{}")(tx))
		}, nil, "tenant_shared"},
	} {
		main, own := mem.Open(), mem.Open()
		m := newMover(t, main, own)
		for s, change := range map[core.Store]func(core.Tx) error{main: c.main, own: c.own} {
			if change == nil {
				continue
			}
			if err := s.Update(t.Context(), change); err != nil {
				t.Fatal(err)
			}
		}
		before := [2]map[string]string{pairs(t, main), pairs(t, own)}
		_, err := m.To(t.Context(), "1")
		if sdk.ReasonOf(err) != c.want || err != nil && sdk.AsError(err).Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
		if c.want != "" && fmt.Sprint(before) != fmt.Sprint([2]map[string]string{pairs(t, main), pairs(t, own)}) {
			t.Errorf("%s: something was written", name)
		}
	}
	_, err := newMover(t, mem.Open()).To(t.Context(), "9")
	if sdk.ReasonOf(err) != "tenant_database_missing" {
		t.Errorf("a database that isn't there: %v", err)
	}
}

// checkFunc is a function as a checker.
type checkFunc func(report func(core.Problem)) error

func (f checkFunc) Check(_ context.Context, _ core.Reader, report func(core.Problem)) error {
	return f(report)
}

// What isn't equal in the copy is found before the tenant is there, and the move can be given up.
func TestTenantMove_ForgedCopyIsFound(t *testing.T) {
	for name, forge := range map[string]func(core.Tx) error{
		"another value": func(tx core.Tx) error { return tx.Put([]byte("memory-turn/team"), []byte("8")) },
		"one more key":  func(tx core.Tx) error { return tx.Put([]byte("memory-turn/team/x"), []byte("8")) },
		"one key less":  func(tx core.Tx) error { return tx.Delete([]byte("memory-turn/team")) },
		"a problem":     nil,
	} {
		main, own := mem.Open(), mem.Open()
		err := core.JoinErrors(appendTo(t.Context(), main, "team"), main.Update(t.Context(), func(tx core.Tx) error { return tx.Put([]byte("memory-turn/team"), []byte("7")) }))
		if err != nil {
			t.Fatal(err)
		}
		m := newMover(t, main, own)
		there := m.Databases["1"]
		there.Parts = []core.Checker{checkFunc(func(report func(core.Problem)) error {
			if forge == nil {
				report(core.Problem{Key: "memory/1", Message: "it is damaged"})
				return nil
			}
			return own.Update(t.Context(), forge)
		})}
		m.Databases["1"] = there
		if _, err := m.To(t.Context(), "1"); sdk.ReasonOf(err) != "tenant_copy_wrong" {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := appendTo(t.Context(), main, "team"); sdk.ReasonOf(err) != store.TenantMoving {
			t.Errorf("%s: a write to the source: %v", name, err)
		}
		if done := moved(t, newMover(t, main, own), "0"); !done.GivenUp {
			t.Errorf("%s: %+v", name, done)
		}
		if err := appendTo(t.Context(), main, "team"); err != nil {
			t.Errorf("%s: a write after it was given up: %v", name, err)
		}
	}
}
