package plugin_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

// versions is a driver whose instances work for a second, and which fails to
// start versions that begin with "bad".
func versions() *driver {
	return &driver{
		callFn: func(ctx context.Context, i *instance) error { return i.work(ctx, time.Second) },
		startPluginFn: func(p plugin.Installed) error {
			if strings.HasPrefix(p.Version, "bad") {
				return sdk.Errorf(sdk.Invalid, "handshake_invalid", "it prints nonsense").WithHint("rebuild it")
			}
			return nil
		},
	}
}

func TestReplaceDrainsTheOldVersion(t *testing.T) {
	d := versions()
	supervise(t, d, plugin.Limits{Instances: 1}, func(t *testing.T, s *plugin.Supervisor) {
		running := background(t.Context(), s)
		synctest.Wait()
		waiting := background(t.Context(), s)
		synctest.Wait()
		if err := s.Replace(t.Context(), plugin.Installed{Name: "p", Version: "2"}); err != nil {
			t.Fatal(err)
		}
		if st := statusOf(t, s); st.Version != "2" || st.Draining != 1 || st.Instances != 1 {
			t.Errorf("after the swap: %+v", st)
		}
		begin := time.Now()
		if err := evaluate(t.Context(), s); err != nil || time.Since(begin) != time.Second {
			t.Errorf("a new call: %v after %s", err, time.Since(begin))
		}
		if err := errors.Join(<-running, <-waiting); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if st := statusOf(t, s); st.Draining != 0 || st.Starts != 1 {
			t.Errorf("in the end: %+v", st)
		}
		if old := d.instances[0]; !old.closed || old.killed || len(old.kinds) != 2 {
			t.Errorf("the old instance: closed %v, killed %v, %d calls", old.closed, old.killed, len(old.kinds))
		}
	})
}

func TestAVersionThatDoesNotStartLeavesTheOldOne(t *testing.T) {
	d := versions()
	supervise(t, d, plugin.Limits{}, func(t *testing.T, s *plugin.Supervisor) {
		err := s.Replace(t.Context(), plugin.Installed{Name: "p", Version: "bad"})
		wantReason(t, err, sdk.Invalid, "handshake_invalid")
		if err.Error() != "replace plugin p, which goes on as it was: it prints nonsense" || sdk.AsError(err).Hint != "rebuild it" {
			t.Errorf("%q", err)
		}
		if err := evaluate(t.Context(), s); err != nil || statusOf(t, s).Version != "" {
			t.Errorf("%v, %+v", err, statusOf(t, s))
		}
	})
}

func TestAVersionThatIsNotHealthyLeavesTheOldOne(t *testing.T) {
	sick := errors.New("no pulse")
	d := &driver{healthFn: func(_ context.Context, i *instance) error {
		if i.n > 1 {
			return sick
		}
		return nil
	}}
	supervise(t, d, plugin.Limits{}, func(t *testing.T, s *plugin.Supervisor) {
		if err := s.Start(t.Context(), "p"); err != nil {
			t.Fatal(err)
		}
		if err := s.Replace(t.Context(), plugin.Installed{Name: "p", Version: "2"}); !errors.Is(err, sick) {
			t.Errorf("got %v", err)
		}
		if st := statusOf(t, s); st.Version != "" || st.Instances != 1 || d.instances[0].closed || !d.instances[1].closed {
			t.Errorf("%+v", st)
		}
	})
}

func TestPluginsComeAndGo(t *testing.T) {
	d := versions()
	supervise(t, d, plugin.Limits{}, func(t *testing.T, s *plugin.Supervisor) {
		wantReason(t, s.Add(plugin.Installed{Name: "p"}), sdk.Conflict, "plugin_installed")
		wantReason(t, s.Replace(t.Context(), plugin.Installed{Name: "q"}), sdk.NotFound, "plugin_not_found")
		wantReason(t, s.Remove("q"), sdk.NotFound, "plugin_not_found")
		if err := s.Add(plugin.Installed{Name: "q"}); err != nil || s.Start(t.Context(), "q") != nil {
			t.Error(err)
		}
		call := background(t.Context(), s)
		synctest.Wait()
		if err := s.Remove("p"); err != nil {
			t.Fatal(err)
		}
		wantReason(t, evaluate(t.Context(), s), sdk.NotFound, "plugin_not_found")
		if err := <-call; err != nil {
			t.Errorf("the call under way: %v", err)
		}
		if st := statusOf(t, s); st.Plugin != "q" {
			t.Errorf("%+v", st)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		wantReason(t, s.Add(plugin.Installed{Name: "r"}), sdk.Unavailable, "plugins_closed")
		wantReason(t, s.Remove("q"), sdk.Unavailable, "plugins_closed")
		wantReason(t, s.Replace(t.Context(), plugin.Installed{Name: "q"}), sdk.Unavailable, "plugins_closed")
	})
}

func TestCloseEndsWhatDrainsAndWhatWarmsUp(t *testing.T) {
	d := &driver{
		callFn:  func(_ context.Context, i *instance) error { return i.hang() },
		startFn: func(ctx context.Context, n int) error { return startHangsFrom(ctx, n, 3) },
	}
	supervise(t, d, plugin.Limits{}, func(t *testing.T, s *plugin.Supervisor) {
		call := background(t.Context(), s)
		synctest.Wait()
		if err := s.Replace(t.Context(), plugin.Installed{Name: "p", Version: "2"}); err != nil {
			t.Fatal(err)
		}
		swap := make(chan error, 1)
		go func() { swap <- s.Replace(t.Context(), plugin.Installed{Name: "p", Version: "3"}) }()
		synctest.Wait()
		begin := time.Now()
		if err := s.Close(); err != nil || time.Since(begin) != 0 {
			t.Errorf("closing: %v after %s", err, time.Since(begin))
		}
		wantReason(t, <-call, sdk.Unavailable, "plugins_closed")
		wantReason(t, <-swap, sdk.Unavailable, "plugins_closed")
	})
}

func startHangsFrom(ctx context.Context, n, from int) error {
	if n < from {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

// 100 callers call without a pause while versions come and go.
func TestNoCallIsLostInASwap(t *testing.T) {
	const callers, swaps = 100, 20
	d := &driver{callFn: func(ctx context.Context, i *instance) error { return i.work(ctx, 3*time.Millisecond) }}
	supervise(t, d, plugin.Limits{Instances: 4, Parallel: 8}, func(t *testing.T, s *plugin.Supervisor) {
		var done atomic.Bool
		var calls atomic.Int32
		var all sync.WaitGroup
		for range callers {
			all.Go(func() {
				for !done.Load() {
					calls.Add(1)
					if err := evaluate(t.Context(), s); err != nil {
						t.Error(err)
					}
				}
			})
		}
		for range swaps {
			time.Sleep(10 * time.Millisecond)
			if err := s.Replace(t.Context(), plugin.Installed{Name: "p", Version: "next", Limits: plugin.Limits{Instances: 4, Parallel: 8}}); err != nil {
				t.Error(err)
			}
		}
		done.Store(true)
		all.Wait()
		synctest.Wait()
		served := 0
		for n, i := range d.instances {
			served += len(i.kinds)
			if i.killed {
				t.Errorf("instance %d was killed", n)
			}
		}
		if st := statusOf(t, s); st.Draining != 0 || served != int(calls.Load()) || len(d.instances) <= swaps {
			t.Errorf("%d of %d calls served by %d instances; %+v", served, calls.Load(), len(d.instances), st)
		}
	})
}
