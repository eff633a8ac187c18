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

// TestInstances_AreApartForTenants: next to a tenant whose calls compute for long, another's first
// call is served at once and starts an instance, and its later calls have that for themselves, as
// long as the plugin may have another instance.
func TestInstances_AreApartForTenants(t *testing.T) {
	for _, c := range []struct {
		name      string
		limits    plugin.Limits
		parallel  int
		evil      []string // whose calls run before the others
		good      []string
		instances int
		apart     bool // the last call of the others has an instance for itself
	}{
		{"one long call", plugin.Limits{Parallel: 4}, 0, []string{"evil"}, []string{"good", "good"}, 2, true},
		{"three long calls", plugin.Limits{Parallel: 4}, 0, []string{"evil", "evil", "evil"}, []string{"good", "good"}, 2, true},
		{"more long calls than an instance has slots", plugin.Limits{Parallel: 2, Instances: 4}, 0, []string{"evil", "evil", "evil"}, []string{"good", "good"}, 3, true},
		{"parallel calls of the manifest", plugin.Limits{}, 4, []string{"evil", "evil"}, []string{"good", "good"}, 2, true},
		{"many namespaces of one tenant", plugin.Limits{Parallel: 4}, 0, []string{"evil", "evil/a", "evil/b"}, []string{"good", "good/x"}, 2, true},
		{"users are tenants", plugin.Limits{Parallel: 4}, 0, []string{"users/eve", "users/eve"}, []string{"users/ana", "users/ana"}, 2, true},
		{"calls without a namespace", plugin.Limits{Parallel: 4}, 0, []string{"", ""}, []string{"good", "good"}, 2, true},
		{"only one call of the other", plugin.Limits{Parallel: 4}, 0, []string{"evil"}, []string{"good"}, 2, false},
		{"only one instance", plugin.Limits{Parallel: 4, Instances: 1}, 0, []string{"evil", "evil"}, []string{"good", "good"}, 1, false},
		{"nobody else", plugin.Limits{Parallel: 4}, 0, nil, []string{"good", "good"}, 1, true},
		{"only the tenant itself", plugin.Limits{Parallel: 4}, 0, []string{"good", "good"}, []string{"good", "good"}, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var last *instance
			var mu sync.Mutex
			long := map[*instance]bool{}
			d := &driver{callFn: func(ctx context.Context, i *instance) error {
				mu.Lock()
				last = i
				output, _ := ctx.Value(outputKey{}).(string)
				long[i] = long[i] || output == "long"
				mu.Unlock()
				if output == "long" {
					return i.work(ctx, time.Minute)
				}
				return nil
			}}
			if c.parallel > 0 {
				d.manifest = sdk.Manifest{Name: "p", Version: "1", Contract: 1, Parallel: c.parallel}
			}
			supervise(t, d, c.limits, func(t *testing.T, s *plugin.Supervisor) {
				ctx, stop := context.WithCancel(t.Context())
				var all sync.WaitGroup
				for _, namespace := range c.evil {
					all.Go(func() { _ = send(as(ctx, namespace), s, "long") })
					synctest.Wait()
				}
				for _, namespace := range c.good {
					began := time.Now()
					if err := send(as(t.Context(), namespace), s, "short"); err != nil || time.Since(began) > 0 {
						t.Errorf("%v after %s", err, time.Since(began))
					}
					synctest.Wait() // an instance that was started for it runs
				}
				if n := len(d.startedAt(time.Now())); n != c.instances {
					t.Errorf("%d instances were started, want %d", n, c.instances)
				}
				mu.Lock()
				if apart := !long[last]; apart != c.apart {
					t.Errorf("the last call had an instance for itself: %v, want %v", apart, c.apart)
				}
				mu.Unlock()
				all.Go(func() { _ = send(as(ctx, "evil"), s, "long") })
				synctest.Wait()
				mu.Lock()
				if c.apart && len(c.evil) > 0 && !long[last] {
					t.Error("a later call of the other tenant isn't with its earlier ones")
				}
				mu.Unlock()
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
