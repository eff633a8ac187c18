package plugin_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

func TestFailingStarts(t *testing.T) {
	tests := map[string]struct {
		err     *sdk.Error
		started []time.Duration
		reasons []string // of three calls in turn
	}{
		"a passing failure is tried again": {
			err:     sdk.Errorf(sdk.Unavailable, "plugin_start_failed", "exit status 127").WithHint("install liblua"),
			started: []time.Duration{0, 250 * time.Millisecond, 750 * time.Millisecond},
			reasons: []string{"plugin_start_failed", "plugin_breaker_open", "plugin_breaker_open"},
		},
		"a lasting one isn't": {
			err:     sdk.Errorf(sdk.Incompatible, "contract_mismatch", "contract 9").WithHint("rebuild it"),
			started: []time.Duration{0, 250 * time.Millisecond, 750 * time.Millisecond},
			reasons: []string{"contract_mismatch", "contract_mismatch", "plugin_breaker_open"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := &driver{startFn: func(context.Context, int) error { return tt.err }}
			supervise(t, d, plugin.Limits{}, func(t *testing.T, s *plugin.Supervisor) {
				begin := time.Now()
				for _, want := range tt.reasons {
					err := evaluate(t.Context(), s)
					if sdk.ReasonOf(err) != want || !strings.Contains(err.Error(), tt.err.Message) || sdk.AsError(err).Hint != tt.err.Hint {
						t.Errorf("got %v, want %s with the cause and its hint", err, want)
					}
				}
				if got := d.startedAt(begin); !slices.Equal(got, tt.started) {
					t.Errorf("started at %v, want %v", got, tt.started)
				}
			})
		})
	}
}

func TestOneRootCauseForAllWhoWait(t *testing.T) {
	d := &driver{startFn: func(context.Context, int) error {
		return sdk.Errorf(sdk.Unavailable, "plugin_start_failed", "exit status 127")
	}}
	supervise(t, d, plugin.Limits{}, func(t *testing.T, s *plugin.Supervisor) {
		var wg sync.WaitGroup
		for range 30 {
			wg.Go(func() {
				if err := evaluate(t.Context(), s); err == nil || strings.Count(err.Error(), "exit status 127") != 1 {
					t.Errorf("%v doesn't name the cause once", err)
				}
			})
		}
		wg.Wait()
		if got := len(d.starts); got > 4 {
			t.Errorf("%d starts for 30 calls, want at most 4", got)
		}
	})
}

func TestAStableLifeStartsTheBackoffAgain(t *testing.T) {
	tests := map[string]struct{ lived, backoff time.Duration }{
		"a short life": {59 * time.Second, 500 * time.Millisecond},
		"a stable one": {60 * time.Second, 250 * time.Millisecond},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := &driver{}
			supervise(t, d, plugin.Limits{}, func(t *testing.T, s *plugin.Supervisor) {
				for n, lived := range []time.Duration{0, tt.lived} {
					if err := evaluate(t.Context(), s); err != nil {
						t.Fatal(err)
					}
					time.Sleep(lived)
					d.instances[n].crash("out of memory")
					synctest.Wait()
				}
				died := time.Now()
				if err := evaluate(t.Context(), s); err != nil || time.Since(died) != tt.backoff {
					t.Errorf("%v: started %s after the second exit, want %s", err, time.Since(died), tt.backoff)
				}
			})
		})
	}
}

func TestTheBackoffIsSpread(t *testing.T) {
	for random, want := range map[float64]time.Duration{0: 200 * time.Millisecond, 0.5: 250 * time.Millisecond, 1: 300 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			d := &driver{}
			s := plugin.NewSupervisor(plugin.Options{Installed: []plugin.Installed{{Name: "p"}}, Driver: d, Random: func() float64 { return random }})
			defer s.Close()
			begin := time.Now()
			d.startFn = func(_ context.Context, n int) error {
				if n == 1 {
					return sdk.Errorf(sdk.Unavailable, "plugin_exited", "once")
				}
				return nil
			}
			if _, err := s.Correct(t.Context(), core.Target{Plugin: "p"}, nil); err != nil || time.Since(begin) != want {
				t.Errorf("random %g: %v after %s, want %s", random, err, time.Since(begin), want)
			}
		})
	}
}
