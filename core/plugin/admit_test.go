package plugin_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

// admitting is a supervisor of plugin p whose starts admit is asked of.
func admitting(t *testing.T, d *driver, admit func(context.Context, plugin.Installed) error, test func(t *testing.T, s *plugin.Supervisor)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := plugin.NewSupervisor(plugin.Options{
			Installed: []plugin.Installed{{Name: "p", Version: "1.2.3"}}, Driver: d, Admit: admit,
		})
		defer s.Close()
		test(t, s)
	})
}

func TestAStartThatIsRefused(t *testing.T) {
	d, allowed := &driver{}, false
	admit := func(_ context.Context, p plugin.Installed) error {
		if p.Version != "1.2.3" || p.Limits.Instances == 0 {
			t.Errorf("asked of %+v", p)
		}
		if allowed {
			return nil
		}
		return sdk.Errorf(sdk.Denied, "unsigned", "not here").WithHint("ask the operator")
	}
	admitting(t, d, admit, func(t *testing.T, s *plugin.Supervisor) {
		begin := time.Now()
		for range 10 { // more than would open the breaker
			err := evaluate(t.Context(), s)
			if sdk.CodeOf(err) != sdk.Denied || sdk.ReasonOf(err) != "unsigned" || sdk.AsError(err).Hint != "ask the operator" {
				t.Fatalf("got %v", err)
			}
		}
		if got := d.startedAt(begin); len(got) != 0 {
			t.Fatalf("started at %v", got)
		}
		allowed = true
		if err := evaluate(t.Context(), s); err != nil || time.Since(begin) != 0 {
			t.Errorf("after %s: %v", time.Since(begin), err)
		}
	})
}

// A changed policy takes effect at the next start: what runs keeps running.
func TestAdmissionIsAskedAtEachStart(t *testing.T) {
	var asked atomic.Int64
	d := &driver{callFn: func(_ context.Context, i *instance) error {
		if i.n == 1 && asked.Load() == 1 {
			return nil
		}
		return i.crash("oops")
	}}
	admit := func(context.Context, plugin.Installed) error {
		if asked.Add(1) > 1 {
			return sdk.Errorf(sdk.Denied, "later", "no more")
		}
		return nil
	}
	admitting(t, d, admit, func(t *testing.T, s *plugin.Supervisor) {
		for range 3 {
			if err := evaluate(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		if asked.Load() != 1 {
			t.Fatalf("asked %d times", asked.Load())
		}
		d.instances[0].crash("killed from outside")
		synctest.Wait()
		if err := evaluate(t.Context(), s); sdk.ReasonOf(err) != "later" {
			t.Errorf("got %v", err)
		}
	})
}

func TestEachWhoWaitsIsRefused(t *testing.T) {
	admit := func(context.Context, plugin.Installed) error { return sdk.Errorf(sdk.Denied, "unsigned", "not here") }
	admitting(t, &driver{}, admit, func(t *testing.T, s *plugin.Supervisor) {
		var calls []<-chan error
		for range 30 {
			calls = append(calls, background(t.Context(), s))
		}
		for _, c := range calls {
			if err := <-c; sdk.ReasonOf(err) != "unsigned" {
				t.Errorf("got %v", err)
			}
		}
	})
}

// While the breaker is half open one instance is on trial; a refusal gives its
// place to the next.
func TestARefusalIsNoTrial(t *testing.T) {
	d, refuse := &driver{startFn: func(_ context.Context, n int) error {
		if n <= 3 {
			return errors.New("it doesn't start")
		}
		return nil
	}}, false
	admit := func(context.Context, plugin.Installed) error {
		if refuse {
			return sdk.Errorf(sdk.Denied, "unsigned", "not here")
		}
		return nil
	}
	admitting(t, d, admit, func(t *testing.T, s *plugin.Supervisor) {
		for range 3 {
			_ = evaluate(t.Context(), s)
		}
		time.Sleep(2 * time.Minute) // the breaker is half open
		refuse = true
		if err := evaluate(t.Context(), s); sdk.ReasonOf(err) != "unsigned" {
			t.Fatalf("got %v", err)
		}
		refuse = false
		if err := evaluate(t.Context(), s); err != nil {
			t.Errorf("got %v", err)
		}
	})
}

// Each call may have to wait, also one of a scope that was admitted, on an instance that runs.
// The wait ends with the call, and with the supervisor.
func TestBefore_HoldsUpEachCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var waits atomic.Bool
		var calls atomic.Int64
		d := &driver{callFn: func(context.Context, *instance) error { calls.Add(1); return nil }}
		s := plugin.NewSupervisor(plugin.Options{
			Installed: []plugin.Installed{{Name: "p"}}, Driver: d, Before: func(ctx context.Context) error {
				if !waits.Load() {
					return nil
				}
				<-ctx.Done()
				return ctx.Err()
			},
		})
		defer s.Close()
		if err := evaluate(t.Context(), s); err != nil || calls.Load() != 1 {
			t.Fatalf("%d calls, %v", calls.Load(), err)
		}
		waits.Store(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := evaluate(ctx, s); sdk.CodeOf(err) != sdk.Timeout || calls.Load() != 1 {
			t.Errorf("a call that has to wait: %d calls, %v", calls.Load(), err)
		}
		last := background(t.Context(), s)
		synctest.Wait()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-last; sdk.ReasonOf(err) != "plugins_closed" || calls.Load() != 1 {
			t.Errorf("a call that waits at the end: %d calls, %v", calls.Load(), err)
		}
	})
}
