package plugin_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

// Whatever runs, crashes, waits, is replaced or is closed at the same time: a call is
// served only by an instance with just the environment of its scope, only where its
// namespace was admitted, and by no more environments than there may be.
func TestScope_ModelOfManyAtOnce(t *testing.T) {
	const callers, calls, limit = 12, 60, 3
	for seed := range uint64(8) {
		synctest.Test(t, func(t *testing.T) {
			w := &scopeWorld{t: t, random: rand.New(rand.NewPCG(seed, 1))}
			d := &driver{callFn: w.serve, startPluginFn: w.start}
			s := plugin.NewSupervisor(plugin.Options{
				Installed: []plugin.Installed{{Name: "p", Limits: plugin.Limits{Parallel: 2}}}, Driver: d,
				Admit: w.admit, Environments: limit, EnvironmentIdle: 2 * time.Second,
			})
			var all sync.WaitGroup
			for range callers {
				all.Go(func() {
					for range calls {
						w.call(s)
						if n := len(s.Status()); n > limit+1 {
							t.Errorf("%d pools, want at most %d and the one without an environment", n, limit)
						}
					}
				})
			}
			all.Wait()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			for _, i := range d.instances {
				select {
				case <-i.done:
				default:
					t.Errorf("instance %d outlived the supervisor", i.n)
				}
			}
			if w.served == 0 || w.denied == 0 || w.full == 0 {
				t.Errorf("served %d, denied %d, without room %d: the test proves nothing", w.served, w.denied, w.full)
			}
		})
	}
}

// scopeWorld makes random calls and checks who serves them. Namespace "denied" is.
type scopeWorld struct {
	t *testing.T

	mu                   sync.Mutex
	random               *rand.Rand
	served, denied, full int
}

func (w *scopeWorld) n(below int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.random.IntN(below)
}

func (w *scopeWorld) upTo(d time.Duration) time.Duration { return time.Duration(w.n(int(d))) }

func (w *scopeWorld) scope(namespace, key string) *plugin.Scope {
	s := &plugin.Scope{Namespace: namespace, RunID: fmt.Sprint(w.n(1 << 30)), LLM: core.Target{Plugin: "model-of-" + namespace}}
	if key != "" {
		s.Env = map[string][]string{"p": {"KEY=" + key}}
	}
	return s
}

func (w *scopeWorld) call(s *plugin.Supervisor) {
	namespace := []string{"a", "b", "denied"}[w.n(3)]
	key := []string{"", "", "1", "2", "3", "4", "5"}[w.n(7)]
	scope := w.scope(namespace, key)
	for range 1 + w.n(3) { // a run makes several calls
		ctx, cancel := context.WithTimeout(plugin.WithScope(w.t.Context(), scope), time.Millisecond+w.upTo(time.Second))
		_, err := s.Evaluate(ctx, core.Target{Plugin: "p"}, []*sdk.EvaluateRequest{{}})
		cancel()
		w.mu.Lock()
		switch sdk.ReasonOf(err) {
		case "plugin_environments_full":
			w.full++
		case "not_here":
			w.denied++
		default:
			if err == nil && namespace == "denied" {
				w.t.Error("what is denied was served")
			}
		}
		w.mu.Unlock()
		time.Sleep(w.upTo(200 * time.Millisecond))
	}
	time.Sleep(w.upTo(3 * time.Second)) // until some are idle
}

func (w *scopeWorld) admit(ctx context.Context, p plugin.Installed) error {
	time.Sleep(w.upTo(time.Millisecond))
	if w.wrong(ctx, p) {
		w.t.Errorf("admission of %v is asked with %v", p.Env, plugin.ScopeOf(ctx))
	}
	if plugin.ScopeOf(ctx).Namespace == "denied" {
		return sdk.Errorf(sdk.Denied, "not_here", "denied")
	}
	return nil
}

func (w *scopeWorld) start(plugin.Installed) error {
	if w.n(20) == 0 {
		return sdk.Errorf(sdk.Unavailable, "plugin_start_failed", "exit status 1")
	}
	return nil
}

// serve is what the plugin does: it works a while, and crashes now and then.
func (w *scopeWorld) serve(ctx context.Context, i *instance) error {
	if w.wrong(ctx, i.plugin) || plugin.ScopeOf(ctx).Namespace == "denied" {
		w.t.Errorf("an instance with %v serves %v", i.plugin.Env, plugin.ScopeOf(ctx))
	}
	w.mu.Lock()
	w.served++
	w.mu.Unlock()
	if w.n(15) == 0 {
		return i.crash("segfault")
	}
	return i.work(ctx, w.upTo(300*time.Millisecond))
}

// wrong reports whether a plugin's environment isn't just what a call's scope brings.
func (w *scopeWorld) wrong(ctx context.Context, p plugin.Installed) bool {
	return !slices.Equal(p.Env, plugin.ScopeOf(ctx).Env["p"])
}
