package operation_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/idempotency"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/sdk"
)

// keyed calls an operation with an idempotency key, and says whether the outcome was an
// earlier call's.
func keyed(w *world, c core.Caller, key, name string, in any) (out any, again bool, err error) {
	w.T.Helper()
	call := operation.Call{Host: w.Host, IdempotencyKey: key, Replayed: &again}
	out, err = operation.Do(core.WithCaller(w.T.Context(), c), call, name, w.Again(in))
	return out, again, err
}

// contents are all that a store holds below some prefixes, "" for everything.
func contents(t testing.TB, s core.Store, prefix string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := s.View(t.Context(), func(r core.Reader) error {
		return core.ScanPrefix(r, []byte(prefix), func(key, value []byte) (bool, error) {
			all[string(key)] = string(value)
			return true, nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// writing are the operations that take a key.
func writing(t *testing.T) (list []operation.Operation) {
	t.Helper()
	for _, o := range operationtest.Table(t) {
		if !o.ReadOnly && !o.Secret && o.Name != "store_import" {
			list = append(list, o)
		}
	}
	return list
}

// TestIdempotency_OfEveryOperation calls each operation that writes twice with one key:
// the second call is answered with the same bytes, and writes nothing. With another request,
// or for another operation, the key is refused.
func TestIdempotency_OfEveryOperation(t *testing.T) {
	for _, o := range writing(t) {
		t.Run(o.Name, func(t *testing.T) {
			w := newWorld(t)
			me := core.Operator("tester")
			in := w.ValidRequest(o.Name)
			out, again, err := keyed(w, me, "k1", o.Name, in)
			if again {
				t.Error("the first call is an earlier one's")
			}
			first, before := w.Answer(out, err), contents(t, w.Config.Store, "memory")
			out, again, err = keyed(w, me, "k1", o.Name, in)
			if second := w.Answer(out, err); second != first || !again {
				t.Errorf("first\n%s\nand then, %t,\n%s", first, again, second)
			}
			if after := contents(t, w.Config.Store, "memory"); fmt.Sprint(after) != fmt.Sprint(before) {
				t.Error("the second call wrote something")
			}
			_, _, err = keyed(w, me, "k1", "governance_set", &operation.GovernanceSet{Namespace: "other", Assignments: []string{"max_reflection_depth=1"}})
			w.Refused(err, sdk.Invalid, "idempotency_key_reused")
		})
	}
}

// TestIdempotency_IsASubjects: the same key of somebody else, or of the same subject who
// reaches other namespaces, isn't the same.
func TestIdempotency_IsASubjects(t *testing.T) {
	w := newWorld(t)
	in := &core.ObserveRequest{Namespace: here, Content: "a fact"}
	one := core.Caller{Subject: "one", Scopes: core.Scopes(), Namespaces: []string{here}}
	two, wider := one, one
	two.Subject, wider.Namespaces = "two", []string{here, here + "/**"}
	first, _, err := keyed(w, one, "k", "memory_observe", in)
	w.Must(err)
	other, again, err := keyed(w, two, "k", "memory_observe", in)
	w.Must(err)
	if again || other.(*core.Memory).ID == first.(*core.Memory).ID {
		t.Error("another subject is given the outcome of the first")
	}
	_, _, err = keyed(w, wider, "k", "memory_observe", in)
	w.Refused(err, sdk.Invalid, "idempotency_key_reused")
	one.Scopes = []core.Scope{core.ScopeMemoryRead}
	_, _, err = keyed(w, one, "k", "memory_observe", in)
	w.Refused(err, sdk.Denied, "scope_denied")
}

// TestIdempotency_OfWhatIsRefused: what isn't done leaves the key free, and what is done and
// refused doesn't.
func TestIdempotency_OfWhatIsRefused(t *testing.T) {
	w := newWorld(t)
	me := core.Caller{Subject: "me", Scopes: core.Scopes(), Namespaces: []string{here}}
	_, _, err := keyed(w, me, "k", "memory_observe", &core.ObserveRequest{Namespace: elsewhere, Content: "a fact"})
	w.Refused(err, sdk.Denied, "namespace_denied")
	if left := contents(t, w.Config.Store, "idempotency"); len(left) > 0 {
		t.Errorf("a call that wasn't done left %v", left)
	}
	_, _, err = keyed(w, me, "k", "memory_observe", &core.ObserveRequest{Namespace: here})
	w.Refused(err, sdk.Invalid, "content_invalid")
	if left := contents(t, w.Config.Store, "idempotency"); len(left) > 0 {
		t.Errorf("a request that can't be done left %v", left)
	}
	bad := &core.ObserveRequest{Namespace: here, ID: w.Memory(), Content: "another"}
	_, _, first := keyed(w, me, "k", "memory_observe", bad)
	_, again, err := keyed(w, me, "k", "memory_observe", bad)
	if w.Answer(nil, first) != w.Answer(nil, err) || !again || sdk.CodeOf(first) != sdk.CodeOf(err) {
		t.Errorf("first %v, then, %t, %v", first, again, err)
	}
	for _, key := range []string{"a\nb", "é", strings.Repeat("k", idempotency.MaxKey+1)} {
		_, _, err = keyed(w, me, key, "memory_observe", bad)
		w.Refused(err, sdk.Invalid, "idempotency_key_invalid")
	}
	_, _, err = keyed(w, core.Operator(""), "k", "store_import", &operation.StoreImport{})
	w.Refused(err, sdk.Invalid, "idempotency_key_refused")
	if _, again, err := keyed(w, me, "a\nb", "memory_list", &operation.MemoryList{Namespace: here}); err != nil || again {
		t.Errorf("a list with a key: %v", err)
	}
}

// TestIdempotency_AtOnce: of many calls at once with one key, one is done.
func TestIdempotency_AtOnce(t *testing.T) {
	w := newWorld(t)
	var calls sync.WaitGroup
	ids, replays := make(chan string, 32), make(chan bool, 32)
	for range cap(ids) {
		calls.Go(func() {
			out, again, err := keyed(w, core.Operator(""), "k", "memory_observe", &core.ObserveRequest{Namespace: here, Content: "a fact"})
			if err != nil {
				t.Error(err)
				return
			}
			ids <- out.(*core.Memory).ID
			replays <- again
		})
	}
	calls.Wait()
	close(ids)
	close(replays)
	seen, firsts := map[string]bool{}, 0
	for id := range ids {
		seen[id] = true
	}
	for again := range replays {
		if !again {
			firsts++
		}
	}
	if len(seen) != 1 || firsts != 1 {
		t.Errorf("%d memories of %d first calls", len(seen), firsts)
	}
}

// TestIdempotency_HoldsForADay: after that the key is new, and what was kept is removed.
func TestIdempotency_HoldsForADay(t *testing.T) {
	w := newWorld(t)
	clock := w.Config.Clock.(*coretest.Clock)
	observe := func(key string) (string, bool) {
		out, again, err := keyed(w, core.Operator(""), key, "memory_observe", &core.ObserveRequest{Namespace: here, Content: "a fact"})
		w.Must(err)
		return out.(*core.Memory).ID, again
	}
	first, _ := observe("k")
	for i := range 5 {
		observe(fmt.Sprint("other-", i))
	}
	clock.Advance(idempotency.Lifetime - time.Second)
	if id, again := observe("k"); id != first || !again {
		t.Error("within a day it is done again")
	}
	clock.Advance(time.Second)
	if id, again := observe("k"); id == first || again {
		t.Error("after a day it is answered as before")
	}
	observe("another")
	if left := contents(t, w.Config.Store, "idempotency/"); len(left) != 2 {
		t.Errorf("%d records are left", len(left))
	}
}

// TestIdempotency_APurgeLeavesNothing calls each operation that writes with a key, and then
// erases every memory: no record holds a memory's text, or can prove one.
func TestIdempotency_APurgeLeavesNothing(t *testing.T) {
	for _, o := range writing(t) {
		t.Run(o.Name, func(t *testing.T) {
			w := newWorld(t)
			me := core.Operator("tester")
			in := w.ValidRequest(o.Name)
			quote(in)
			out, _, err := keyed(w, me, "k", o.Name, in)
			erase(w)
			for key, value := range contents(t, w.Config.Store, "idempotency") {
				if strings.Contains(value, "harbour closes") {
					t.Errorf("%s holds %s", key, value)
				}
				if strings.HasPrefix(o.Name, "memory_observe") && strings.Contains(value, "salt") {
					t.Errorf("%s can prove the request: %s", key, value)
				}
			}
			if _, isMemory := out.(*core.Memory); isMemory && err == nil {
				_, _, err = keyed(w, me, "k", o.Name, in)
				w.Refused(err, sdk.Conflict, "outcome_gone")
			}
			if checked := try[operation.StoreChecked](w, "store_check", &operation.StoreCheck{}); !checked.Valid {
				t.Errorf("%+v", checked.Problems)
			}
		})
	}
}

// erase makes the gate erase all memories.
func erase(w *world) {
	w.T.Helper()
	for key := range contents(w.T, w.Config.Store, "memory/") {
		_, err := w.Host.Memories.Gate.Erase(w.Ctx, strings.TrimPrefix(key, "memory/"), memory.EraseRequest{Reason: "it is wrong"})
		if sdk.ReasonOf(err) != "memory_purged" { // as a copy of another
			w.Must(err)
		}
	}
}

// crashing is a store that is gone with a transaction that has to do with a key: before
// or after it is committed.
type crashing struct {
	core.Store
	mu sync.Mutex
	// left counts the transactions until then, after is whether that one is committed.
	left    int
	after   bool
	crashed bool
	// passes is whether only the transaction fails, and the store keeps working.
	passes bool
}

var errCrashed = errors.New("the host is gone")

func (s *crashing) View(ctx context.Context, fn func(core.Reader) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.crashed {
		return errCrashed
	}
	return s.Store.View(ctx, fn)
}

func (s *crashing) Update(ctx context.Context, fn func(core.Tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.crashed {
		return errCrashed
	}
	last := false
	err := s.Store.Update(ctx, func(tx core.Tx) error {
		t := &watched{Tx: tx}
		if err := fn(t); err != nil {
			return err
		}
		if last = t.wrote && s.left == 1; last && !s.after {
			return errCrashed
		}
		if t.wrote {
			s.left--
		}
		return nil
	})
	if last && s.passes {
		s.left = 0
		return sdk.Errorf(sdk.Unavailable, "", "the disk is away")
	}
	if last {
		s.crashed = true
		return errCrashed
	}
	return err
}

// watched notes whether a transaction writes the record of a key.
type watched struct {
	core.Tx
	wrote bool
}

func (t *watched) Put(key, value []byte) error {
	t.wrote = t.wrote || bytes.HasPrefix(key, []byte("idempotency/"))
	return t.Tx.Put(key, value)
}

// TestIdempotency_AfterACrash ends the host at each commit of a call with a key, and makes
// the call again on another host: what it does is done at most once, and if it was done,
// it isn't done again.
func TestIdempotency_AfterACrash(t *testing.T) {
	const claim, work, outcome = 1, 2, 3
	observe := func() (string, any) {
		return "memory_observe", &core.ObserveRequest{Namespace: here, Content: "a fact"}
	}
	govern := func() (string, any) {
		return "governance_set", &operation.GovernanceSet{Namespace: here, Assignments: []string{"max_reflection_depth=2"}}
	}
	for _, c := range []struct {
		call    func() (string, any)
		at      int
		after   bool
		refused string // "" means that the second call succeeds
		again   bool
	}{
		{observe, claim, false, "", false},
		{observe, claim, true, "", false},
		{observe, work, false, "", false},
		{observe, work, true, "", false},
		{observe, outcome, false, "", false},
		{observe, outcome, true, "", true},
		{govern, claim, true, "", false},
		{govern, work, false, "", false},
		{govern, work, true, "", false},
		{govern, outcome, false, "", false},
		{govern, outcome, true, "", true},
	} {
		name, in := c.call()
		t.Run(fmt.Sprint(name, c.at, c.after), func(t *testing.T) {
			db := mem.Open()
			w := operationtest.NewOn(t, &crashing{Store: db, left: c.at, after: c.after})
			if _, _, err := keyed(w, core.Operator(""), "k", name, in); err == nil && c.at < outcome {
				t.Fatal("the host didn't crash")
			}
			if err := w.Host.Close(); err == nil && !w.Config.Store.(*crashing).crashed {
				t.Fatal("the store is there still")
			}
			w.Config.Store, w.Config.Sole = db, true
			w.Open()
			out, again, err := keyed(w, core.Operator(""), "k", name, in)
			if c.refused != "" {
				w.Refused(err, sdk.Conflict, c.refused)
			} else {
				w.Must(err)
				if out == nil || again != c.again {
					t.Errorf("%v, %t", out, again)
				}
			}
			if stored := contents(t, db, "memory/"); name == "memory_observe" && len(stored) != 1 {
				t.Errorf("%d memories", len(stored))
			}
			if set := contents(t, db, "governance/"); name == "governance_set" && len(set) != 1 {
				t.Errorf("%d levels are set", len(set))
			}
		})
	}
}

// TestIdempotency_OutlivesItsHost: a call whose host ended right after the commit of what it does, or
// before its outcome was recorded, is answered, and leaves as much as a call without a crash.
func TestIdempotency_OutlivesItsHost(t *testing.T) {
	prefixes := []string{"memory/", "job/", "run/", "snapshot/", "link/", "session/", "pending/"}
	for _, name := range []string{
		"memory_observe", "memory_observe_all", "memory_reflect", "memory_link", "memory_feedback", "memory_recall",
		"snapshot_build", "session_reset", "reflection_enqueue", "job_enqueue", "run_start", "run_resume", "dream_run", "governance_set",
	} {
		t.Run(name, func(t *testing.T) {
			left := func(crash bool, after bool) (counts []int, told string) {
				db := mem.Open()
				s := &crashing{Store: db, after: after}
				w := operationtest.NewOn(t, s)
				in := operationtest.Fixtures()[name](w)
				ask := func() (any, error) {
					return operation.Do(core.WithCaller(t.Context(), core.Operator("")), operation.Call{Host: w.Host, IdempotencyKey: "k", Queue: true}, name, w.Again(in))
				}
				if crash {
					if s.left = 2; !after {
						s.left = 3 // the outcome isn't written
					}
					_, _ = ask()
					if _ = w.Host.Close(); !s.crashed {
						t.Fatal("the host didn't crash")
					}
					w.Config.Store, w.Config.Sole = db, true
					w.Open()
				}
				out, err := ask()
				w.Must(err)
				for _, prefix := range prefixes {
					counts = append(counts, len(contents(t, db, prefix)))
				}
				return counts, fmt.Sprintf("%T", out)
			}
			want, told := left(false, false)
			for _, after := range []bool{true, false} {
				if got, as := left(true, after); !slices.Equal(got, want) || as != told {
					t.Errorf("after the commit %t: %v of %v, and %s; want %v, %s", after, got, prefixes, as, want, told)
				}
			}
		})
	}
}

// TestIdempotency_OfAnotherHost: if hosts share a store, nothing says that another is
// gone, and its claim is left to it.
func TestIdempotency_OfAnotherHost(t *testing.T) {
	db := mem.Open()
	w := operationtest.NewOn(t, &crashing{Store: db, left: 1, after: true})
	in := &core.ObserveRequest{Namespace: here, Content: "a fact"}
	_, _, _ = keyed(w, core.Operator(""), "k", "memory_observe", in) // it ends once it is claimed
	_ = w.Host.Close()
	w.Config.Store = db
	w.Open()
	_, _, err := keyed(w, core.Operator(""), "k", "memory_observe", in)
	w.Refused(err, sdk.Conflict, "idempotency_in_progress")
}

// TestIdempotency_OfAFaultThatPasses: a call that wrote nothing and may succeed later leaves
// the key free.
func TestIdempotency_OfAFaultThatPasses(t *testing.T) {
	w := operationtest.NewOn(t, &crashing{Store: mem.Open(), left: 2, passes: true})
	in := &core.ObserveRequest{Namespace: here, Content: "a fact"}
	_, _, err := keyed(w, core.Operator(""), "k", "memory_observe", in)
	w.Refused(err, sdk.Unavailable, "unavailable")
	if left := contents(t, w.Config.Store, "idempotency"); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
	if _, again, err := keyed(w, core.Operator(""), "k", "memory_observe", in); err != nil || again {
		t.Errorf("once it has passed: %t, %v", again, err)
	}
}
