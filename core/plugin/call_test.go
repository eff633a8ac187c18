package plugin_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

func TestADeadlineKillsOnlyItsOwnInstance(t *testing.T) {
	var mu sync.Mutex
	var served []int // the instances that other calls ran on
	d := &driver{}
	d.callFn = func(ctx context.Context, i *instance) error {
		if deadline, _ := ctx.Deadline(); time.Until(deadline) <= 2*time.Second {
			return i.hang() // the call with the short timeout
		}
		mu.Lock()
		served = append(served, i.n)
		mu.Unlock()
		return i.work(ctx, 3*time.Second)
	}
	supervise(t, d, plugin.Limits{Parallel: 2}, func(t *testing.T, s *plugin.Supervisor) {
		begin := time.Now()
		late := make(chan error, 1)
		go func() {
			_, err := s.Evaluate(t.Context(), core.Target{Plugin: "p", Timeout: 2 * time.Second}, nil)
			late <- err
		}()
		synctest.Wait()
		companion := background(t.Context(), s) // on the same instance
		synctest.Wait()
		bystander := background(t.Context(), s) // on another
		synctest.Wait()

		err := <-late
		if took := time.Since(begin); took > 2*time.Second+100*time.Millisecond {
			t.Errorf("the late call returned after %s", took)
		}
		wantReason(t, err, sdk.Timeout, "plugin_timeout")
		if !strings.Contains(err.Error(), `plugin "p"`) || !strings.Contains(err.Error(), "2s") {
			t.Errorf("%q doesn't name the plugin and the limit", err)
		}
		if hint := sdk.AsError(err).Hint; !strings.Contains(hint, "`timeout: 4s`") {
			t.Errorf("hint %q doesn't say how to raise the limit", hint)
		}
		if err := <-bystander; err != nil || time.Since(begin) != 3*time.Second {
			t.Errorf("the call on the other instance: %v after %s", err, time.Since(begin))
		}
		if err := <-companion; err != nil {
			t.Errorf("the call on the killed instance: %v", err)
		}
		if len(served) != 3 || served[0] != 1 || served[1] != 2 || served[2] == 1 {
			t.Errorf("the calls ran on the instances %v, want 1, 2 and another", served)
		}
		if !d.instances[0].wasKilled() || d.instances[1].wasKilled() {
			t.Error("not just the instance of the late call was killed")
		}
		if got := statusOf(t, s); got.Kills != 1 || got.UnaskedExits != 0 {
			t.Errorf("%d kills, %d unasked exits; want 1, 0", got.Kills, got.UnaskedExits)
		}
	})
}

func TestWhatBecomesOfAnInstanceWhoseCallWasStopped(t *testing.T) {
	hang := func(_ context.Context, i *instance) error { return i.hang() }
	obey := func(ctx context.Context, i *instance) error { return i.work(ctx, time.Hour) }
	leave := func(ctx context.Context, _ *instance) error { <-ctx.Done(); return ctx.Err() }
	slow := func(ctx context.Context, i *instance) error {
		<-ctx.Done()
		return i.work(context.Background(), 900*time.Millisecond)
	}
	tests := map[string]struct {
		plugin  func(ctx context.Context, i *instance) error
		timeout time.Duration // 0 is the plugin's own
		cancel  time.Duration // 0 is never
		took    time.Duration
		reason  string
		killed  bool
	}{
		"deadline, plugin hangs":             {plugin: hang, timeout: time.Second, took: 1050 * time.Millisecond, reason: "plugin_timeout", killed: true},
		"deadline, plugin answers":           {plugin: obey, timeout: time.Second, took: time.Second, reason: "plugin_timeout"},
		"deadline, driver doesn't wait":      {plugin: leave, timeout: time.Second, took: time.Second, reason: "plugin_timeout", killed: true},
		"deadline of the limits":             {plugin: obey, took: 30 * time.Second, reason: "plugin_timeout"},
		"cancellation, plugin hangs":         {plugin: hang, cancel: time.Second, took: 2 * time.Second, reason: "cancelled", killed: true},
		"cancellation, plugin answers":       {plugin: obey, cancel: time.Second, took: time.Second, reason: "cancelled"},
		"cancellation, driver doesn't wait":  {plugin: leave, cancel: time.Second, took: time.Second, reason: "cancelled", killed: true},
		"cancellation, plugin finishes late": {plugin: slow, cancel: time.Second, took: 1900 * time.Millisecond},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := &driver{callFn: tt.plugin}
			supervise(t, d, plugin.Limits{}, func(t *testing.T, s *plugin.Supervisor) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tt.cancel > 0 {
					defer time.AfterFunc(tt.cancel, cancel).Stop()
				}
				begin := time.Now()
				_, err := s.Evaluate(ctx, core.Target{Plugin: "p", Timeout: tt.timeout}, nil)
				if sdk.ReasonOf(err) != tt.reason || time.Since(begin) != tt.took {
					t.Errorf("%v (%s) after %s, want %s after %s", err, sdk.ReasonOf(err), time.Since(begin), tt.reason, tt.took)
				}
				if tt.reason == "cancelled" && !errors.Is(err, context.Canceled) {
					t.Errorf("%v isn't the context's error", err)
				}
				if len(d.instances) != 1 || d.instances[0].wasKilled() != tt.killed {
					t.Errorf("%d instances, killed: %v; want 1, %v", len(d.instances), d.instances[0].wasKilled(), tt.killed)
				}
				d.callFn = nil
				if err := evaluate(t.Context(), s); err != nil {
					t.Errorf("the next call: %v", err)
				}
			})
		})
	}
}

func TestAnItemThatThePluginGaveUpIsTheHostsDoing(t *testing.T) {
	own := sdk.Errorf(sdk.Timeout, "llm_slow", "the model is slow")
	late := func(ctx context.Context, i *instance) error { return i.work(ctx, time.Hour) }
	for name, tt := range map[string]struct {
		item   func(ctx context.Context, i *instance) error
		cancel time.Duration
		reason string
	}{
		"at the deadline":          {item: late, reason: "plugin_timeout"},
		"at a cancellation":        {item: late, cancel: time.Second, reason: "cancelled"},
		"by itself, before either": {item: func(context.Context, *instance) error { return own }, reason: "llm_slow"},
		"not, but it failed, and later": {item: func(ctx context.Context, _ *instance) error {
			<-ctx.Done()
			return sdk.Errorf(sdk.Invalid, "bad", "bad")
		}, reason: "bad"},
	} {
		t.Run(name, func(t *testing.T) {
			d := &driver{itemFn: tt.item}
			supervise(t, d, plugin.Limits{Timeout: 5 * time.Second}, func(t *testing.T, s *plugin.Supervisor) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tt.cancel > 0 {
					defer time.AfterFunc(tt.cancel, cancel).Stop()
				}
				results, err := s.Evaluate(ctx, core.Target{Plugin: "p"}, []*sdk.EvaluateRequest{{}})
				if whole := err != nil; whole != (tt.reason == "plugin_timeout" || tt.reason == "cancelled") {
					t.Errorf("the whole call: %v", err)
				} else if !whole {
					err = results[0].Err
				}
				if sdk.ReasonOf(err) != tt.reason || d.instances[0].wasKilled() {
					t.Errorf("%v (%s), killed %t; want %s", err, sdk.ReasonOf(err), d.instances[0].wasKilled(), tt.reason)
				}
			})
		})
	}
}

// A call whose instance ends with several calls on it is made once more, alone.
func TestCall_IsMadeOnceMoreIfAnotherMayHaveEndedItsInstance(t *testing.T) {
	for name, crashes := range map[string]int{"one crash": 1, "two crashes": 2} {
		t.Run(name, func(t *testing.T) {
			calls := map[int]int{}
			d := &driver{callFn: func(ctx context.Context, i *instance) error {
				if calls[i.n]++; i.n > crashes {
					return nil
				}
				if i.n == 1 && calls[1] == 1 {
					return i.work(ctx, time.Hour)
				}
				return i.crash("segmentation fault")
			}}
			supervise(t, d, plugin.Limits{Parallel: 2, Instances: 1}, func(t *testing.T, s *plugin.Supervisor) {
				first := background(t.Context(), s)
				synctest.Wait()
				failed := 0
				for _, err := range []error{evaluateText(t.Context(), s, "another"), <-first} {
					if err == nil {
						continue
					}
					failed++
					if sdk.ReasonOf(err) != "plugin_exited" || !sdk.Permanent(err) || !strings.Contains(err.Error(), "evaluate with p: ") || strings.Count(err.Error(), "segmentation fault") != 1 {
						t.Errorf("%q should say what failed, name the cause once and be permanent", err)
					}
				}
				if failed != crashes-1 || calls[1] != 2 || calls[2] > 2 {
					t.Errorf("%d calls failed, want %d; calls %v", failed, crashes-1, calls)
				}
			})
		})
	}
}

func TestThePluginsOwnErrorsAreNotRetried(t *testing.T) {
	calls := 0
	d := &driver{callFn: func(context.Context, *instance) error {
		calls++
		return sdk.Errorf(sdk.Unavailable, "llm_unreachable", "no route to host").WithHint("check the network")
	}}
	supervise(t, d, plugin.Limits{}, func(t *testing.T, s *plugin.Supervisor) {
		err := evaluate(t.Context(), s)
		wantReason(t, err, sdk.Unavailable, "llm_unreachable")
		if err.Error() != "evaluate with p: no route to host" || sdk.AsError(err).Hint != "check the network" {
			t.Errorf("%q, hint %q", err, sdk.AsError(err).Hint)
		}
		if calls != 1 || len(d.instances) != 1 || d.instances[0].wasKilled() {
			t.Errorf("%d calls, %d instances", calls, len(d.instances))
		}
	})
}

func TestAPluginThatOnlyClaimsToBeGoneIsNotWaitedForForever(t *testing.T) {
	d := &driver{callFn: func(_ context.Context, i *instance) error {
		return sdk.Errorf(sdk.Unavailable, "plugin_exited", "a lie")
	}}
	supervise(t, d, plugin.Limits{}, func(t *testing.T, s *plugin.Supervisor) {
		begin := time.Now()
		wantReason(t, evaluate(t.Context(), s), sdk.Unavailable, "plugin_exited")
		if time.Since(begin) != 2*time.Second {
			t.Errorf("took %s, want 1s for each of two tries", time.Since(begin))
		}
	})
}
