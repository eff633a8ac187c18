package plugin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

// as is a context whose calls are made for a namespace.
func as(ctx context.Context, namespace string) context.Context {
	return plugin.WithScope(ctx, &plugin.Scope{Namespace: namespace})
}

// hostile is a driver of a plugin that ends at requests whose output begins with "kill".
func hostile() *driver {
	d := &driver{}
	d.callFn = func(ctx context.Context, i *instance) error {
		if output, _ := ctx.Value(outputKey{}).(string); strings.HasPrefix(output, "kill") {
			return i.crash("out of memory")
		}
		return nil
	}
	return d
}

type outputKey struct{}

// send makes a call whose request is named by its output.
func send(ctx context.Context, s *plugin.Supervisor, output string) error {
	return evaluateText(context.WithValue(ctx, outputKey{}, output), s, output)
}

// Whatever one tenant sends, another is served at once.
func TestSuspects_OfOneTenantStopNobodyElse(t *testing.T) {
	attacks := map[string]func(n int) string{
		"the same request again and again": func(int) string { return "kill" },
		"a new request each time":          func(n int) string { return fmt.Sprint("kill ", n) },
		"two requests in turn":             func(n int) string { return fmt.Sprint("kill ", n%2) },
	}
	for name, attack := range attacks {
		t.Run(name, func(t *testing.T) {
			d := hostile()
			supervise(t, d, plugin.Limits{}, func(t *testing.T, s *plugin.Supervisor) {
				for n := range 20 {
					if err := send(as(t.Context(), "evil/x"), s, attack(n)); err == nil {
						t.Fatal("the attack was answered")
					}
					began := time.Now()
					if err := send(as(t.Context(), "good/x"), s, "text"); err != nil || time.Since(began) > 300*time.Millisecond {
						t.Fatalf("after %d attacks: %v after %s", n+1, err, time.Since(began))
					}
					time.Sleep(time.Second)
				}
				if len(d.instances) > 5 {
					t.Errorf("20 attacks ended %d instances", len(d.instances)-1)
				}
			})
		})
	}
}

func TestSuspects_ARequestThatEndedTwoInstancesIsHeld(t *testing.T) {
	d := hostile()
	supervise(t, d, plugin.Limits{}, func(t *testing.T, s *plugin.Supervisor) {
		for n := range 2 {
			err := send(as(t.Context(), "a"), s, "kill")
			wantReason(t, err, sdk.Unavailable, "plugin_exited")
			if !sdk.Permanent(err) || len(d.instances) != n+1 {
				t.Errorf("permanent %t after %d instances", sdk.Permanent(err), len(d.instances))
			}
		}
		for _, namespace := range []string{"a", "a/b", "b"} {
			err := send(as(t.Context(), namespace), s, "kill")
			wantReason(t, err, sdk.Invalid, "request_held")
			e := sdk.AsError(err)
			for _, want := range []string{`"p"`, "2 times", "digest " + fmt.Sprint(e.Details["digest"])[:12], "2000-01-01T00:10:00Z", "out of memory"} {
				if !strings.Contains(e.Message, want) {
					t.Errorf("%q doesn't say %q", e.Message, want)
				}
			}
			if e.Hint == "" || !sdk.Permanent(err) {
				t.Errorf("%+v", e)
			}
		}
		if err := send(as(t.Context(), "a"), s, "text"); err != nil || len(d.instances) != 3 {
			t.Errorf("another request: %v, %d instances", err, len(d.instances))
		}
		time.Sleep(10 * time.Minute)
		wantReason(t, send(as(t.Context(), "b"), s, "kill"), sdk.Unavailable, "plugin_exited")
	})
}

// A plugin that ends at everybody's calls isn't started for ever.
func TestSuspects_OfManyTenantsOpenThePluginsBreaker(t *testing.T) {
	d := hostile()
	supervise(t, d, plugin.Limits{}, func(t *testing.T, s *plugin.Supervisor) {
		for n := range 3 {
			wantReason(t, send(as(t.Context(), fmt.Sprint("t", n)), s, fmt.Sprint("kill ", n)), sdk.Unavailable, "plugin_exited")
		}
		wantReason(t, send(as(t.Context(), "other"), s, "text"), sdk.Unavailable, "plugin_breaker_open")
	})
}

func TestSuspects_ATenantsBreakerClosesAgain(t *testing.T) {
	d := hostile()
	supervise(t, d, plugin.Limits{}, func(t *testing.T, s *plugin.Supervisor) {
		for n := range 3 {
			_ = send(as(t.Context(), "evil"), s, fmt.Sprint("kill ", n))
		}
		err := send(as(t.Context(), "evil/sub"), s, "text")
		wantReason(t, err, sdk.Unavailable, "plugin_breaker_open")
		if !strings.Contains(err.Error(), "for evil, whose requests ended it,") {
			t.Error(err)
		}
		if st := statusOf(t, s); st.Breaker != plugin.BreakerOpen || st.RetryAt.IsZero() {
			t.Errorf("%+v", st)
		}
		time.Sleep(time.Minute)
		if err := send(as(t.Context(), "evil"), s, "text"); err != nil || statusOf(t, s).Breaker != plugin.BreakerClosed {
			t.Errorf("%v, breaker %s", err, statusOf(t, s).Breaker)
		}
	})
}

// A call that must be alone gets an instance, however busy they are.
func TestSuspects_AreRepeatedAlone(t *testing.T) {
	d := &driver{}
	var mu sync.Mutex
	together := map[int]int{}
	count := func(n, change int) int {
		mu.Lock()
		defer mu.Unlock()
		together[n] += change
		return together[n]
	}
	d.callFn = func(ctx context.Context, i *instance) error {
		output, _ := ctx.Value(outputKey{}).(string)
		count(i.n, 1)
		defer count(i.n, -1)
		switch {
		case output == "kill":
			time.Sleep(time.Second)
			if i.n > 1 && count(i.n, 0) > 1 {
				t.Errorf("on instance %d it isn't alone", i.n)
			}
			return i.crash("out of memory")
		case i.n == 1:
			return i.work(ctx, time.Hour)
		}
		return i.work(ctx, 2*time.Second)
	}
	supervise(t, d, plugin.Limits{Parallel: 4, Instances: 1, Timeout: time.Hour}, func(t *testing.T, s *plugin.Supervisor) {
		results := make(chan error, 11)
		for n := range 11 {
			go func() {
				output := fmt.Sprint("text ", n)
				if n == 3 {
					output = "kill"
				}
				results <- send(as(t.Context(), fmt.Sprint("t", n)), s, output)
			}()
			synctest.Wait()
		}
		failed := 0
		for range 11 {
			if <-results != nil {
				failed++
			}
		}
		if failed != 1 {
			t.Errorf("%d calls failed, want the one that ended the instances", failed)
		}
		if st := statusOf(t, s); st.Breaker != plugin.BreakerClosed {
			t.Errorf("%+v", st)
		}
	})
}

// A config that can't even be prepared is held in all calls.
func TestSuspects_AConfigIsHeldToo(t *testing.T) {
	d := &driver{callFn: func(_ context.Context, i *instance) error { return i.crash("out of memory") }}
	supervise(t, d, plugin.Limits{}, func(t *testing.T, s *plugin.Supervisor) {
		target := core.Target{Plugin: "p", Config: json.RawMessage(`{"schema":1}`)}
		for range 2 {
			wantReason(t, s.Prepare(t.Context(), sdk.KindEvaluator, target), sdk.Unavailable, "plugin_exited")
		}
		wantReason(t, s.Prepare(t.Context(), sdk.KindEvaluator, target), sdk.Invalid, "request_held")
		_, err := s.Evaluate(t.Context(), target, []*sdk.EvaluateRequest{{Output: json.RawMessage(`1`)}})
		wantReason(t, err, sdk.Invalid, "request_held")
	})
}

// A request that has to be killed at its deadline costs an instance each time, and those next
// to it their calls.
func TestSuspects_ARequestThatIsKilledTwiceIsHeld(t *testing.T) {
	d := &driver{callFn: func(_ context.Context, i *instance) error { return i.hang() }}
	supervise(t, d, plugin.Limits{Timeout: time.Second}, func(t *testing.T, s *plugin.Supervisor) {
		for range 2 {
			wantReason(t, evaluate(t.Context(), s), sdk.Timeout, "plugin_timeout")
		}
		wantReason(t, evaluate(t.Context(), s), sdk.Invalid, "request_held")
	})
}
