package process_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/process"
	"github.com/reflectory/reflectory/core/plugin/services"
	"github.com/reflectory/reflectory/sdk"
)

// spy is a plugin that collects all that it can get hold of: its key and what else is
// in its environment, what was cached before, what the model says, and memories, for
// which it names another's run and namespace.
func spy(ctx context.Context) (string, error) {
	cached, _, err := sdk.CacheGet(ctx, "k")
	if err != nil {
		return "", err
	}
	model, err := sdk.Complete(ctx, &sdk.LLMRequest{Prompt: "who are you?"})
	if err != nil {
		return "", err
	}
	if err := sdk.CachePut(ctx, "k", model.Output); err != nil {
		return "", err
	}
	recalled, err := sdk.HostFrom(ctx).Ask(ctx, sdk.ServiceRecall, json.RawMessage(`{"query":"q","run_id":"run-of-b","namespace":"b","limit":1}`))
	return strings.Join([]string{os.Getenv("KEY"), os.Getenv("MODEL_KEY"), string(cached), model.Text(), string(recalled)}, " | "), err
}

// memoryOf answers memory.recall with whose memory it is, and which run asks.
type memoryOf struct {
	owner   string
	arrived func() // waits, so that calls overlap
}

func (m memoryOf) Recall(_ context.Context, runID string, _ *sdk.RecallRequest) (*sdk.RecallResponse, error) {
	m.arrived()
	return &sdk.RecallResponse{Memories: []sdk.RecalledMemory{{Title: "memory of " + m.owner + " for " + runID}}}, nil
}

// scopeOf is a scope of which everything bears the owner's name. Its key for the spy
// is left out where both owners' calls are to meet in one instance.
func scopeOf(owner string, key bool, arrived func()) *plugin.Scope {
	s := &plugin.Scope{
		Namespace: owner, RunID: "run-of-" + owner, Recall: memoryOf{owner, arrived},
		LLM: core.Target{Plugin: "model/probe", Config: json.RawMessage(`{"llm":"model of ` + owner + `"}`)},
		Env: map[string][]string{"model/probe": {"MODEL_KEY=model-key-of-" + owner}},
	}
	if key {
		s.Env["acme/probe"] = []string{"KEY=key-of-" + owner}
	}
	return s
}

// found is what a spy reports at its owner's scope, if nothing is cached yet.
func found(owner string, key bool) string {
	own := ""
	if key {
		own = "key-of-" + owner
	}
	return fmt.Sprintf(`%s |  |  | model of %[2]s by model-key-of-%[2]s | `, own, owner)
}

// spies is a supervisor of the spy and of the plugin of its model. It admits owners a
// and b.
func spies(t *testing.T, limits plugin.Limits) *plugin.Supervisor {
	t.Helper()
	asks, model := self(t, "serve"), self(t, "serve")
	asks.Name, model.Name = "acme/probe", "model/probe"
	asks.Limits, asks.Granted.Host = limits, sdk.Services()
	model.Limits.Instances = 1
	s := plugin.NewSupervisor(plugin.Options{
		Installed: []plugin.Installed{asks, model},
		Driver:    process.New(process.Options{Services: services.New(services.Options{})}),
		Admit: func(ctx context.Context, p plugin.Installed) error {
			if owner := plugin.ScopeOf(ctx).Namespace; owner != "a" && owner != "b" {
				return sdk.Errorf(sdk.Denied, "not_here", "plugin %s isn't for %q", p.Name, owner)
			}
			return nil
		},
	})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// sent has the spy report under a scope.
func sent(t *testing.T, s *plugin.Supervisor, scope *plugin.Scope) (string, error) {
	r, err := core.PluginEvaluator(s, core.Target{Plugin: "acme/probe", Config: json.RawMessage(`{"do":"spy"}`)}).
		Evaluate(plugin.WithScope(t.Context(), scope), &sdk.EvaluateRequest{Output: json.RawMessage(`1`)})
	if err != nil {
		return "", err
	}
	return r.Verdict.Feedback, nil
}

// wantOwn checks that a report has all of its owner's and nothing of another's.
func wantOwn(t *testing.T, owner, report string, key bool) {
	t.Helper()
	other := map[string]string{"a": "b", "b": "a"}[owner]
	fresh := found(owner, key)
	cached := strings.Replace(fresh, " |  |  | ", ` |  | "model of `+owner+` by model-key-of-`+owner+`" | `, 1)
	if !strings.HasPrefix(report, fresh) && !strings.HasPrefix(report, cached) ||
		!strings.Contains(report, "memory of "+owner+" for run-of-"+owner) || strings.Contains(report, "of-"+other) || strings.Contains(report, "of "+other) {
		t.Errorf("the spy at %s found %s", owner, report)
	}
}

func pools(s *plugin.Supervisor) []string {
	var names []string
	for _, st := range s.Status() {
		names = append(names, fmt.Sprintf("%s %s: %d starts", st.Plugin, st.Environment, st.Starts))
	}
	return names
}

func TestScope_NothingCrossesBetweenProcesses(t *testing.T) {
	s := spies(t, plugin.Limits{Instances: 1})
	var all sync.WaitGroup
	for _, owner := range []string{"a", "b"} {
		scope := scopeOf(owner, true, func() {})
		for range 3 {
			all.Go(func() {
				for range 4 {
					report, err := sent(t, s, scope)
					if err != nil {
						t.Error(err)
						return
					}
					wantOwn(t, owner, report, true)
				}
			})
		}
	}
	all.Wait()
	got := pools(s)
	slices.Sort(got) // which of them came first is chance
	want := []string{
		"acme/probe : 0 starts", "acme/probe KEY#1: 1 starts", "acme/probe KEY#2: 1 starts",
		"model/probe : 0 starts", "model/probe MODEL_KEY#1: 1 starts", "model/probe MODEL_KEY#2: 1 starts",
	}
	if !slices.Equal(got, want) {
		t.Errorf("pools %q, want %q", got, want)
	}
	for _, scope := range []*plugin.Scope{scopeOf("c", true, nil), scopeOf("c", false, nil), {}} {
		if report, err := sent(t, s, scope); sdk.ReasonOf(err) != "not_here" {
			t.Errorf("where it is denied: %v, %s", err, report)
		}
	}
	if again := pools(s); len(again) != len(got)+1 || !slices.Contains(again, "acme/probe KEY#3: 0 starts") {
		t.Errorf("pools %q after denials", again)
	}
}

// Calls of two scopes are at work in one instance at a time, and each question is
// answered for the call during which it was asked.
func TestScope_ParallelCallsOfOneProcessAskForThemselves(t *testing.T) {
	const each = 4
	s := spies(t, plugin.Limits{Instances: 1, Parallel: 2 * each})
	var meet sync.WaitGroup
	meet.Add(2 * each)
	together := func() { meet.Done(); meet.Wait() } // each call has asked before one is answered
	var all sync.WaitGroup
	for _, owner := range []string{"a", "b"} {
		scope := scopeOf(owner, false, together)
		for range each {
			all.Go(func() {
				report, err := sent(t, s, scope)
				if err != nil {
					t.Error(err)
					meet.Done()
					return
				}
				wantOwn(t, owner, report, false)
			})
		}
	}
	all.Wait()
	if got := pools(s)[0]; got != "acme/probe : 1 starts" {
		t.Errorf("%q, want one instance for both", got)
	}
}

// What a plugin asks while it prepares a config it may keep with that config, so each
// kind of scope has it prepare its own.
func TestScope_APreparedConfigIsOfItsScope(t *testing.T) {
	p := self(t, "serve")
	p.Granted.Host = sdk.Services()
	i := start(t, process.Options{Services: services.New(services.Options{})}, p)
	for _, tt := range []struct{ namespace, run, want string }{
		{"a", "1", "memory of a for 1"}, {"b", "2", "memory of b for 2"}, {"a", "3", "memory of a for 1"},
	} {
		scope := &plugin.Scope{Namespace: tt.namespace, RunID: tt.run, Recall: memoryOf{tt.namespace, func() {}}}
		results, err := i.Evaluate(plugin.WithScope(t.Context(), scope), do("remember at prepare"), []*sdk.EvaluateRequest{{Output: json.RawMessage(`1`)}})
		if err != nil || results[0].Err != nil {
			t.Fatal(err, results)
		}
		if got := results[0].Response.Verdict.Feedback; got != tt.want {
			t.Errorf("%s: it has %q, want %q", tt.namespace, got, tt.want)
		}
	}
}
