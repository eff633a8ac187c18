package plugin_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

func TestInstancesStartOnFirstUseAndAreReused(t *testing.T) {
	d := &driver{}
	supervise(t, d, plugin.Limits{}, func(t *testing.T, s *plugin.Supervisor) {
		if got := statusOf(t, s); got.Instances+got.Starting+got.Starts != 0 {
			t.Errorf("before the first call: %+v", got)
		}
		for range 3 {
			if err := evaluate(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		if len(d.instances) != 1 {
			t.Errorf("%d instances for three calls in turn, want 1", len(d.instances))
		}
	})
}

func TestPoolGrowsWhenAllAreBusyAndStopsAtItsLimit(t *testing.T) {
	tests := map[string]struct {
		limits    plugin.Limits
		parallel  int // of the manifest
		calls     int
		instances int
		busy      int
	}{
		"one call":                      {calls: 1, instances: 1, busy: 1},
		"two calls":                     {calls: 2, instances: 2, busy: 2},
		"the default is two":            {calls: 5, instances: 2, busy: 2},
		"the limit counts":              {limits: plugin.Limits{Instances: 3}, calls: 5, instances: 3, busy: 3},
		"a limit below 1 is 1":          {limits: plugin.Limits{Instances: -1}, calls: 2, instances: 1, busy: 1},
		"the manifest's parallel calls": {parallel: 3, limits: plugin.Limits{Instances: 1}, calls: 5, instances: 1, busy: 3},
		"the limit on parallel calls":   {parallel: 3, limits: plugin.Limits{Instances: 1, Parallel: 2}, calls: 5, instances: 1, busy: 2},
		"parallel calls fill one first": {limits: plugin.Limits{Parallel: 4}, calls: 4, instances: 1, busy: 4},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := &driver{callFn: func(ctx context.Context, i *instance) error { return i.work(ctx, time.Second) }}
			if tt.parallel > 0 {
				d.manifest = sdk.Manifest{Name: "p", Version: "1", Contract: 1, Parallel: tt.parallel}
			}
			supervise(t, d, tt.limits, func(t *testing.T, s *plugin.Supervisor) {
				var results []<-chan error
				for range tt.calls {
					results = append(results, background(t.Context(), s))
					synctest.Wait()
				}
				got := statusOf(t, s)
				if got.Instances != tt.instances || got.Busy != tt.busy || got.Waiting != tt.calls-tt.busy {
					t.Errorf("%d instances, %d busy, %d waiting; want %d, %d, %d",
						got.Instances, got.Busy, got.Waiting, tt.instances, tt.busy, tt.calls-tt.busy)
				}
				for _, result := range results {
					if err := <-result; err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}

// TestPool_LargeCallsTakeSeveralSlots, so that an instance never has more at a time than one message may
// have, and small calls that come later don't keep a large one waiting.
func TestPool_LargeCallsTakeSeveralSlots(t *testing.T) {
	d := &driver{callFn: func(ctx context.Context, i *instance) error { return i.work(ctx, time.Second) }}
	supervise(t, d, plugin.Limits{Instances: 1, Parallel: 4, MessageBytes: 8 << 20}, func(t *testing.T, s *plugin.Supervisor) {
		var results []chan error
		call := func(bytes int) {
			result := make(chan error, 1)
			results = append(results, result)
			go func() { result <- evaluateText(t.Context(), s, strings.Repeat("x", bytes)) }()
			synctest.Wait()
		}
		at := func(when string, busy, waiting int) {
			t.Helper()
			if got := statusOf(t, s); got.Busy != busy || got.Waiting != waiting {
				t.Errorf("%s: %d calls are worked on and %d wait, want %d and %d", when, got.Busy, got.Waiting, busy, waiting)
			}
		}
		call(1)
		time.Sleep(time.Millisecond) // so that this one ends first
		call(5 << 20)                // three slots
		at("one small, one large", 2, 0)
		call(5 << 20)
		call(1)
		at("another of each", 2, 2)
		time.Sleep(time.Second - time.Millisecond)
		synctest.Wait()
		at("the first has ended", 1, 2)
		time.Sleep(time.Millisecond)
		synctest.Wait()
		at("the large one has ended", 2, 0)
		call(9 << 20) // more than a message has: the driver refuses it
		call(1)
		at("one that is too large", 2, 2)
		for _, result := range results {
			if err := <-result; err != nil {
				t.Error(err)
			}
		}
	})
}

func TestCallsThatWaitAreServedInOrder(t *testing.T) {
	d := &driver{callFn: func(ctx context.Context, i *instance) error { return i.work(ctx, time.Second) }}
	supervise(t, d, plugin.Limits{Instances: 1}, func(t *testing.T, s *plugin.Supervisor) {
		var wg sync.WaitGroup
		var mu sync.Mutex
		var order []int
		for n := range 10 {
			wg.Go(func() {
				if err := evaluate(t.Context(), s); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				order = append(order, n)
			})
			synctest.Wait()
		}
		wg.Wait()
		if !slices.IsSorted(order) || len(order) != 10 {
			t.Errorf("served in the order %v", order)
		}
	})
}

func TestWaitingEndsWithTheCallersContext(t *testing.T) {
	d := &driver{callFn: func(ctx context.Context, i *instance) error { return i.work(ctx, 5*time.Second) }}
	supervise(t, d, plugin.Limits{Instances: 1}, func(t *testing.T, s *plugin.Supervisor) {
		first := background(t.Context(), s)
		synctest.Wait()
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		err := evaluate(short, s)
		wantReason(t, err, sdk.Timeout, "timeout")
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Second {
			t.Errorf("%v after %s, want the context's error after 1s", err, time.Since(begin))
		}
		if err := evaluate(short, s); sdk.CodeOf(err) != sdk.Timeout {
			t.Errorf("a call whose context has ended: %v", err)
		}
		gone, cancel2 := context.WithCancel(t.Context())
		waiting := background(gone, s)
		synctest.Wait()
		cancel2()
		wantReason(t, <-waiting, sdk.Cancelled, "cancelled")
		if err := <-first; err != nil {
			t.Error(err)
		}
		if err := evaluate(t.Context(), s); err != nil {
			t.Errorf("after calls that gave up: %v", err)
		}
	})
}

func TestWaitingForAStartEndsWithTheCallersContext(t *testing.T) {
	d := &driver{startFn: func(context.Context, int) error { time.Sleep(3 * time.Second); return nil }}
	supervise(t, d, plugin.Limits{}, func(t *testing.T, s *plugin.Supervisor) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wantReason(t, evaluate(ctx, s), sdk.Timeout, "timeout")
		if err := evaluate(t.Context(), s); err != nil || len(d.starts) != 1 {
			t.Errorf("%v after %d starts, want the first one's instance", err, len(d.starts))
		}
	})
}

func TestASlotThatIsFreedAsItsCallerGivesUpIsNotLost(t *testing.T) {
	var giveUp context.CancelFunc
	d := &driver{callFn: func(ctx context.Context, i *instance) error {
		err := i.work(ctx, time.Second)
		giveUp()
		return err
	}}
	supervise(t, d, plugin.Limits{Instances: 1}, func(t *testing.T, s *plugin.Supervisor) {
		for range 2000 {
			var ctx context.Context
			ctx, giveUp = context.WithCancel(t.Context())
			first := background(t.Context(), s)
			synctest.Wait()
			second := background(ctx, s)
			if err := <-first; err != nil {
				t.Fatal(err)
			}
			// The slot and the end of its context come at once, in either order.
			if err := <-second; sdk.CodeOf(err) != sdk.Cancelled {
				t.Fatalf("got %v, want that the caller gave up", err)
			}
			synctest.Wait()
			if got := statusOf(t, s); got.Busy != 0 || got.Waiting != 0 {
				t.Fatalf("%d busy, %d waiting; want none", got.Busy, got.Waiting)
			}
		}
	})
}

func TestAnInstanceThatIsGoneIsNotHandedOut(t *testing.T) {
	d := &driver{}
	supervise(t, d, plugin.Limits{}, func(t *testing.T, s *plugin.Supervisor) {
		if err := evaluate(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		d.instances[0].crash("killed from outside")
		// The pool may not have noticed yet.
		if err := evaluate(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if len(d.instances) != 2 || len(d.instances[0].kinds) != 1 {
			t.Errorf("the call went to the instance that is gone")
		}
	})
}

func TestAnInstanceThatIsBeingKilledIsNotHandedOut(t *testing.T) {
	d := &driver{killTakes: 10 * time.Second}
	d.callFn = func(_ context.Context, i *instance) error {
		if i.n == 1 {
			return i.hang()
		}
		return nil
	}
	supervise(t, d, plugin.Limits{Parallel: 2, Timeout: time.Second}, func(t *testing.T, s *plugin.Supervisor) {
		late := background(t.Context(), s)
		time.Sleep(2 * time.Second)
		if err := evaluate(t.Context(), s); err != nil {
			t.Error(err)
		}
		if got := statusOf(t, s); got.Instances != 2 || got.Busy != 1 {
			t.Errorf("%d instances, %d busy; want the dying one and another, 1 busy", got.Instances, got.Busy)
		}
		wantReason(t, <-late, sdk.Timeout, "plugin_timeout")
	})
}

func TestAHundredCallersKeepToTheSlots(t *testing.T) {
	var running, most, calls, ended atomic.Int64
	d := &driver{callFn: func(ctx context.Context, i *instance) error {
		most.Store(max(most.Load(), running.Add(1)))
		defer running.Add(-1)
		if calls.Add(1) == 50 {
			return i.crash("the fiftieth call")
		}
		return i.work(ctx, time.Millisecond)
	}}
	supervise(t, d, plugin.Limits{Instances: 3, Parallel: 4}, func(t *testing.T, s *plugin.Supervisor) {
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				for range 5 {
					if err := evaluate(t.Context(), s); sdk.ReasonOf(err) == "plugin_exited" {
						ended.Add(1)
					} else if err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if got := most.Load(); got > 12+3 || got < 2 { // with the calls that the end of their instance didn't reach yet
			t.Errorf("%d calls at a time, want 2 to 12", got)
		}
		if got := ended.Load(); got > 1 { // only if the fiftieth was alone on its instance
			t.Errorf("%d calls ended with their instance", got)
		}
		synctest.Wait()
		if got := statusOf(t, s); got.Busy != 0 || got.Waiting != 0 || got.UnaskedExits != 1 {
			t.Errorf("in the end: %+v", got)
		}
	})
}
