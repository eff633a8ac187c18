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

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

// step makes a call of plugin p for a namespace, with a config of its own.
func step(ctx context.Context, s *plugin.Supervisor, namespace, config string) error {
	results, err := s.Evaluate(as(ctx, namespace), core.Target{Plugin: "p", Config: jsontext.MustEncode(map[string]string{"script": config})},
		[]*sdk.EvaluateRequest{{}})
	if err == nil {
		err = results[0].Err
	}
	return err
}

func fault(code sdk.Code, reason string) error { return sdk.Errorf(code, reason, "not enough of it") }

// poisoned is a driver whose first instances fail each config that they don't know yet, once they
// were sent the config "poison".
func poisoned(instances int, err error, inItem bool) *driver {
	var mu sync.Mutex
	poison, known := map[int]bool{}, map[string]bool{}
	fails := func(i *instance) error {
		mu.Lock()
		defer mu.Unlock()
		i.mu.Lock()
		config := string(i.config.JSON)
		i.mu.Unlock()
		poison[i.n] = poison[i.n] || strings.Contains(config, "poison") && i.n <= instances
		key := fmt.Sprint(i.n, config)
		if poison[i.n] && !known[key] {
			return err
		}
		known[key] = true
		return nil
	}
	if inItem {
		return &driver{itemFn: func(_ context.Context, i *instance) error { return fails(i) }}
	}
	return &driver{callFn: func(_ context.Context, i *instance) error { return fails(i) }}
}

// An instance that fails the first steps of two callers is replaced; a caller alone, and what may
// be the callers' own fault, replaces nothing.
func TestInstance_ReplacedAfterTwoCallersFirstSteps(t *testing.T) {
	memory := fault(sdk.Exhausted, "lua_memory")
	type call struct{ namespace, config string }
	two := []call{{"evil/x", "poison"}, {"good/a", "one"}}
	tests := map[string]struct {
		err      error
		inItem   bool
		granted  plugin.Capabilities
		calls    []call
		replaced bool
	}{
		"memory that a script left":                {err: memory, calls: two, replaced: true},
		"memory, said by the item":                 {err: memory, inItem: true, calls: two, replaced: true},
		"a bug":                                    {err: fault(sdk.Internal, "panic"), calls: two, replaced: true},
		"no code at all":                           {err: fmt.Errorf("broken"), calls: two, replaced: true},
		"what it lacks":                            {err: fault(sdk.Unavailable, "lua_missing"), calls: two, replaced: true},
		"an answer that is none":                   {err: fault(sdk.Invalid, "response_invalid"), calls: two, replaced: true},
		"two namespaces of one tenant":             {err: memory, calls: []call{{"team/x", "poison"}, {"team/y", "one"}}, replaced: true},
		"a success with a known config in between": {err: memory, calls: []call{{"good/a", "old"}, {"evil/x", "poison"}, {"good/a", "old"}, {"good/a", "new"}}, replaced: true},
		"a bug of a plugin with a network":         {err: fault(sdk.Internal, "panic"), granted: plugin.Capabilities{Network: []string{"x:1"}}, calls: two, replaced: true},
		"one caller":                               {err: memory, calls: []call{{"evil/x", "poison"}, {"evil/x", "poison"}, {"evil/x", "other"}, {"evil/x", "third"}}},
		"the callers' own input":                   {err: fault(sdk.Invalid, "lua_syntax"), calls: two},
		"what the callers may not":                 {err: fault(sdk.Denied, "endpoint_denied"), calls: two},
		"an endpoint that is down":                 {err: fault(sdk.Unavailable, "llm_unavailable"), granted: plugin.Capabilities{Network: []string{"x:1"}}, calls: two},
		"a model that is overloaded":               {err: fault(sdk.Exhausted, "rate_limited"), granted: plugin.Capabilities{Host: []plugin.Service{plugin.ServiceLLM}}, calls: two},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := poisoned(1, tt.err, tt.inItem)
				s := plugin.NewSupervisor(plugin.Options{
					Installed: []plugin.Installed{{Name: "p", Limits: plugin.Limits{Instances: 1}, Granted: tt.granted}}, Driver: d,
					Random: func() float64 { return 0.5 },
				})
				defer s.Close()
				for _, c := range tt.calls {
					_ = step(t.Context(), s, c.namespace, c.config)
				}
				synctest.Wait()
				var err error
				if tt.replaced {
					err = step(t.Context(), s, "later/z", "last")
				}
				st := statusOf(t, s)
				switch {
				case !tt.replaced && (len(d.instances) != 1 || st.Replacements != 0):
					t.Errorf("replaced: %+v", st)
				case tt.replaced && (err != nil || len(d.instances) != 2 || st.Replacements != 1 || st.LastCause == ""):
					t.Errorf("not replaced: %v, %d instances, %+v", err, len(d.instances), st)
				}
				if st.UnaskedExits != 0 || st.Breaker != plugin.BreakerClosed {
					t.Errorf("the breaker counts it: %+v", st)
				}
			})
		})
	}
}

// A plugin that fails everybody for one cause is replaced once. Where the replacement helped, the
// next is possible, three in ten minutes.
func TestInstance_ReplacedRarely(t *testing.T) {
	for name, tt := range map[string]struct {
		instances int // that can be poisoned
		attack    func(n int) string
		want      int
	}{
		"a replacement that doesn't help": {1000, func(n int) string { return fmt.Sprint("poison ", n) }, 1},
		"one that is poisoned again":      {1000, func(n int) string { return []string{"poison", "one", "fine"}[n%3] }, 3},
	} {
		t.Run(name, func(t *testing.T) {
			d := poisoned(tt.instances, fault(sdk.Exhausted, "lua_memory"), false)
			supervise(t, d, plugin.Limits{Instances: 1}, func(t *testing.T, s *plugin.Supervisor) {
				for n := range 90 {
					_ = step(t.Context(), s, fmt.Sprintf("tenant%d/x", n), tt.attack(n))
					time.Sleep(time.Second)
				}
				if st := statusOf(t, s); st.Replacements != tt.want || len(d.instances) != tt.want+1 {
					t.Errorf("%d instances: %+v", len(d.instances), st)
				}
			})
		})
	}
}

// A call that a replaced instance is working on ends as if nothing had happened.
func TestInstance_ReplacedOnceItsCallsEnded(t *testing.T) {
	var long chan struct{}
	d := &driver{callFn: func(_ context.Context, i *instance) error {
		i.mu.Lock()
		config := string(i.config.JSON)
		i.mu.Unlock()
		switch {
		case strings.Contains(config, "long"):
			<-long
		case i.n == 1:
			return fault(sdk.Internal, "panic")
		}
		return nil
	}}
	supervise(t, d, plugin.Limits{Instances: 1, Parallel: 4}, func(t *testing.T, s *plugin.Supervisor) {
		long = make(chan struct{})
		done := make(chan error, 1)
		go func() { done <- step(t.Context(), s, "long/x", "long") }()
		synctest.Wait()
		_, _ = step(t.Context(), s, "a/x", "one"), step(t.Context(), s, "b/x", "two")
		synctest.Wait()
		if d.instances[0].wasKilled() {
			t.Error("the instance was ended during a call")
		}
		if err := step(t.Context(), s, "c/x", "three"); err != nil || len(d.instances) != 2 {
			t.Errorf("%v, %d instances", err, len(d.instances))
		}
		close(long)
		if err := <-done; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if !d.instances[0].wasKilled() || statusOf(t, s).Instances != 1 {
			t.Errorf("it goes on: %+v", statusOf(t, s))
		}
	})
}

// An instance without a call that uses more than a quarter of a processor for three times ten
// seconds is reported each time, and then replaced.
func TestIdleInstance_ThatUsesAProcessor(t *testing.T) {
	const second = time.Second
	tests := map[string]struct {
		use     func(age time.Duration) time.Duration // that an instance has used at an age
		broken  bool                                  // it can't be measured
		every   time.Duration                         // a call is made so often; 0 is never
		reports int
		ends    int
	}{
		"a whole core":                {use: func(age time.Duration) time.Duration { return age }, reports: 3, ends: 1},
		"four cores":                  {use: func(age time.Duration) time.Duration { return 4 * age }, reports: 3, ends: 1},
		"a little over the share":     {use: func(age time.Duration) time.Duration { return age * 26 / 100 }, reports: 3, ends: 1},
		"bursts of half the time":     {use: func(age time.Duration) time.Duration { return age / 4 / second * 2 * second }, reports: 3, ends: 1},
		"a whole core between calls":  {use: func(age time.Duration) time.Duration { return age }, every: 5 * second, reports: 3, ends: 1},
		"exactly the share":           {use: func(age time.Duration) time.Duration { return age / 4 }},
		"nothing":                     {use: func(time.Duration) time.Duration { return 0 }},
		"a warm start":                {use: func(age time.Duration) time.Duration { return min(age, 9*second) }, reports: 1},
		"one long collection":         {use: func(age time.Duration) time.Duration { return min(max(0, age-20*second), 8*second) }, reports: 1},
		"less after a child ended":    {use: func(age time.Duration) time.Duration { return max(0, 20*second-age) }},
		"unknown":                     {use: func(age time.Duration) time.Duration { return age }, broken: true},
		"a core, but never idle long": {use: func(age time.Duration) time.Duration { return age }, every: second / 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var lines []plugin.LogLine
				var events []plugin.InstanceEvent
				d := &driver{}
				d.processorFn = func(i *instance) (time.Duration, error) {
					if tt.broken {
						return 0, fmt.Errorf("no process table")
					}
					d.mu.Lock()
					defer d.mu.Unlock()
					return tt.use(time.Since(d.starts[i.n-1])), nil
				}
				s := plugin.NewSupervisor(plugin.Options{
					Installed: []plugin.Installed{{Name: "p"}}, Driver: d, Random: func() float64 { return 0.5 },
					Log:       func(l plugin.LogLine) { mu.Lock(); defer mu.Unlock(); lines = append(lines, l) },
					Instances: func(_ string, e plugin.InstanceEvent) { mu.Lock(); defer mu.Unlock(); events = append(events, e) },
				})
				defer s.Close()
				if err := evaluate(t.Context(), s); err != nil {
					t.Fatal(err)
				}
				end := time.Now().Add(39500 * time.Millisecond)
				time.Sleep(250 * time.Millisecond) // no call is made at the moment of a measurement
				for time.Now().Before(end) {
					if tt.every == 0 {
						time.Sleep(time.Until(end))
						break
					}
					time.Sleep(tt.every)
					if err := evaluate(t.Context(), s); err != nil {
						t.Fatal(err)
					}
				}
				synctest.Wait()
				st := statusOf(t, s)
				if err := evaluate(t.Context(), s); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				reports := 0
				for _, e := range events {
					if e == plugin.InstanceIdleBusy {
						reports++
					}
				}
				if st.IdleBusy != tt.reports || reports != tt.reports || len(lines) < tt.reports || st.Replacements != tt.ends || d.instances[0].wasKilled() != (tt.ends > 0) {
					t.Errorf("%+v, %d events, %d lines", st, reports, len(lines))
				}
				if st.UnaskedExits != 0 || st.Breaker != plugin.BreakerClosed {
					t.Errorf("the breaker counts it: %+v", st)
				}
				if slices.ContainsFunc(lines, func(l plugin.LogLine) bool { return l.Plugin != "p" || l.Level != "warn" }) {
					t.Errorf("%+v", lines)
				}
			})
		})
	}
}

// While an instance is asked for its health, it gets no call; one that is right again gets them.
func TestHealth_TakesNoCallNextToIt(t *testing.T) {
	checking := false
	d := &driver{
		healthFn: func(ctx context.Context, _ *instance) error {
			checking = true
			defer func() { checking = false }()
			time.Sleep(2 * time.Second)
			return nil
		},
		callFn: func(context.Context, *instance) error {
			if checking {
				return fault(sdk.Internal, "next to the check")
			}
			return nil
		},
	}
	supervise(t, d, plugin.Limits{Instances: 1}, func(t *testing.T, s *plugin.Supervisor) {
		if err := evaluate(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		time.Sleep(31 * time.Second)
		if err := evaluate(t.Context(), s); err != nil || len(d.instances) != 1 {
			t.Errorf("%v, %d instances", err, len(d.instances))
		}
	})
}
