package operation_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/sdk"
)

// content is the pairs of a store.
type content map[string]string

func contentOf(t *testing.T, s core.Store) content {
	t.Helper()
	all := content{}
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

// open makes a store of the pairs.
func (c content) open(t *testing.T) core.Store {
	t.Helper()
	s := mem.Open()
	err := s.Update(t.Context(), func(tx core.Tx) error {
		for key, value := range c {
			if err := tx.Put([]byte(key), []byte(value)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// without are the pairs without what every database has for itself.
func (c content) without() content {
	kept := maps.Clone(c)
	maps.DeleteFunc(kept, func(key, _ string) bool {
		for _, own := range []string{
			"meta/", "tenant/", "event-new/", "event/root\x00", "event-head/root", "event/moved\x00", "event-head/moved", "host/", "lease/", "rate/",
			"llm-reply",
		} {
			if strings.HasPrefix(key, own) {
				return true
			}
		}
		return false
	})
	return kept
}

// everyRecord is a store with every kind of record of tenant team, and some of other tenants.
func everyRecord(t *testing.T) content {
	t.Helper()
	w := newWorld(t)
	fixtures := operationtest.Fixtures()
	for _, name := range slices.Sorted(maps.Keys(fixtures)) {
		in := fixtures[name](w)
		o, err := operation.Find(name)
		w.Must(err)
		if !o.ReadOnly && !strings.HasPrefix(name, "store_") && !strings.HasPrefix(name, "policy_") {
			_, _ = w.Do(core.Operator("tester"), name, in) // some fixtures are refused, which leaves what they made
		}
	}
	for _, namespace := range []string{"team2", "users/a", "users/ab", "default"} {
		observeIn(w, namespace, "lighthouse")
		try[operation.Recalled](w, "memory_recall", &core.RecallRequest{Query: "lighthouse", Session: "s-" + strings.ReplaceAll(namespace, "/", "-"), Turn: 1, RecallFilter: core.RecallFilter{Namespace: namespace}})
	}
	var waiting []string
	w.Must(w.Config.Store.View(w.Ctx, func(r core.Reader) (err error) {
		waiting, err = core.Suffixes(r, []byte("job/"), 1000)
		return err
	}))
	for _, id := range waiting {
		_, err := w.Host.Jobs.Cancel(w.Ctx, id, "")
		w.Must(err)
	}
	call := operation.Call{Host: w.Host, IdempotencyKey: "once"}
	_, err := operation.Do(w.Ctx, call, "memory_observe", &core.ObserveRequest{Namespace: "team/here", Content: "a fact of one call"})
	w.Must(err)
	call.IdempotencyKey = "of two tenants"
	_, err = operation.Do(w.Ctx, call, "memory_observe_all", &operation.MemoryObserveAll{Items: []*core.ObserveRequest{
		{Namespace: "team/here", Content: "a fact of two"}, {Namespace: "team2", Content: "another of two"},
	}})
	w.Must(err)
	_, err = journal.Record(w.Ctx, &journal.Writer{Store: w.Config.Store})
	w.Must(err)
	if list := problems(t, w.Config.Store); len(list) > 0 {
		t.Fatalf("before: %+v", list)
	}
	return contentOf(t, w.Config.Store)
}

func problems(t *testing.T, s core.Store) (list []core.Problem) {
	t.Helper()
	parts, err := host.Checkers(s)
	if err == nil {
		_, err = store.Check(t.Context(), s, parts, func(p core.Problem) { list = append(list, p) })
	}
	if err != nil {
		t.Fatal(err)
	}
	return list
}

var errKilled = errors.New("killed")

// killed is a store of a program that is killed after so many commits; -1 is never.
type killed struct {
	core.Store
	commits *int
	after   int
}

func (k killed) Update(ctx context.Context, fn func(core.Tx) error) error {
	if *k.commits == k.after {
		return errKilled
	}
	*k.commits++
	return k.Store.Update(ctx, fn)
}

// move moves tenant team between a main database and another one, by a program that is killed after
// so many commits; -1 is never.
func move(t *testing.T, main, own core.Store, to string, after int, check bool) (done *store.TenantMove, commits int, err error) {
	t.Helper()
	m := store.TenantMover{Tenant: "team", Main: "main", Databases: map[string]store.TenantDatabase{}, BatchKeys: 400}
	for id, s := range map[string]core.Store{"main": main, "own": own} {
		if _, err := store.DatabaseID(t.Context(), s, func() string { return id }); err != nil {
			t.Fatal(err)
		}
		s = killed{s, &commits, after}
		w := &journal.Writer{Store: s}
		jobs, err := job.New(w, &core.SystemIDs{}, job.Options{})
		if err != nil {
			t.Fatal(err)
		}
		parts, err := host.Checkers(s)
		if err != nil {
			t.Fatal(err)
		}
		if !check {
			parts = nil
		}
		m.Databases[id] = store.TenantDatabase{Writer: w, Parts: parts, RemoveJobs: func(ctx context.Context, tenant string) error {
			return jobs.RemoveEnded(ctx, func(namespace string) bool { return core.Tenant(namespace) == tenant })
		}}
	}
	done, err = m.To(t.Context(), to)
	return done, commits, err
}

// Every kind of record of a tenant moves to another database and back, byte for byte, whatever
// commit the program is killed after, and nothing of other tenants changes.
func TestTenantMove_EveryRecord(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	before := everyRecord(t)
	main, own := before.open(t), mem.Open()
	done, commits, err := move(t, main, own, "own", -1, true)
	if err != nil {
		t.Fatalf("%v %v", err, sdk.AsError(err).Details)
	}
	there, left := contentOf(t, own).without(), contentOf(t, main).without()
	lost := 0
	for key, value := range before.without() {
		if there[key] != value && left[key] != value && !strings.HasPrefix(key, "job") {
			if lost++; !strings.HasPrefix(key, "idempotency") || lost > 4 { // of the call for two tenants, with its indices
				t.Errorf("%q is lost", key)
			}
		}
		if _, both := there[key]; both && !strings.HasPrefix(key, "snapshot-payload/") && left[key] != "" {
			t.Errorf("%q is in both", key)
		}
	}
	if len(there) == 0 || done.Records < len(there) || !done.Moved {
		t.Errorf("%d keys are there: %+v", len(there), done)
	}
	for key, value := range left {
		for id, word := range map[string]string{"team/": "a namespace", "The harbour closes": "a text"} {
			if stays := slices.ContainsFunc([]string{"decision/", "event/decision/", "event/job/", "event/access\x00", "token/", "evidence-dag/", "event/evidence/"}, func(prefix string) bool {
				return strings.HasPrefix(key, prefix)
			}); !stays && strings.Contains(key+value, id) {
				t.Errorf("%s is left in %q: %.200s", word, key, value)
			}
		}
	}
	agree := func(at int, s core.Store, want content) {
		t.Helper()
		if got := contentOf(t, s).without(); !maps.Equal(got, want) {
			t.Errorf("killed after %d: %d keys, not %d", at, len(got), len(want))
		}
		if at%5 > 0 { // a check takes a while
			return
		}
		if list := problems(t, s); len(list) > 0 {
			t.Errorf("killed after %d: %+v", at, list[0])
		}
	}
	back := before.without() // what a tenant has that was moved there and back: its jobs are gone
	maps.DeleteFunc(back, func(key, _ string) bool { _, kept := left[key]; _, moved := there[key]; return !kept && !moved })
	for at := 0; at < commits; at += coretest.Cases(4, 1) {
		main, own := before.open(t), mem.Open()
		if _, _, err := move(t, main, own, "own", at, false); !errors.Is(err, errKilled) {
			t.Fatalf("killed after %d: %v", at, err)
		}
		main2, own2 := contentOf(t, main).open(t), contentOf(t, own).open(t)
		state := contentOf(t, main)["tenant/team"]
		if _, _, err := move(t, main, own, "own", -1, false); err != nil {
			t.Fatalf("after %d: %v %v", at, err, sdk.AsError(err).Details)
		}
		agree(at, own, there)
		agree(at, main, left)
		if !strings.Contains(state, "copying") && at%8 > 0 {
			continue // it is in the other database already, and goes back as a whole
		}
		done, _, err := move(t, main2, own2, "main", -1, false)
		if err != nil {
			t.Fatalf("back after %d: %v %v", at, err, sdk.AsError(err).Details)
		}
		agree(at, own2, content{})
		agree(at, main2, map[bool]content{true: back, false: before.without()}[done.Moved])
	}
	if _, _, err := move(t, main, own, "main", -1, true); err != nil {
		t.Fatalf("back: %v %v", err, sdk.AsError(err).Details)
	}
	agree(0, main, back)
	agree(0, own, content{})
}
