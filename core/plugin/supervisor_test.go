package plugin_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

func TestEveryKindOfCallReachesThePlugin(t *testing.T) {
	d := &driver{}
	supervise(t, d, plugin.Limits{}, func(t *testing.T, s *plugin.Supervisor) {
		target := core.Target{Plugin: "p", Config: json.RawMessage(`{"a":1}`)}
		evaluated, err1 := s.Evaluate(t.Context(), target, requests[sdk.EvaluateRequest](1))
		generated, err2 := s.Generate(t.Context(), target, requests[sdk.GenerateRequest](2))
		corrected, err3 := s.Correct(t.Context(), target, requests[sdk.CorrectRequest](3))
		if err := errors.Join(err1, err2, err3); err != nil || len(evaluated) != 1 || len(generated) != 2 || len(corrected) != 3 {
			t.Errorf("%v; %d, %d, %d results, want 1, 2, 3", err, len(evaluated), len(generated), len(corrected))
		}
		if err := s.Prepare(t.Context(), sdk.KindCorrector, target); err != nil {
			t.Error(err)
		}
		i := d.instances[0]
		want := []sdk.Kind{sdk.KindEvaluator, sdk.KindGenerator, sdk.KindCorrector, sdk.KindCorrector}
		if !slices.Equal(i.kinds, want) {
			t.Errorf("the plugin was called as %v, want %v", i.kinds, want)
		}
		if string(i.config.JSON) != `{"a":1}` || i.config.Digest != core.Digest(target.Config) {
			t.Errorf("the plugin was sent the config %s %s", i.config.JSON, i.config.Digest)
		}
	})
}

func TestAKindThatThePluginDoesNotHave(t *testing.T) {
	d := &driver{manifest: sdk.Manifest{Name: "p", Version: "1", Contract: 1, Kinds: []sdk.Kind{sdk.KindGenerator, sdk.KindCorrector}}}
	supervise(t, d, plugin.Limits{Instances: 1}, func(t *testing.T, s *plugin.Supervisor) {
		for range 2 { // the instance must be free again after the first
			err := evaluate(t.Context(), s)
			wantReason(t, err, sdk.Invalid, "kind_unsupported")
			if err.Error() != `plugin "p" is no evaluator: it is corrector and generator` {
				t.Errorf("%q", err)
			}
		}
		wantReason(t, s.Prepare(t.Context(), sdk.KindEvaluator, core.Target{Plugin: "p"}), sdk.Invalid, "kind_unsupported")
	})
}

func TestDescribeStartsThePluginOnce(t *testing.T) {
	d := &driver{}
	supervise(t, d, plugin.Limits{Instances: 1}, func(t *testing.T, s *plugin.Supervisor) {
		for range 2 {
			m, err := s.Describe(t.Context(), "p")
			if err != nil || m.Name != "p" || m.Version != "1.0.0" {
				t.Errorf("got %+v, %v", m, err)
			}
		}
		d.callFn = func(ctx context.Context, i *instance) error { return i.work(ctx, time.Second) }
		busy := background(t.Context(), s)
		synctest.Wait()
		begin := time.Now()
		if _, err := s.Describe(t.Context(), "p"); err != nil || time.Since(begin) != 0 {
			t.Errorf("describing a busy plugin: %v after %s", err, time.Since(begin))
		}
		if err := <-busy; err != nil || len(d.starts) != 1 {
			t.Errorf("%v, %d starts", err, len(d.starts))
		}
	})
}

func TestStartIsEager(t *testing.T) {
	d := &driver{}
	supervise(t, d, plugin.Limits{}, func(t *testing.T, s *plugin.Supervisor) {
		if err := s.Start(t.Context(), "p"); err != nil || len(d.instances) != 1 || len(d.instances[0].kinds) != 0 {
			t.Errorf("%v, %d instances", err, len(d.instances))
		}
		wantReason(t, s.Start(t.Context(), "q"), sdk.NotFound, "plugin_not_found")
	})
}

func TestAnInvalidManifestIsRefused(t *testing.T) {
	for _, name := range []string{"../p", "another"} {
		d := &driver{manifest: sdk.Manifest{Name: name, Version: "1", Contract: 1}}
		supervise(t, d, plugin.Limits{}, func(t *testing.T, s *plugin.Supervisor) {
			wantReason(t, evaluate(t.Context(), s), sdk.Invalid, "manifest_invalid")
			if !d.instances[0].wasKilled() {
				t.Error("its instance still runs")
			}
		})
	}
}

func TestAnUnknownPlugin(t *testing.T) {
	tests := map[string]struct {
		installed     []string
		name          string
		message, hint string
		try           *sdk.Action
	}{
		"shipped, nothing installed": {
			name:    "reflectory/lua-eval",
			message: `there is no plugin "reflectory/lua-eval"; none is installed`,
			hint:    `put the folder plugins of the same release next to the program; in the source tree: make build PLUGINS="lua-eval"`,
		},
		"shipped, others installed": {
			installed: []string{"acme/mine", "reflectory/schema-eval"}, name: "reflectory/lua-eval",
			message: `there is no plugin "reflectory/lua-eval"; installed: acme/mine, reflectory/schema-eval`,
			hint:    `put the folder plugins of the same release next to the program; in the source tree: make build PLUGINS="schema-eval lua-eval"`,
		},
		"one's own": {
			installed: []string{"reflectory/schema-eval", "reflectory/llm-eval"}, name: "acme/mine",
			message: `there is no plugin "acme/mine"; installed: reflectory/llm-eval, reflectory/schema-eval`,
			hint:    "add it from its folder (a server reads the lock when it is started)", try: sdk.NewAction("plugin add", "path", nil),
		},
		"a slip of the pen": {
			installed: []string{"acme/mine"}, name: "acme/mien",
			message: `there is no plugin "acme/mien"; installed: acme/mine`,
			hint:    `did you mean "acme/mine"?`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var installed []plugin.Installed
			for _, name := range tt.installed {
				installed = append(installed, plugin.Installed{Name: name})
			}
			s := plugin.NewSupervisor(plugin.Options{Installed: installed, Driver: &driver{}})
			defer s.Close()
			_, err := s.Describe(t.Context(), tt.name)
			wantReason(t, err, sdk.NotFound, "plugin_not_found")
			if got := sdk.AsError(err); got.Message != tt.message || got.Hint != tt.hint || !reflect.DeepEqual(got.Try, tt.try) {
				t.Errorf("got  %s\n     %s %v\nwant %s\n     %s %v", got.Message, got.Hint, got.Try, tt.message, tt.hint, tt.try)
			}
		})
	}
}

func TestStatusIsSortedAndCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &driver{}
		s := plugin.NewSupervisor(plugin.Options{
			Installed: []plugin.Installed{{Name: "z"}, {Name: "a"}, {Name: "m"}},
			Driver:    d, Random: func() float64 { return 0.5 },
		})
		defer s.Close()
		if err := s.Start(t.Context(), "m"); err != nil {
			t.Fatal(err)
		}
		d.instances[0].crash("out of memory")
		synctest.Wait()
		if err := s.Start(t.Context(), "m"); err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(s.Status())
		const manifest = `{"name":"m","version":"1.0.0","contract":1,"kinds":["corrector","evaluator","generator"]}`
		const want = `[{"plugin":"a","instances":0,"starting":0,"busy":0,"waiting":0,"starts":0,"unasked_exits":0,"kills":0,"replacements":0,"idle_busy":0,"breaker":"closed"},` +
			`{"plugin":"m","manifest":` + manifest + `,"instances":1,"starting":0,"busy":0,"waiting":0,"starts":2,"unasked_exits":1,"kills":0,"replacements":0,"idle_busy":0,"breaker":"closed","last_cause":"out of memory"},` +
			`{"plugin":"z","instances":0,"starting":0,"busy":0,"waiting":0,"starts":0,"unasked_exits":0,"kills":0,"replacements":0,"idle_busy":0,"breaker":"closed"}]`
		if err != nil || string(got) != want {
			t.Errorf("%v, got\n%s, want\n%s", err, got, want)
		}
	})
}

func TestCloseEndsCallsAndInstances(t *testing.T) {
	d := &driver{callFn: func(_ context.Context, i *instance) error { return i.hang() }}
	supervise(t, d, plugin.Limits{Instances: 1}, func(t *testing.T, s *plugin.Supervisor) {
		running := background(t.Context(), s)
		synctest.Wait()
		waiting := background(t.Context(), s)
		synctest.Wait()
		begin := time.Now()
		if err := s.Close(); err != nil || time.Since(begin) != 0 {
			t.Errorf("closing: %v after %s", err, time.Since(begin))
		}
		wantReason(t, <-running, sdk.Unavailable, "plugins_closed")
		wantReason(t, <-waiting, sdk.Unavailable, "plugins_closed")
		wantReason(t, evaluate(t.Context(), s), sdk.Unavailable, "plugins_closed")
		_, err := s.Describe(t.Context(), "p")
		wantReason(t, err, sdk.Unavailable, "plugins_closed")
		if !d.instances[0].wasKilled() || len(d.instances) != 1 {
			t.Error("the busy instance was not killed")
		}
		if got := statusOf(t, s); got.Instances != 0 || got.UnaskedExits != 0 {
			t.Errorf("status %+v", got)
		}
	})
}

func TestCloseAsksIdleInstancesAndIsIdempotent(t *testing.T) {
	d := &driver{closeErr: errors.New("it had to be killed")}
	supervise(t, d, plugin.Limits{}, func(t *testing.T, s *plugin.Supervisor) {
		if err := s.Start(t.Context(), "p"); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := s.Close(); !errors.Is(err, d.closeErr) {
				t.Errorf("got %v, want the instance's error", err)
			}
		}
		if i := d.instances[0]; !i.closed || i.killed {
			t.Errorf("closed: %v, killed: %v; want only closed", i.closed, i.killed)
		}
	})
}

func TestCloseStopsStarts(t *testing.T) {
	tests := map[string]func(ctx context.Context, n int) error{
		"under way":                 func(ctx context.Context, _ int) error { <-ctx.Done(); return ctx.Err() },
		"that succeed all the same": func(ctx context.Context, _ int) error { <-ctx.Done(); return nil },
		"that wait for the backoff": func(context.Context, int) error {
			return sdk.Errorf(sdk.Unavailable, "plugin_start_failed", "exit status 1")
		},
	}
	for name, startFn := range tests {
		t.Run(name, func(t *testing.T) {
			d := &driver{startFn: startFn}
			supervise(t, d, plugin.Limits{}, func(t *testing.T, s *plugin.Supervisor) {
				call := background(t.Context(), s)
				synctest.Wait()
				begin := time.Now()
				if err := s.Close(); err != nil || time.Since(begin) != 0 {
					t.Errorf("closing: %v after %s", err, time.Since(begin))
				}
				err := <-call
				wantReason(t, err, sdk.Unavailable, "plugins_closed")
				if strings.Contains(err.Error(), "context canceled") {
					t.Errorf("%q tells of the host's insides", err)
				}
				for _, i := range d.instances {
					if !i.wasKilled() {
						t.Error("an instance that came up too late still runs")
					}
				}
			})
		})
	}
}

func TestCloseWithNothingStarted(t *testing.T) {
	s := plugin.NewSupervisor(plugin.Options{Installed: []plugin.Installed{{Name: "p"}}, Driver: &driver{}})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if got := s.Status(); len(got) != 1 {
		t.Errorf("status %v", got)
	}
}
