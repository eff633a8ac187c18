package wasm_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/services"
	"github.com/reflectory/reflectory/core/plugin/wasm"
	"github.com/reflectory/reflectory/sdk"
)

// memoryOf answers memory.recall with whose memory it is, and which run asks.
type memoryOf string

func (owner memoryOf) Recall(_ context.Context, runID string, _ *sdk.RecallRequest) (*sdk.RecallResponse, error) {
	return &sdk.RecallResponse{Memories: []sdk.RecalledMemory{{Title: "memory of " + string(owner) + " for " + runID}}}, nil
}

// A module that keeps and reports all that it ever found finds nothing of another's
// scope: with keys of their own in instances of their own, and without in a shared one,
// whose memory is pristine at each call.
func TestScope_NothingCrossesBetweenModules(t *testing.T) {
	tests := map[string]struct {
		stateful bool
		keys     bool
		asks     []string // the starts of the asking plugin's pools
	}{
		"an instance for each key": {stateful: true, keys: true, asks: []string{" 0", "KEY#1 1", "KEY#2 1"}},
		"one instance for both":    {asks: []string{" 1"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			asks, model := trusted(t, "c-shared"), trusted(t, "c-shared")
			asks.Name, asks.Stateful, model.Name = "acme/guest", tt.stateful, "model/guest"
			for _, p := range []*plugin.Installed{&asks, &model} {
				p.Runtime, p.Limits = plugin.RuntimeWASM, plugin.Limits{Instances: 1, Parallel: 4, Fuel: 1e12, StartTimeout: 1e12, Timeout: 1e12}
			}
			denies := func(ctx context.Context, p plugin.Installed) error {
				if owner := plugin.ScopeOf(ctx).Namespace; owner != "a" && owner != "b" {
					return sdk.Errorf(sdk.Denied, "not_here", "plugin %s isn't for %q", p.Name, owner)
				}
				return nil
			}
			d := newDriver(t, wasm.Options{Services: services.New(services.Options{})})
			s := plugin.NewSupervisor(plugin.Options{
				Installed: []plugin.Installed{asks, model}, Driver: plugin.Drivers{plugin.RuntimeWASM: d}, Admit: denies,
			})
			defer s.Close()

			spy := func(owner string) (string, error) {
				scope := &plugin.Scope{
					Namespace: owner, RunID: "run-of-" + owner, Recall: memoryOf(owner),
					LLM: core.Target{Plugin: "model/guest", Config: json.RawMessage(`{"llm":"model of ` + owner + `"}`)},
					Env: map[string][]string{"model/guest": {"MODEL_KEY=model-key-of-" + owner}},
				}
				if tt.keys {
					scope.Env["acme/guest"] = []string{"KEY=key-of-" + owner}
				}
				r, err := core.PluginEvaluator(s, core.Target{Plugin: "acme/guest", Config: do("spy").JSON}).
					Evaluate(plugin.WithScope(t.Context(), scope), &sdk.EvaluateRequest{Output: json.RawMessage(`1`)})
				if err != nil {
					return "", err
				}
				return r.Verdict.Feedback, nil
			}
			var all sync.WaitGroup
			for owner, other := range map[string]string{"a": "b", "b": "a"} {
				key := ""
				if tt.keys {
					key = "KEY=key-of-" + owner
				}
				own := fmt.Sprintf("model of %[1]s by model-key-of-%[1]s | ", owner)
				for range 2 {
					all.Go(func() {
						for range 3 {
							report, err := spy(owner)
							if err != nil || !strings.HasPrefix(report, key+" | ") || !strings.Contains(report, own) ||
								!strings.Contains(report, "memory of "+owner+" for run-of-"+owner) ||
								strings.Contains(report, "of-"+other) || strings.Contains(report, "of "+other) {
								t.Errorf("%v, the spy at %s found %s", err, owner, report)
							}
						}
					})
				}
			}
			all.Wait()
			want := []string{}
			for _, pool := range tt.asks {
				want = append(want, "acme/guest "+pool)
			}
			want = append(want, "model/guest  0", "model/guest MODEL_KEY#1 1", "model/guest MODEL_KEY#2 1")
			var got []string
			for _, st := range s.Status() {
				got = append(got, fmt.Sprintf("%s %s %d", st.Plugin, st.Environment, st.Starts))
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("pools %q, want %q", got, want)
			}
			if report, err := spy("c"); sdk.ReasonOf(err) != "not_here" {
				t.Errorf("where it is denied: %v, %s", err, report)
			}
		})
	}
}

// What a module asks while it prepares a config is part of the state in which its
// calls begin, so that state is of one kind of scope.
func TestScope_APreparedConfigIsOfItsScope(t *testing.T) {
	i := start(t, newDriver(t, wasm.Options{Services: services.New(services.Options{})}), trusted(t, "c-shared"))
	for _, tt := range []struct{ namespace, run, want string }{
		{"a", "1", "memory of a for 1"}, {"b", "2", "memory of b for 2"}, {"a", "3", "memory of a for 1"},
	} {
		ctx := plugin.WithScope(t.Context(), &plugin.Scope{Namespace: tt.namespace, RunID: tt.run, Recall: memoryOf(tt.namespace)})
		r, err := evaluateWith(ctx, i, do("remember at prepare"), `1`)
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict.Feedback != tt.want {
			t.Errorf("%s: it has %q, want %q", tt.namespace, r.Verdict.Feedback, tt.want)
		}
	}
}
