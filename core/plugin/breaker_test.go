package plugin_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

// crashing is a plugin that goes away at every call.
func crashing(_ context.Context, i *instance) error { return i.crash("segmentation fault") }

// open makes the breaker of plugin p open by three starts that fail.
func open(t *testing.T, d *driver, s *plugin.Supervisor) {
	t.Helper()
	start := d.startFn
	d.startFn = func(context.Context, int) error {
		return sdk.Errorf(sdk.Unavailable, "plugin_exited", "segmentation fault")
	}
	_ = evaluate(t.Context(), s) // two starts
	_ = evaluate(t.Context(), s) // the third, and no further one
	d.startFn = start
	if got := statusOf(t, s); got.Breaker != plugin.BreakerOpen || got.UnaskedExits != 3 {
		t.Fatalf("breaker %s after %d unasked exits, want open after 3", got.Breaker, got.UnaskedExits)
	}
}

func TestTheThirdUnaskedExitOpensTheBreaker(t *testing.T) {
	d := &driver{callFn: crashing}
	supervise(t, d, plugin.Limits{}, func(t *testing.T, s *plugin.Supervisor) {
		begin := time.Now()
		for n := range 3 {
			wantReason(t, evaluateText(t.Context(), s, fmt.Sprint(n)), sdk.Unavailable, "plugin_exited")
		}
		err := evaluate(t.Context(), s)
		wantReason(t, err, sdk.Unavailable, "plugin_breaker_open")
		for _, want := range []string{`plugin "p"`, "segmentation fault", "2000-01-01T00:01:00Z", "3 times within 10m0s"} {
			if strings.Count(err.Error(), want) != 1 {
				t.Errorf("%q should say %q once", err, want)
			}
		}
		if e := sdk.AsError(err); e.Hint == "" || e.Details["retry_at"] != "2000-01-01T00:01:00Z" || e.Details["cause"] != "plugin_exited" {
			t.Errorf("hint %q, details %v", e.Hint, e.Details)
		}
		if got, want := d.startedAt(begin), []time.Duration{0, 250 * time.Millisecond, 750 * time.Millisecond}; !slices.Equal(got, want) {
			t.Errorf("started at %v, want %v", got, want)
		}
		got := statusOf(t, s)
		if got.Breaker != plugin.BreakerOpen || !got.RetryAt.Equal(begin.Add(60750*time.Millisecond)) || got.LastCause != "segmentation fault" {
			t.Errorf("status %+v", got)
		}
	})
}

func TestAnOpenBreakerRefusesAtOnce(t *testing.T) {
	d := &driver{}
	supervise(t, d, plugin.Limits{}, func(t *testing.T, s *plugin.Supervisor) {
		open(t, d, s)
		begin := time.Now()
		for range 20 {
			wantReason(t, evaluate(t.Context(), s), sdk.Unavailable, "plugin_breaker_open")
		}
		if time.Since(begin) != 0 || len(d.starts) != 3 {
			t.Errorf("took %s and %d starts, want none beyond 3", time.Since(begin), len(d.starts))
		}
	})
}

func TestAHalfOpenBreakerTriesOneInstance(t *testing.T) {
	tests := map[string]struct {
		trial  func(ctx context.Context, i *instance) error
		state  plugin.BreakerState
		failed int // of the five calls
	}{
		"an answer closes it": {
			trial: func(ctx context.Context, i *instance) error { return i.work(ctx, time.Millisecond) },
			state: plugin.BreakerClosed,
		},
		"an error of the plugin's is an answer": {
			trial:  func(context.Context, *instance) error { return sdk.Errorf(sdk.Invalid, "", "no") },
			state:  plugin.BreakerClosed,
			failed: 5,
		},
		"an exit opens it again": {trial: crashing, state: plugin.BreakerOpen, failed: 5},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := &driver{}
			supervise(t, d, plugin.Limits{Instances: 5}, func(t *testing.T, s *plugin.Supervisor) {
				open(t, d, s)
				time.Sleep(59 * time.Second)
				wantReason(t, evaluate(t.Context(), s), sdk.Unavailable, "plugin_breaker_open")
				time.Sleep(time.Second)
				if got := statusOf(t, s).Breaker; got != plugin.BreakerHalfOpen {
					t.Fatalf("breaker %s after 60s, want half-open", got)
				}
				d.startFn = func(context.Context, int) error { time.Sleep(time.Second); return nil }
				d.callFn = tt.trial
				failed := results(t, s, 5, func() {
					if got := len(d.startedAt(time.Now())); got != 4 {
						t.Errorf("%d starts on trial, want 1", got-3)
					}
				})
				if got := statusOf(t, s).Breaker; got != tt.state || failed != tt.failed {
					t.Errorf("breaker %s, %d calls failed; want %s, %d", got, failed, tt.state, tt.failed)
				}
			})
		})
	}
}

// results makes n calls at a time and counts those that fail. Between their
// beginning and their end it calls meanwhile.
func results(t *testing.T, s *plugin.Supervisor, n int, meanwhile func()) (failed int) {
	t.Helper()
	var wg sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		wg.Go(func() { errs[i] = evaluate(t.Context(), s) })
	}
	synctest.Wait()
	meanwhile()
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			failed++
		}
	}
	return failed
}

func TestAClosedBreakerCountsAgain(t *testing.T) {
	d := &driver{}
	supervise(t, d, plugin.Limits{}, func(t *testing.T, s *plugin.Supervisor) {
		open(t, d, s)
		time.Sleep(time.Minute)
		d.callFn = nil
		if err := evaluate(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		d.callFn = crashing
		for n := range 2 {
			wantReason(t, evaluateText(t.Context(), s, fmt.Sprint(n)), sdk.Unavailable, "plugin_exited")
		}
		if got := statusOf(t, s); got.Breaker != plugin.BreakerClosed || got.UnaskedExits != 5 {
			t.Errorf("breaker %s after two exits more (%d), want closed", got.Breaker, got.UnaskedExits)
		}
	})
}

func TestATrialThatTheHostEndedIsFollowedByAnother(t *testing.T) {
	d := &driver{}
	supervise(t, d, plugin.Limits{}, func(t *testing.T, s *plugin.Supervisor) {
		open(t, d, s)
		time.Sleep(time.Minute)
		d.callFn = func(_ context.Context, i *instance) error { return i.hang() }
		wantReason(t, evaluate(t.Context(), s), sdk.Timeout, "plugin_timeout")
		synctest.Wait()
		if got := statusOf(t, s).Breaker; got != plugin.BreakerHalfOpen {
			t.Errorf("breaker %s after a trial that ran past its deadline, want half-open", got)
		}
		d.callFn = nil
		if err := evaluate(t.Context(), s); err != nil {
			t.Error(err)
		}
	})
}

func TestDescribingIsNoTrial(t *testing.T) {
	d := &driver{}
	supervise(t, d, plugin.Limits{}, func(t *testing.T, s *plugin.Supervisor) {
		open(t, d, s)
		time.Sleep(time.Minute)
		if err := s.Start(t.Context(), "p"); err != nil {
			t.Fatal(err)
		}
		if got := statusOf(t, s); got.Breaker != plugin.BreakerHalfOpen || got.Instances != 1 {
			t.Errorf("breaker %s with %d instances, want half-open with 1", got.Breaker, got.Instances)
		}
	})
}

func TestWhatDoesNotOpenTheBreaker(t *testing.T) {
	tests := map[string]struct {
		pause time.Duration // after each call
		call  func(ctx context.Context, i *instance) error
	}{
		"kills at the deadline": {call: func(_ context.Context, i *instance) error { return i.hang() }},
		"kills for a size": {call: func(_ context.Context, i *instance) error {
			i.end(sdk.Errorf(sdk.Exhausted, "message_too_large", "9 MB"))
			return i.Cause()
		}},
		"exits spread over time": {pause: 10 * time.Minute, call: crashing},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := &driver{callFn: tt.call}
			supervise(t, d, plugin.Limits{Timeout: time.Second}, func(t *testing.T, s *plugin.Supervisor) {
				for n := range 5 {
					if err := evaluate(t.Context(), s); err == nil || sdk.ReasonOf(err) == "plugin_breaker_open" {
						t.Errorf("call %d: %v", n+1, err)
					}
					synctest.Wait()
					if got := statusOf(t, s).Breaker; got != plugin.BreakerClosed {
						t.Errorf("after call %d the breaker is %s", n+1, got)
					}
					time.Sleep(tt.pause)
				}
			})
		})
	}
}

func TestAHealthyInstanceServesWhileTheBreakerIsOpen(t *testing.T) {
	d := &driver{}
	supervise(t, d, plugin.Limits{}, func(t *testing.T, s *plugin.Supervisor) {
		d.callFn = func(ctx context.Context, i *instance) error { return i.work(ctx, 10*time.Second) }
		healthy := background(t.Context(), s)
		synctest.Wait()
		d.startFn = func(context.Context, int) error {
			return sdk.Errorf(sdk.Unavailable, "plugin_start_failed", "no memory")
		}
		waiting := background(t.Context(), s)
		time.Sleep(5 * time.Second)
		if got := statusOf(t, s); got.Breaker != plugin.BreakerOpen || got.Waiting != 1 || got.Busy != 1 {
			t.Errorf("status %+v, want an open breaker, one call running and one waiting", got)
		}
		for _, result := range []<-chan error{healthy, waiting} {
			if err := <-result; err != nil {
				t.Error(err)
			}
		}
	})
}
