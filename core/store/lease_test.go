package store_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/sdk"
)

// Of many who take a lease that they saw free, one has it.
func TestLease_OneTakesIt(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		var all sync.WaitGroup
		var mu sync.Mutex
		taken := 0
		for i := range 8 {
			all.Go(func() {
				epoch, is, err := store.TakeLease(t.Context(), s, "what", string(rune('a'+i)), store.LeaseRecord{})
				if err != nil || is && epoch != 1 {
					t.Error(epoch, err)
				}
				mu.Lock()
				defer mu.Unlock()
				if is {
					taken++
				}
			})
		}
		if all.Wait(); taken != 1 {
			t.Errorf("%d took it", taken)
		}
	})
}

// Nothing is written under an epoch once it is released, even in the middle of the
// transaction.
func TestFenced_RefusesAnEarlierEpoch(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		ctx := t.Context()
		epoch, _, err := store.TakeLease(ctx, s, "what", "a", store.LeaseRecord{})
		if err != nil {
			t.Fatal(err)
		}
		under := store.Fenced(s, "what", epoch)
		tries := 0
		err = under.Update(ctx, func(tx core.Tx) error {
			if tries++; tries == 1 {
				if err := store.ReleaseLease(ctx, s, "what", epoch); err != nil {
					t.Fatal(err)
				}
			}
			return write(tx)
		})
		if sdk.ReasonOf(err) != store.LeaseLost || tries != 1 {
			t.Errorf("%v after %d tries", err, tries)
		}
		if err := under.Update(ctx, write); sdk.ReasonOf(err) != store.LeaseLost {
			t.Error(err)
		}
		_ = s.View(ctx, func(r core.Reader) error {
			if _, found, err := r.Get([]byte("a key")); found || err != nil {
				t.Error("something was written", err)
			}
			return nil
		})
	})
}

// A program without a beat does what a lease is for only if nobody has it, and leaves it
// free, also after an error.
func TestWithLease_OnlyWhereItIsFree(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		ctx, failure := t.Context(), errors.New("it failed")
		change(t, s, func(tx core.Tx) error { return tx.Put([]byte("host/a"), []byte(`{"id":"a"}`)) })
		for range 2 {
			err := store.WithLease(ctx, s, store.LeaseRoot, "a", func(under core.Store) error {
				if err := under.Update(ctx, write); err != nil {
					t.Error(err)
				}
				if err := store.WithLease(ctx, s, store.LeaseRoot, "b", func(core.Store) error { t.Error("two have it"); return nil }); err != nil {
					t.Error(err)
				}
				return failure
			})
			if !errors.Is(err, failure) {
				t.Error(err)
			}
		}
		if l := lease(t, s); l.Holder != "" || l.Epoch != 4 {
			t.Errorf("the lease is %+v", l)
		}
	})
}

// A program without a beat that was killed while it had a lease doesn't delay the others: the
// next one has it at once, and the first writes nothing more, should it live.
func TestWithLease_AfterAKilledProgram(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		ctx := t.Context()
		epoch, _, err := store.TakeLease(ctx, s, store.LeaseRoot, "killed", store.LeaseRecord{})
		if err != nil {
			t.Fatal(err)
		}
		did := false
		err = store.WithLease(ctx, s, store.LeaseRoot, "next", func(under core.Store) error {
			did = true
			return under.Update(ctx, write)
		})
		if err != nil || !did || lease(t, s).Holder != "" {
			t.Errorf("the next did it: %t, %v, %+v", did, err, lease(t, s))
		}
		if err := store.Fenced(s, store.LeaseRoot, epoch).Update(ctx, write); sdk.ReasonOf(err) != store.LeaseLost {
			t.Errorf("the killed one writes: %v", err)
		}
	})
}

// A context's fence holds for a store that is opened on demand, and fences add up.
func TestWithFence_HoldsForAllOfItsWrites(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		for _, s := range []core.Store{
			store.NewOnDemand(func(context.Context) (store.Closable, error) { return notClosed{s}, nil }), store.Fenceable(s),
		} {
			holdsForAllOfItsWrites(t, s)
		}
	})
}

func holdsForAllOfItsWrites(t *testing.T, s core.Store) {
	refused, open := errors.New("refused"), true
	fence := func(core.Reader) error {
		if open {
			return nil
		}
		return refused
	}
	ctx := store.WithFence(store.WithFence(t.Context(), fence), func(core.Reader) error { return nil })
	if err := s.Update(ctx, write); err != nil {
		t.Error(err)
	}
	if open = false; !errors.Is(s.Update(ctx, write), refused) {
		t.Error("it is written behind a fence")
	}
	for _, ctx := range []context.Context{t.Context(), store.WithoutFence(ctx)} {
		if err := s.Update(ctx, write); err != nil {
			t.Error(err)
		}
	}
}

type notClosed struct{ core.Store }

func (notClosed) Close() error { return nil }

// Records that can't be read are found and dropped; an export has none of them, and a store
// with nothing else is empty.
func TestHostChecker_DropsWhatCannotBeRead(t *testing.T) {
	onEngines(t, func(t *testing.T, s core.Store) {
		ctx := t.Context()
		if err := store.Prepare(ctx, s); err != nil {
			t.Fatal(err)
		}
		if _, _, err := store.TakeLease(ctx, s, store.LeaseRoot, "a", store.LeaseRecord{}); err != nil {
			t.Fatal(err)
		}
		err := s.Update(ctx, func(tx core.Tx) error { return tx.Put([]byte("host/b"), []byte("{")) })
		if err != nil {
			t.Fatal(err)
		}
		parts, found := []core.Checker{store.HostChecker()}, 0
		report := func(p core.Problem) {
			found++
			if p.Key != "host/b" || !p.Rebuildable {
				t.Errorf("found %+v", p)
			}
		}
		if _, err := store.Check(ctx, s, parts, report); err != nil || found != 1 {
			t.Error(found, err)
		}
		if err := store.Rebuild(ctx, s, parts); err != nil {
			t.Error(err)
		}
		if n, err := store.Check(ctx, s, parts, report); n > 0 || err != nil {
			t.Error(n, err)
		}
		_ = s.View(ctx, func(r core.Reader) error {
			if empty, err := store.Empty(r); !empty || err != nil {
				t.Error("it isn't empty", err)
			}
			return nil
		})
		if lease(t, s).Holder != "a" {
			t.Error("the repair dropped a lease that is sound")
		}
	})
}

// TestTime_GoesOnWithTheBeats: never faster than the time that passes, no matter which host has the lease.
func TestTime_GoesOnWithTheBeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mem.Open()
		at := func() (now time.Time) {
			t.Helper()
			if err := s.View(t.Context(), func(r core.Reader) (err error) { now, err = store.Time(r); return err }); err != nil {
				t.Fatal(err)
			}
			return now
		}
		if !at().IsZero() {
			t.Error("there is a time before the first beat")
		}
		a := start(t, s, "a", nil)
		pass(5 * time.Second)
		first, began := at(), time.Now()
		pass(time.Minute)
		if d := at().Sub(first); d < 58*time.Second || d > time.Minute {
			t.Errorf("after a minute it is %v later", d)
		}
		b := start(t, s, "b", nil)
		a.end(t)
		pass(time.Minute)
		b.store.stop()
		c := start(t, s, "c", nil)
		pass(time.Minute)
		if d, most := at().Sub(first), time.Since(began); d < most-20*time.Second || d > most {
			t.Errorf("over three holders it is %v later after %v", d, most)
		}
		before := at()
		b.store.goOn()
		c.end(t)
		b.end(t)
		pass(time.Hour)
		if now := at(); now.Sub(before) > 2*time.Second {
			t.Errorf("without hosts it goes on by %v", now.Sub(before))
		}
		if err := s.Update(t.Context(), func(tx core.Tx) error { return tx.Put([]byte("lease/root"), []byte("{")) }); err != nil || !at().IsZero() {
			t.Error("a damaged lease has a time:", err)
		}
	})
}
