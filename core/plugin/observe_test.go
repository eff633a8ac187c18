package plugin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/work"
	"github.com/reflectory/reflectory/sdk"
)

// TestSupervisor_TellsWhatItDoes: each call with its outcome, and how instances come
// and go.
func TestSupervisor_TellsWhatItDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var told []string
		tell := func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, fmt.Sprintf(format, args...))
		}
		crashes := false
		d := &driver{callFn: func(_ context.Context, i *instance) error {
			if crashes {
				return i.crash("bad luck")
			}
			return nil
		}}
		d.evaluateFn = func(context.Context, *instance, plugin.Config, []*sdk.EvaluateRequest) []sdk.EvaluateResult {
			return []sdk.EvaluateResult{
				{Response: &sdk.EvaluateResponse{Verdict: sdk.Verdict{Score: 0.5}, Usage: sdk.Usage{TokensIn: 3}, Metadata: map[string]string{"model": "m"}}},
				{Err: sdk.Errorf(sdk.Invalid, "odd", "odd").WithDetail(sdk.UsageDetail, sdk.Usage{TokensOut: 2})},
			}
		}
		s := plugin.NewSupervisor(plugin.Options{
			Installed: []plugin.Installed{{Name: "p"}}, Driver: d,
			Instances: func(name string, e plugin.InstanceEvent) { tell("%s %s", name, e) },
			Observer: func(ctx context.Context, w work.Work) (context.Context, func(work.Outcome)) {
				return ctx, func(out work.Outcome) {
					line := fmt.Sprintf("%s %s %s %s: %s", w.Kind, w.Role, w.Name, w.Config, sdk.ReasonOf(out.Err))
					for _, r := range out.Results {
						line += fmt.Sprintf("; %s %d %s %v", sdk.ReasonOf(r.Err), r.Usage.Tokens(), r.Metadata["model"], r.Verdict != nil)
					}
					tell("%s", line)
				}
			},
		})
		_, err := s.Evaluate(t.Context(), core.Target{Plugin: "p", Config: json.RawMessage(`{"a":1}`)}, []*sdk.EvaluateRequest{{}, {}})
		if err != nil {
			t.Fatal(err)
		}
		crashes = true
		if _, err := s.Generate(t.Context(), core.Target{Plugin: "p"}, []*sdk.GenerateRequest{{}}); sdk.ReasonOf(err) != "plugin_exited" {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		want := []string{
			"p started", `call evaluate p {"a":1}: ; ` + " 3 m true; odd 2  false",
			"p exited", "call generate p {}: plugin_exited",
		}
		if !slices.Equal(told, want) {
			t.Errorf("it tells\n%q, want\n%q", told, want)
		}
	})
}
