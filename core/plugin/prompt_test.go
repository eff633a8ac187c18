package plugin_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

// The prompt of a plugin that may recall memories by itself isn't passed on: it may have a
// memory that the run never received, so that a purge wouldn't find it. Others are passed on without
// the plugin's secrets.
func TestPrompts_OfPluginsThatRecall(t *testing.T) {
	for name, c := range map[string]struct {
		granted []plugin.Service
		passed  bool
	}{
		"nothing":         {nil, true},
		"log":             {[]plugin.Service{plugin.ServiceLog}, true},
		"a model":         {[]plugin.Service{plugin.ServiceLLM}, true},
		"a cache":         {[]plugin.Service{plugin.ServiceCache}, true},
		"memory":          {[]plugin.Service{plugin.ServiceRecall}, false},
		"all":             {[]plugin.Service{plugin.ServiceLog, plugin.ServiceLLM, plugin.ServiceCache, plugin.ServiceRecall}, false},
		"memory and logs": {[]plugin.Service{plugin.ServiceRecall, plugin.ServiceLog}, false},
		"memory twice":    {[]plugin.Service{plugin.ServiceRecall, plugin.ServiceRecall}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &driver{evaluateFn: func(context.Context, *instance, plugin.Config, []*sdk.EvaluateRequest) []sdk.EvaluateResult {
					prompt := sdk.EncodePrompt([]sdk.PromptMessage{{Content: `the key is "sk-<4fGh7kQ2mN8vB1cX>" and "run-secret-9"`}})
					one := &sdk.EvaluateResponse{Metadata: map[string]string{sdk.MetadataPrompt: prompt, "model": "m"}}
					failed := sdk.WithPrompt(sdk.Errorf(sdk.Invalid, "x", "no").WithDetail("kept", 1), []sdk.PromptMessage{{Content: `the key is "sk-<4fGh7kQ2mN8vB1cX>" and "run-secret-9"`}})
					return []sdk.EvaluateResult{{Err: failed}, {Response: one}, {Response: &sdk.EvaluateResponse{}}}
				}}
				s := plugin.NewSupervisor(plugin.Options{Driver: d, Installed: []plugin.Installed{{Name: "p", Env: []string{"KEY=sk-<4fGh7kQ2mN8vB1cX>", "MODE=on"}, Granted: plugin.Capabilities{Host: c.granted}}}})
				defer s.Close()
				ctx := plugin.WithScope(t.Context(), &plugin.Scope{Env: map[string][]string{"p": {"OWN=run-secret-9"}, "q": {"X=and"}}})
				results, err := s.Evaluate(ctx, core.Target{Plugin: "p"}, requests[sdk.EvaluateRequest](3))
				if err != nil {
					t.Fatal(err)
				}
				metadata := results[1].Response.Metadata
				prompt, passed := metadata[sdk.MetadataPrompt]
				if passed != c.passed || metadata["model"] != "m" {
					t.Errorf("the metadata is %v", metadata)
				}
				if messages := core.ReadPrompt(metadata); passed && (len(messages) != 1 || messages[0].Text != `the key is "***" and "***"`) {
					t.Errorf("the prompt is %s", prompt)
				}
				prompt = sdk.PromptOf(results[0].Err)
				if messages := core.ReadPrompt(map[string]string{sdk.MetadataPrompt: prompt}); (prompt != "") != c.passed || passed && (len(messages) != 1 || messages[0].Text != `the key is "***" and "***"`) {
					t.Errorf("the prompt of the failed call is %s", prompt)
				}
				if d := sdk.AsError(results[0].Err).Details; d["kept"] != 1 {
					t.Errorf("its details are %v", d)
				}
			})
		})
	}
}
