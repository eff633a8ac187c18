package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/sdk"
)

// stoppable is a store of a host that can be stopped: its calls wait until the host goes on,
// also those that have read already.
type stoppable struct {
	core.Store
	mu sync.Mutex
	on chan struct{} // closed while the host runs
}

func newStoppable(s core.Store) *stoppable {
	on := make(chan struct{})
	close(on)
	return &stoppable{Store: s, on: on}
}

func (s *stoppable) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.on = make(chan struct{})
}

func (s *stoppable) goOn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.on)
}

func (s *stoppable) wait(ctx context.Context) error {
	s.mu.Lock()
	on := s.on
	s.mu.Unlock()
	select {
	case <-on:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *stoppable) View(ctx context.Context, fn func(core.Reader) error) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	return s.Store.View(ctx, fn)
}

func (s *stoppable) Update(ctx context.Context, fn func(core.Tx) error) error {
	return s.Store.Update(ctx, func(tx core.Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		return s.wait(ctx)
	})
}

// hostOf is a started member with its store.
type hostOf struct {
	*store.Member
	store *stoppable
}

func start(t *testing.T, s core.Store, id string, more func(*store.MemberOptions)) hostOf {
	t.Helper()
	h := hostOf{store: newStoppable(s)}
	o := store.MemberOptions{
		Store: h.store, Host: store.HostRecord{ID: id, Address: id + ".example.org"}, Leases: []string{store.LeaseRoot},
		Report: func(err error) { t.Error(err) },
	}
	if more != nil {
		more(&o)
	}
	var err error
	if h.Member, err = store.NewMember(o); err != nil {
		t.Fatal(err)
	}
	if err := h.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return h
}

// end stops a member, which may be called again.
func (h hostOf) end(t *testing.T) {
	t.Helper()
	if err := h.Stop(context.Background()); err != nil {
		t.Error(err)
	}
}

func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func lease(t *testing.T, s core.Store) (l store.LeaseRecord) {
	t.Helper()
	err := s.View(t.Context(), func(r core.Reader) (err error) {
		l, err = store.ReadLease(r, store.LeaseRoot)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func hostIDs(t *testing.T, s core.Store) string {
	t.Helper()
	var ids []string
	err := s.View(t.Context(), func(r core.Reader) error {
		hosts, err := store.Hosts(r)
		for _, h := range hosts {
			ids = append(ids, h.ID)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(ids, " ")
}

func write(tx core.Tx) error { return tx.Put([]byte("a key"), []byte("x")) }

// A host that stands still counts as gone after 10 s, no earlier; its lease is another's
// within 15 s, and it writes nothing more when it continues.
func TestMember_AStoppedHostLosesItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mem.Open()
		a := start(t, s, "a", nil)
		pass(time.Second)
		b, c := start(t, s, "b", nil), start(t, s, "c", nil)
		pass(3 * time.Second)
		if !b.Lives("a") || !a.Lives("b") || !a.Lives("a") || a.Lives("d") || len(b.Gone()) > 0 {
			t.Fatal("who lives isn't known")
		}
		if l := lease(t, s); l.Holder != "a" || l.Epoch != 1 {
			t.Fatalf("the lease is %+v", l)
		}
		under, held := a.Fenced(store.LeaseRoot)
		if err := under.Update(t.Context(), write); err != nil || !held {
			t.Fatal(err, held)
		}
		a.store.stop()
		pass(9 * time.Second)
		if !b.Lives("a") || lease(t, s).Holder != "a" {
			t.Error("a is gone before 10 s")
		}
		pass(6 * time.Second)
		l := lease(t, s)
		if b.Lives("a") || c.Lives("a") || l.Holder == "a" || l.Epoch != 2 || fmt.Sprint(b.Gone()) != "[a]" {
			t.Errorf("after 15 s a lives, or has the lease: %+v", l)
		}
		if len(b.Held())+len(c.Held()) != 1 {
			t.Errorf("b holds %v, c %v", b.Held(), c.Held())
		}
		if err := b.Forget(t.Context(), "a"); err != nil || hostIDs(t, s) != "b c" {
			t.Errorf("left: %s, %v", hostIDs(t, s), err)
		}
		a.store.goOn()
		if err := under.Update(t.Context(), write); sdk.ReasonOf(err) != store.LeaseLost || sdk.CodeOf(err) != sdk.Conflict {
			t.Errorf("a writes under a lease that is another's: %v", err)
		}
		pass(5 * time.Second)
		if !b.Lives("a") || len(a.Held()) > 0 || lease(t, s).Epoch != 2 {
			t.Error("a isn't a host again, without the lease")
		}
		for _, h := range []hostOf{a, b, c} {
			h.end(t)
			h.end(t)
		}
		if hostIDs(t, s) != "" || lease(t, s).Holder != "" {
			t.Error("hosts that ended left something")
		}
	})
}

// Where a host ends in order, or is drained, another has its lease with the next look.
func TestMember_GivesUpItsLease(t *testing.T) {
	for name, giveUp := range map[string]func(*testing.T, core.Store, hostOf){
		"it ends": func(t *testing.T, _ core.Store, a hostOf) { a.end(t) },
		"it is drained": func(t *testing.T, s core.Store, a hostOf) {
			if h, err := store.DrainHost(t.Context(), s, "a"); err != nil || !h.Draining {
				t.Error(h, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := mem.Open()
				drained := 0
				a := start(t, s, "a", func(o *store.MemberOptions) { o.Drained = func(context.Context) { drained++ } })
				pass(time.Second)
				b := start(t, s, "b", nil)
				pass(time.Second)
				giveUp(t, s, a)
				pass(5 * time.Second)
				if l := lease(t, s); l.Holder != "b" || len(a.Held()) > 0 {
					t.Errorf("the lease is %+v, a holds %v", l, a.Held())
				}
				if want := name == "it is drained"; a.Draining() != want || (drained == 1) != want {
					t.Errorf("draining %v, told %d times", a.Draining(), drained)
				}
				a.end(t)
				b.end(t)
			})
		})
	}
}

func TestMember_DrainsOnlyWhoIsThere(t *testing.T) {
	if _, err := store.DrainHost(t.Context(), mem.Open(), "nobody"); sdk.ReasonOf(err) != "host_not_found" {
		t.Error(err)
	}
}

// An observer that stood still itself counts from its next look on.
func TestMember_AnObserverThatStoodStillBeginsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mem.Open()
		a, b := start(t, s, "a", nil), start(t, s, "b", nil)
		pass(3 * time.Second)
		a.store.stop() // as in an outage of the database: nobody's beat rises
		b.store.stop()
		pass(time.Minute)
		b.store.goOn()
		pass(8 * time.Second)
		if !b.Lives("a") {
			t.Error("a counts as gone for the time in which b saw nothing")
		}
		a.store.goOn()
		pass(10 * time.Second)
		if !b.Lives("a") || !a.Lives("b") {
			t.Error("hosts that beat count as gone")
		}
		a.end(t)
		b.end(t)
	})
}

// A host whose beat isn't written waits before it starts anything, until it is.
func TestMember_AwaitsItsBeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := start(t, mem.Open(), "a", nil)
		pass(time.Second)
		if err := a.Await(t.Context()); err != nil {
			t.Fatal(err)
		}
		a.store.stop()
		pass(10 * time.Second)
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := a.Await(short); err == nil {
			t.Error("it goes on without a beat")
		}
		before := time.Now()
		time.AfterFunc(3*time.Second, a.store.goOn)
		if err := a.Await(t.Context()); err != nil || time.Since(before) < 3*time.Second {
			t.Error(err, time.Since(before))
		}
		a.end(t)
	})
}

// Whichever hosts are suspended and continue, at any moment: writes under a lease are in the
// order of its epochs, an epoch has one writer, and the lease is always a running host's
// soon.
func TestMember_AnyStops(t *testing.T) {
	for seed := range uint64(3) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			s := mem.Open()
			type entry struct {
				Host  string
				Epoch uint64
			}
			log := func() (list []entry) {
				_ = s.View(context.Background(), func(r core.Reader) error {
					value, _, _ := r.Get([]byte("log"))
					_ = json.Unmarshal(value, &list)
					return nil
				})
				return list
			}
			ctx, cancel := context.WithCancel(t.Context())
			var hosts []hostOf
			var writers sync.WaitGroup
			for i := range 3 {
				id := string(rune('a' + i))
				h := start(t, s, id, nil)
				hosts = append(hosts, h)
				writers.Go(func() {
					for ctx.Err() == nil {
						time.Sleep(700 * time.Millisecond)
						under, held := h.Fenced(store.LeaseRoot)
						if !held {
							continue
						}
						epoch := h.Held()[store.LeaseRoot]
						_ = under.Update(ctx, func(tx core.Tx) error {
							var list []entry
							value, _, err := tx.Get([]byte("log"))
							if err != nil {
								return err
							}
							_ = json.Unmarshal(value, &list)
							if e := (entry{id, epoch}); len(list) == 0 || list[len(list)-1] != e {
								list = append(list, e)
							}
							return tx.Put([]byte("log"), jsontext.MustEncode(list))
						})
					}
				})
			}
			stopped := map[int]bool{}
			for range 40 {
				pass(time.Duration(random.IntN(16_000)) * time.Millisecond)
				at := random.IntN(3)
				if stopped[at] {
					hosts[at].store.goOn()
				} else {
					hosts[at].store.stop()
				}
				if stopped[at] = !stopped[at]; len(stopped) == 3 && stopped[0] && stopped[1] && stopped[2] {
					hosts[at].store.goOn()
					stopped[at] = false
				}
				if random.IntN(4) > 0 {
					continue
				}
				pass(20 * time.Second)
				if holder := int(lease(t, s).Holder[0] - 'a'); stopped[holder] {
					t.Fatalf("after 20 s the lease is of host %d, which is stopped", holder)
				}
			}
			cancel()
			for at, h := range hosts {
				if stopped[at] {
					h.store.goOn()
				}
			}
			writers.Wait()
			for _, h := range hosts {
				h.end(t)
			}
			owner := map[uint64]string{}
			list := log()
			for _, e := range list {
				if was, known := owner[e.Epoch]; known && was != e.Host {
					t.Errorf("epoch %d has writes of %s and %s", e.Epoch, was, e.Host)
				}
				owner[e.Epoch] = e.Host
			}
			if len(owner) < 3 || !slices.IsSortedFunc(list, func(a, b entry) int { return int(a.Epoch) - int(b.Epoch) }) {
				t.Errorf("%d epochs, or writes out of their order", len(owner))
			}
		})
	}
}

// A look that takes long delays no beat: the others see that the host lives.
func TestMember_SlowLooksDelayNoBeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mem.Open()
		slow := start(t, s, "slow", func(o *store.MemberOptions) {
			o.Looked = func(context.Context) { time.Sleep(time.Minute) }
		})
		b := start(t, s, "b", nil)
		for range 6 {
			if pass(5 * time.Second); !b.Lives("slow") {
				t.Fatal("a host that looks slowly counts as gone")
			}
		}
		slow.end(t)
		b.end(t)
	})
}

// One record that can't be read is reported once, and stops neither beats nor takeovers. Its
// host writes it again, or counts as gone.
func TestMember_DamagedRecordsStopNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mem.Open()
		var mu sync.Mutex
		var reported []string
		a := start(t, s, "a", func(o *store.MemberOptions) { o.Report = nil })
		b := start(t, s, "b", func(o *store.MemberOptions) {
			o.Report = func(err error) {
				mu.Lock()
				defer mu.Unlock()
				reported = append(reported, err.Error())
			}
		})
		pass(3 * time.Second)
		a.store.stop()
		change(t, s, func(tx core.Tx) error {
			return core.JoinErrors(tx.Put([]byte("host/a"), []byte("{}")), tx.Put([]byte("host/nobody"), []byte("{")), tx.Put([]byte("lease/other"), []byte("{")))
		})
		pass(15 * time.Second)
		if l := lease(t, s); l.Holder != "b" {
			t.Errorf("after 15 s the lease is %+v", l)
		}
		if gone := fmt.Sprint(b.Gone()); gone != "[a nobody]" {
			t.Errorf("gone are %s", gone)
		}
		if err := b.Forget(t.Context(), "nobody"); err != nil || hostIDs(t, s) != "a b" {
			t.Errorf("left: %s, %v", hostIDs(t, s), err)
		}
		mu.Lock()
		if len(reported) != 1 || !strings.Contains(reported[0], "host/nobody") {
			t.Errorf("reported: %q", reported)
		}
		mu.Unlock()
		a.store.goOn()
		if pass(5 * time.Second); !b.Lives("a") {
			t.Error("a host whose record was damaged doesn't write it again")
		}
		a.end(t)
		b.end(t)
	})
}

// A host that was drained, and that others forgot while it was suspended, is still
// draining.
func TestMember_AForgottenHostStaysDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mem.Open()
		a, b := start(t, s, "a", nil), start(t, s, "b", nil)
		if _, err := store.DrainHost(t.Context(), s, "a"); err != nil {
			t.Fatal(err)
		}
		pass(5 * time.Second)
		a.store.stop()
		pass(15 * time.Second)
		if err := b.Forget(t.Context(), "a"); err != nil || hostIDs(t, s) != "b" {
			t.Fatalf("left: %s, %v", hostIDs(t, s), err)
		}
		a.store.goOn()
		pass(5 * time.Second)
		err := s.View(t.Context(), func(r core.Reader) error {
			hosts, err := store.Hosts(r)
			if len(hosts) != 2 || !hosts[0].Draining {
				t.Errorf("the hosts are %+v", hosts)
			}
			return err
		})
		if err != nil || !a.Draining() {
			t.Error(a.Draining(), err)
		}
		a.end(t)
		b.end(t)
	})
}

// A host that joined since the last look lives for a transaction that meets it.
func TestMember_SeesWhoJoinedSinceItsLastLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mem.Open()
		a := start(t, s, "a", nil)
		pass(1500 * time.Millisecond)
		b := start(t, s, "b", nil)
		lives := func(id string) (yes bool) {
			err := s.View(t.Context(), func(r core.Reader) (err error) {
				yes, err = a.LivesIn(r, id)
				return err
			})
			if err != nil {
				t.Error(err)
			}
			return yes
		}
		if a.Lives("b") || !lives("b") || !lives("a") || lives("nobody") {
			t.Error("who lives isn't known")
		}
		b.store.stop()
		if pass(15 * time.Second); lives("b") {
			t.Error("a host that is gone lives")
		}
		b.store.goOn()
		a.end(t)
		b.end(t)
	})
}

// Once another host has migrated the store, a host of an older program can't write its beat. It
// drains itself, starts nothing, and ends without an error.
func TestMember_AnOlderFormatDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := checked{mem.Open()}
		change(t, s.Store, func(tx core.Tx) error { return tx.Put([]byte("meta/format"), fmt.Append(nil, store.Format)) })
		drained, reported := 0, []string{}
		a := start(t, s, "a", func(o *store.MemberOptions) {
			o.Drained = func(context.Context) { drained++ }
			o.Report = func(err error) { reported = append(reported, sdk.ReasonOf(err)) }
		})
		pass(3 * time.Second)
		if err := a.Await(t.Context()); err != nil || a.Draining() {
			t.Fatal(a.Draining(), err)
		}
		change(t, s.Store, func(tx core.Tx) error { return tx.Put([]byte("meta/format"), fmt.Append(nil, store.Format+1)) })
		pass(10 * time.Second)
		if !a.Draining() || drained != 1 || len(a.Held()) > 0 || fmt.Sprint(reported) != "[store_format_newer]" {
			t.Errorf("draining %v, told %d times, holds %v, reported %q", a.Draining(), drained, a.Held(), reported)
		}
		if err := a.Await(t.Context()); sdk.ReasonOf(err) != "store_format_newer" {
			t.Errorf("it goes on: %v", err)
		}
		a.end(t)
	})
}

// checked is a store whose commits check the format, as they do where hosts share one.
type checked struct{ core.Store }

func (s checked) Update(ctx context.Context, fn func(core.Tx) error) error {
	return s.Store.Update(ctx, func(tx core.Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		return store.Known().Check(tx)
	})
}
