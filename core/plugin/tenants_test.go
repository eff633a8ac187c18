package plugin_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

// TestSlots_AreSharedByTenants: one tenant floods a plugin with calls of a second, another comes
// later with a few. The other's calls are served as if the flood had at most half of the slots,
// once the calls that already run have ended.
func TestSlots_AreSharedByTenants(t *testing.T) {
	for _, c := range []struct {
		name     string
		limits   plugin.Limits
		parallel int // of the manifest
		flood    []string
		calls    int // of the other tenant
		within   time.Duration
	}{
		{"one instance", plugin.Limits{Instances: 1}, 0, []string{"evil"}, 1, 3 * time.Second},
		{"one instance takes turns", plugin.Limits{Instances: 1}, 0, []string{"evil"}, 3, 7 * time.Second},
		{"two instances", plugin.Limits{Instances: 2}, 0, []string{"evil"}, 2, 3 * time.Second},
		{"four instances", plugin.Limits{Instances: 4}, 0, []string{"evil"}, 4, 3 * time.Second},
		{"parallel calls", plugin.Limits{Instances: 1, Parallel: 4}, 0, []string{"evil"}, 4, 3 * time.Second},
		{"parallel calls of the manifest", plugin.Limits{Instances: 1}, 4, []string{"evil"}, 4, 3 * time.Second},
		{"parallel instances", plugin.Limits{Instances: 2, Parallel: 2}, 0, []string{"evil"}, 4, 3 * time.Second},
		{"many namespaces of one tenant", plugin.Limits{Instances: 2}, 0, []string{"evil", "evil/a", "evil/b", "evil/b/c"}, 2, 3 * time.Second},
		{"two floods", plugin.Limits{Instances: 2}, 0, []string{"evil", "bad"}, 2, 4 * time.Second},
		{"users are tenants", plugin.Limits{Instances: 2}, 0, []string{"users/eve", "users/eve/x"}, 2, 3 * time.Second},
		{"calls without a namespace", plugin.Limits{Instances: 2}, 0, []string{""}, 2, 3 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &driver{callFn: func(ctx context.Context, i *instance) error { return i.work(ctx, time.Second) }}
			if c.parallel > 0 {
				d.manifest = sdk.Manifest{Name: "p", Version: "1", Contract: 1, Parallel: c.parallel}
			}
			supervise(t, d, c.limits, func(t *testing.T, s *plugin.Supervisor) {
				ctx, stop := context.WithCancel(t.Context())
				var all sync.WaitGroup
				for n := range 60 {
					all.Go(func() { _ = send(as(ctx, c.flood[n%len(c.flood)]), s, fmt.Sprint(n)) })
				}
				synctest.Wait()
				time.Sleep(500 * time.Millisecond)
				began := time.Now()
				var others sync.WaitGroup
				for n := range c.calls {
					others.Go(func() {
						if err := send(as(t.Context(), "users/ana"), s, fmt.Sprint("other", n)); err != nil {
							t.Error(err)
						}
					})
				}
				others.Wait()
				if took := time.Since(began); took > c.within {
					t.Errorf("%d calls of the other tenant took %s, want %s at most", c.calls, took, c.within)
				}
				stop()
				all.Wait()
			})
		})
	}
}

// TestSlots_AreKeptForATenantThatComesAgain: a tenant that calls now and then finds a slot free
// each time, although another tenant's calls take long.
func TestSlots_AreKeptForATenantThatComesAgain(t *testing.T) {
	d := &driver{callFn: func(ctx context.Context, i *instance) error {
		if output, _ := ctx.Value(outputKey{}).(string); output == "long" {
			return i.work(ctx, 20*time.Second)
		}
		return nil
	}}
	supervise(t, d, plugin.Limits{}, func(t *testing.T, s *plugin.Supervisor) {
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				for ctx.Err() == nil {
					_ = send(as(ctx, "evil"), s, "long")
				}
			})
		}
		for n := range 20 {
			time.Sleep(5 * time.Second)
			began := time.Now()
			if err := send(as(t.Context(), "good"), s, "short"); err != nil || n > 3 && time.Since(began) > 0 {
				t.Errorf("call %d: %v after %s", n, err, time.Since(began))
			}
		}
		stop()
		all.Wait()
	})
}

// TestEnvironments_AreSharedByTenants: a tenant with many environments, busy or idle, neither keeps
// another from having its own nor closes it.
func TestEnvironments_AreSharedByTenants(t *testing.T) {
	for _, c := range []struct {
		name string
		busy bool
	}{{"busy ones", true}, {"idle ones", false}} {
		t.Run(c.name, func(t *testing.T) {
			d := &driver{callFn: func(ctx context.Context, i *instance) error {
				if output, _ := ctx.Value(outputKey{}).(string); output == "long" {
					return i.work(ctx, time.Minute)
				}
				return nil
			}}
			scoped(t, d, plugin.Options{Environments: 4}, func(t *testing.T, s *plugin.Supervisor) {
				ctx, stop := context.WithCancel(t.Context())
				var all sync.WaitGroup
				good := func(output string) error {
					return send(under(ctx, keyed("good", "KEY=good")), s, output)
				}
				if err := good("text"); err != nil {
					t.Fatal(err)
				}
				for n := range 8 {
					output := map[bool]string{true: "long", false: fmt.Sprint("short ", n)}[c.busy]
					all.Go(func() { _ = send(under(ctx, keyed("evil/x", fmt.Sprint("KEY=", n))), s, output) })
					synctest.Wait()
				}
				starts := len(d.startedAt(time.Now()))
				if err := good("text"); err != nil || len(d.startedAt(time.Now())) != starts {
					t.Errorf("the other tenant's environment is gone: %v", err)
				}
				if err := send(under(ctx, keyed("good", "KEY=second")), s, "text"); err != nil {
					t.Errorf("the other tenant gets no second environment: %v", err)
				}
				stop()
				all.Wait()
			})
		})
	}
}
