package plugin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

// keyed is a scope that brings pairs for plugin p.
func keyed(namespace string, pairs ...string) *plugin.Scope {
	return &plugin.Scope{Namespace: namespace, Env: map[string][]string{"p": pairs}}
}

func under(ctx context.Context, s *plugin.Scope) context.Context { return plugin.WithScope(ctx, s) }

// scoped runs a test in a bubble of fake time, with a supervisor of plugin p, which
// is granted BASE to all calls.
func scoped(t *testing.T, d *driver, o plugin.Options, test func(t *testing.T, s *plugin.Supervisor)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		if o.Installed == nil {
			o.Installed = []plugin.Installed{{Name: "p", Env: []string{"BASE=1"}}}
		}
		o.Driver, o.Random = d, func() float64 { return 0.5 }
		s := plugin.NewSupervisor(o)
		defer s.Close()
		test(t, s)
	})
}

// served notes the environment of the instance that answered last.
func served(env *[]string) func(context.Context, *instance) error {
	return func(_ context.Context, i *instance) error {
		*env = i.plugin.Env
		return nil
	}
}

func environments(s *plugin.Supervisor) []string {
	var names []string
	for _, st := range s.Status() {
		names = append(names, fmt.Sprintf("%s %s %d", st.Plugin, st.Environment, st.Instances))
	}
	return names
}

func TestScope_EachEnvironmentHasItsOwnInstances(t *testing.T) {
	var env []string
	d := &driver{callFn: served(&env)}
	scoped(t, d, plugin.Options{}, func(t *testing.T, s *plugin.Supervisor) {
		for i, tt := range []struct {
			scope  *plugin.Scope
			env    string
			starts int
		}{
			{nil, "BASE=1", 1},
			{keyed("a"), "BASE=1", 1},
			{keyed("a", "KEY=of-a"), "BASE=1 KEY=of-a", 2},
			{keyed("b", "KEY=of-b"), "BASE=1 KEY=of-b", 3},
			{keyed("c", "KEY=of-a"), "BASE=1 KEY=of-a", 3},
			{keyed("a", "X=1", "KEY=of-a"), "BASE=1 KEY=of-a X=1", 4},
			{keyed("a", "KEY=other", "KEY=of-a", "X=1", "no pair"), "BASE=1 KEY=of-a X=1", 4},
			{keyed("a", "BASE=2"), "BASE=2", 5},
			{&plugin.Scope{Env: map[string][]string{"other": {"KEY=of-a"}}}, "BASE=1", 5},
		} {
			ctx := t.Context()
			if tt.scope != nil {
				ctx = under(ctx, tt.scope)
			}
			if err := evaluate(ctx, s); err != nil || strings.Join(env, " ") != tt.env || len(d.instances) != tt.starts {
				t.Errorf("call %d: %v, served with %q by %d instances, want %q by %d", i, err, env, len(d.instances), tt.env, tt.starts)
			}
		}
		want := []string{"p  1", "p KEY#1 1", "p KEY#2 1", "p KEY,X#3 1", "p BASE#4 1"}
		if got := environments(s); !slices.Equal(got, want) {
			t.Errorf("pools %q, want %q", got, want)
		}
		if all, err := json.Marshal(s.Status()); err != nil || bytes.Contains(all, []byte("of-a")) {
			t.Errorf("%v, the status shows a key: %s", err, all)
		}
	})
}

// What crashes with one key isn't held back for another.
func TestScope_EachEnvironmentHasItsOwnBreaker(t *testing.T) {
	d := &driver{callFn: func(_ context.Context, i *instance) error {
		if slices.Contains(i.plugin.Env, "KEY=bad") {
			return i.crash("wrong key")
		}
		return nil
	}}
	scoped(t, d, plugin.Options{}, func(t *testing.T, s *plugin.Supervisor) {
		for n := range 3 {
			_ = evaluateText(under(t.Context(), keyed("a", "KEY=bad")), s, fmt.Sprint(n))
		}
		wantReason(t, evaluate(under(t.Context(), keyed("a", "KEY=bad")), s), sdk.Unavailable, "plugin_breaker_open")
		for _, ctx := range []context.Context{t.Context(), under(t.Context(), keyed("b", "KEY=good"))} {
			if err := evaluate(ctx, s); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestScope_AWarmPluginServesNoScopeUnasked(t *testing.T) {
	d := &driver{}
	var asked []string
	denied := map[string]bool{"b": true}
	admit := func(ctx context.Context, p plugin.Installed) error {
		namespace := plugin.ScopeOf(ctx).Namespace
		asked = append(asked, namespace+" "+strings.Join(p.Env, " "))
		if denied[namespace] {
			return sdk.Errorf(sdk.Denied, "not_here", "no %s in %s", p.Name, namespace)
		}
		return nil
	}
	scoped(t, d, plugin.Options{Admit: admit}, func(t *testing.T, s *plugin.Supervisor) {
		wantAsked := func(want ...string) {
			t.Helper()
			if !slices.Equal(asked, want) {
				t.Errorf("asked of %q, want %q", asked, want)
			}
			asked = nil
		}
		a, b := keyed("a"), keyed("b")
		for range 5 { // more than would open the breaker
			wantReason(t, evaluate(under(t.Context(), b), s), sdk.Denied, "not_here")
		}
		if len(d.starts) != 0 {
			t.Fatalf("%d starts for what is denied", len(d.starts))
		}
		asked = nil
		for range 3 {
			if err := evaluate(under(t.Context(), a), s); err != nil {
				t.Fatal(err)
			}
		}
		wantAsked("a BASE=1")
		wantReason(t, evaluate(under(t.Context(), b), s), sdk.Denied, "not_here")
		manifest, err := s.Describe(under(t.Context(), b), "p")
		wantReason(t, err, sdk.Denied, "not_here")
		if manifest != nil {
			t.Error("a plugin that is denied was described")
		}
		wantAsked("b BASE=1", "b BASE=1")

		denied["a"] = true // a change of policy is heeded by the next run
		if err := evaluate(under(t.Context(), a), s); err != nil {
			t.Error(err)
		}
		wantAsked()
		wantReason(t, evaluate(under(t.Context(), keyed("a")), s), sdk.Denied, "not_here")
		wantReason(t, evaluate(under(t.Context(), keyed("a", "KEY=1")), s), sdk.Denied, "not_here")
		wantAsked("a BASE=1", "a BASE=1 KEY=1")
		d.instances[0].crash("killed from outside") // and by each at the next start
		synctest.Wait()
		wantReason(t, evaluate(under(t.Context(), a), s), sdk.Denied, "not_here")
		if len(d.starts) != 1 {
			t.Errorf("%d starts", len(d.starts))
		}
	})
}

func TestScope_AnEnvironmentThatIsIdleIsClosed(t *testing.T) {
	var work time.Duration
	d := &driver{callFn: func(ctx context.Context, i *instance) error { return i.work(ctx, work) }}
	limits := plugin.Limits{Timeout: time.Hour}
	o := plugin.Options{Installed: []plugin.Installed{{Name: "p", Limits: limits}}}
	scoped(t, d, o, func(t *testing.T, s *plugin.Supervisor) {
		call := func(ctx context.Context) {
			t.Helper()
			if err := evaluate(ctx, s); err != nil {
				t.Fatal(err)
			}
		}
		key := under(t.Context(), keyed("a", "KEY=1"))
		call(t.Context())
		call(key)
		time.Sleep(plugin.DefaultEnvironmentIdle - time.Minute)
		call(key)
		time.Sleep(plugin.DefaultEnvironmentIdle - time.Second)
		if got := environments(s); !slices.Equal(got, []string{"p  1", "p KEY#1 1"}) {
			t.Fatalf("before its time: %q", got)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := environments(s); !slices.Equal(got, []string{"p  1"}) || !d.instances[1].closed || d.instances[1].killed {
			t.Fatalf("after its time: %q, closed %v, killed %v", got, d.instances[1].closed, d.instances[1].killed)
		}
		work = 45 * time.Minute // a call that runs isn't idleness
		call(key)
		if got := environments(s); !slices.Equal(got, []string{"p  1", "p KEY#2 1"}) || d.instances[2].closed {
			t.Errorf("after a long call: %q", got)
		}
	})
}

func TestScope_EnvironmentsAreBounded(t *testing.T) {
	var work time.Duration
	d := &driver{callFn: func(ctx context.Context, i *instance) error { return i.work(ctx, work) }}
	scoped(t, d, plugin.Options{Environments: 2}, func(t *testing.T, s *plugin.Supervisor) {
		call := func(key string) error {
			time.Sleep(time.Millisecond) // so that one was used before the other
			return evaluate(under(t.Context(), keyed("a", "KEY="+key)), s)
		}
		for _, key := range []string{"1", "2", "1", "3"} { // 2 was used least recently
			if err := call(key); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if got := environments(s); !slices.Equal(got, []string{"p  0", "p KEY#1 1", "p KEY#3 1"}) || !d.instances[1].closed {
			t.Fatalf("%q, closed: %v", got, d.instances[1].closed)
		}
		work = time.Second
		busy := []<-chan error{
			background(under(t.Context(), keyed("a", "KEY=1")), s), background(under(t.Context(), keyed("a", "KEY=3")), s),
		}
		synctest.Wait()
		err := call("4")
		wantReason(t, err, sdk.Exhausted, "plugin_environments_full")
		if sdk.AsError(err).Hint == "" {
			t.Error("no hint")
		}
		if err := evaluate(t.Context(), s); err != nil { // what brings none needs no room
			t.Error(err)
		}
		for _, c := range busy {
			if err := <-c; err != nil {
				t.Error(err)
			}
		}
		if err := call("4"); err != nil {
			t.Errorf("once there is room: %v", err)
		}
	})
}

func TestScope_AnEnvironmentAfterTheEnd(t *testing.T) {
	scoped(t, &driver{}, plugin.Options{}, func(t *testing.T, s *plugin.Supervisor) {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		wantReason(t, evaluate(under(t.Context(), keyed("a", "KEY=1")), s), sdk.Unavailable, "plugins_closed")
	})
}

// Admission that hangs ends with the call, or with the supervisor.
func TestScope_AdmissionIsGivenUp(t *testing.T) {
	admit := func(ctx context.Context, _ plugin.Installed) error {
		<-ctx.Done()
		return sdk.Errorf(sdk.Denied, "plugin_denied", "the policy was cut short")
	}
	scoped(t, &driver{}, plugin.Options{Admit: admit}, func(t *testing.T, s *plugin.Supervisor) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := evaluate(ctx, s); sdk.CodeOf(err) != sdk.Timeout {
			t.Errorf("got %v", err)
		}
		call := background(t.Context(), s)
		synctest.Wait()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		wantReason(t, <-call, sdk.Unavailable, "plugins_closed")
	})
}

func TestScope_ShowsNoSecret(t *testing.T) {
	s := keyed("team", "KEY=sesame-open")
	s.RunID = "run-1"
	s.Digest()
	var b bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
		fmt.Fprintf(&b, verb+"\n", s)
		fmt.Fprintf(&b, verb+"\n", struct{ Scope *plugin.Scope }{s})
	}
	for _, h := range []slog.Handler{slog.NewJSONHandler(&b, nil), slog.NewTextHandler(&b, nil)} {
		slog.New(h).Info("call", "scope", s, "context", under(t.Context(), s))
	}
	encoded, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if all := b.String() + string(encoded); strings.Contains(all, "sesame") || strings.Contains(all, "736573616d65") || !strings.Contains(all, `"team", run "run-1"`) {
		t.Errorf("printed %s", all)
	}
}

func TestScope_DigestIsOfAllButTheRun(t *testing.T) {
	same := []*plugin.Scope{
		{Namespace: "a", RunID: "1", Env: map[string][]string{"p": {"A=1", "B=2"}, "q": {}}},
		{Namespace: "a", RunID: "2", Env: map[string][]string{"p": {"B=2", "A=1"}}},
	}
	seen := map[[32]byte]int{}
	for i, s := range append(same,
		&plugin.Scope{}, &plugin.Scope{Namespace: "a"}, keyed("a", "A=1", "B=3"), keyed("a", "A=1B=2"), keyed("b", "A=1", "B=2"),
		&plugin.Scope{Namespace: "a", Env: map[string][]string{"q": {"A=1", "B=2"}}},
		&plugin.Scope{Namespace: "a", Env: map[string][]string{"p": {"A=1"}, "q": {"B=2"}}},
		&plugin.Scope{Namespace: "a", LLM: core.Target{Plugin: "m"}},
		&plugin.Scope{Namespace: "a", LLM: core.Target{Plugin: "m", Config: json.RawMessage(`{}`)}},
	) {
		other, known := seen[s.Digest()]
		if known != (i == 1) {
			t.Errorf("scope %d has the digest of %d", i, other)
		}
		seen[s.Digest()] = i
	}
}
