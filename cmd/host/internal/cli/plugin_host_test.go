package cli

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/plugins/llm-eval/llmtest"
	"github.com/reflectory/reflectory/sdk"
)

// hosted runs the plugin chatty with what it was granted, next to llm-eval, which
// may reach some endpoints. Calls under the context reach the model.
func (w *world) hosted(llm string, endpoints []string, granted ...plugin.Service) (context.Context, *host.CallablePlugins) {
	w.t.Helper()
	w.env["REFLECTORY_LOG_LEVEL"], w.env["REFLECTORY_LLM_ENDPOINTS"] = "debug", strings.Join(append(endpoints, "127.0.0.1:1"), ",")
	composed := w.openHost()
	notices, logs := func(n host.Notice) { w.t.Log(n.Message) }, func(plugin.LogLine) {}
	set, err := host.OpenSet(composed.Config.Settings, notices)
	if err != nil {
		w.t.Fatal(err)
	}
	installed := set.Installed()
	for i := range installed {
		switch p := &installed[i]; p.Name {
		case "test/chatty":
			p.Env, p.Granted.Host = []string{"CHATTY_KEY=sesame-open"}, granted
		case workflow.LLMPlugin:
			p.Granted.Network = endpoints
		}
	}
	h, err := host.NewCallablePlugins(host.PluginOptions{Settings: composed.Config.Settings, Set: set, Installed: installed, Log: logs, Notices: notices})
	if err != nil {
		w.t.Fatal(err)
	}
	scope, err := composed.Plugins.Scope(w.t.Context(), host.Need{LLM: json.RawMessage(llm), Namespace: "team"})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := h.Close(); err != nil {
			w.t.Error(err)
		}
	})
	return plugin.WithScope(w.t.Context(), scope), h
}

func judge(ctx context.Context, h *host.CallablePlugins) (*sdk.EvaluateResponse, error) {
	return core.PluginEvaluator(h, core.Target{Plugin: "test/chatty", Config: json.RawMessage(`{"asks": true}`)}).
		Evaluate(ctx, &sdk.EvaluateRequest{Call: sdk.Call{RunID: "01939f2c-0000-7000-8000-000000000000"}, Output: json.RawMessage(`1`)})
}

func TestAPluginReachesTheHostsModelWithoutAKey(t *testing.T) {
	w := newWorld(t)
	server := llmtest.New(t, llmtest.Text("yes"))
	ctx, h := w.hosted(`{"provider": "openai", "base_url": "`+server.URL+`/v1", "model": "m", "price": {"in": 1000000, "out": 0}}`, []string{strings.TrimPrefix(server.URL, "http://")}, plugin.ServiceLLM, plugin.ServiceLog)
	r, err := judge(ctx, h)
	if err != nil {
		t.Fatal(err)
	}
	want := sdk.Usage{TokensIn: llmtest.TokensIn, TokensOut: llmtest.TokensOut + 1, CostUSD: llmtest.TokensIn}
	if !r.Verdict.Valid || r.Usage != want {
		t.Errorf("%+v, want the model's usage and its own: %+v", r, want)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}

	code, out, errs := w.run(t.Context(), "plugin", "logs", "test/chatty")
	if code != exitPassed || strings.Contains(out, "sesame") ||
		!strings.Contains(out, "info   run 01939f2c-0000  judging key=***\n") ||
		!strings.Contains(out, "debug  run 01939f2c-0000  the model says yes\n") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	if code, followed, errs := w.run(interrupted, "plugin", "logs", "test/chatty", "-f"); code != exitPassed || followed != out {
		t.Errorf("exit %d: %s%s, want %s", code, followed, errs, out)
	}
	code, out, errs = w.run(t.Context(), "plugin", "logs", "test/chatty", "--lines", "1", "--json")
	var last struct {
		Plugin string           `json:"plugin"`
		Lines  []plugin.LogLine `json:"lines"`
	}
	if err := json.Unmarshal([]byte(out), &last); err != nil || code != exitPassed || last.Plugin != "test/chatty" || len(last.Lines) != 1 {
		t.Errorf("exit %d, %v: %s%s", code, err, out, errs)
	}
}

func TestAPluginWithoutTheGrantReachesNoModel(t *testing.T) {
	tests := map[string]struct {
		llm     string
		granted []plugin.Service
		code    sdk.Code
		reason  string
	}{
		"not granted":       {`{"provider": "openai", "base_url": "http://127.0.0.1:1", "model": "m"}`, nil, sdk.Denied, "capability_missing"},
		"no model":          {``, []plugin.Service{plugin.ServiceLLM}, sdk.Invalid, "llm_not_configured"},
		"an unsound model":  {`{"provider": "openai"}`, []plugin.Service{plugin.ServiceLLM}, sdk.Invalid, "config_invalid"},
		"only another's is": {`{"provider": "openai"}`, []plugin.Service{plugin.ServiceCache}, sdk.Denied, "capability_missing"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := judge(newWorld(t).hosted(tt.llm, nil, tt.granted...))
			if sdk.CodeOf(err) != tt.code || sdk.ReasonOf(err) != tt.reason {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAConfigIsJudgedBeforeThePluginSeesIt(t *testing.T) {
	ctx, h := newWorld(t).hosted("", nil)
	for config, want := range map[string]string{
		`{"asks": true}`:             "",
		`{"asks": "often", "x": 1}`:  "/asks",
		`{"ask": true}`:              `"ask"`,
		`{"asks": null, "max": 1e3}`: `"max"`,
	} {
		err := h.Prepare(ctx, sdk.KindEvaluator, core.Target{Plugin: "test/chatty", Config: json.RawMessage(config)})
		if want == "" && err != nil || want != "" && (sdk.ReasonOf(err) != "config_invalid" || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", config, err)
		}
	}
}
