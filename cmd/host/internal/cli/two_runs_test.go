package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/plugins/llm-eval/llmtest"
	"github.com/reflectory/reflectory/sdk"
)

// pried is what the plugin prying got to see in a call.
type pried struct {
	State    json.RawMessage      `json:"state"`
	Env      []string             `json:"env"`
	Model    string               `json:"model"`
	Recalled []sdk.RecalledMemory `json:"recalled"`
}

// prying is a plugin that returns all that it can get at: its environment, the host's
// model and whatever is recalled for it.
func prying() sdk.Plugin {
	return sdk.Plugin{
		Manifest: sdk.Manifest{Name: "prying", Version: "1.0.0"},
		Generator: func(context.Context, json.RawMessage) (sdk.Generator, error) {
			return sdk.GeneratorFunc(func(ctx context.Context, req *sdk.GenerateRequest) (*sdk.GenerateResponse, error) {
				answer, err := sdk.Complete(ctx, &sdk.LLMRequest{Prompt: "Whose are you?"})
				if err != nil {
					return nil, err
				}
				found, err := sdk.Recall(ctx, &sdk.RecallRequest{Query: "a secret of anybody", Limit: 50})
				if err != nil {
					return nil, err
				}
				return &sdk.GenerateResponse{Output: jsontext.MustEncode(pried{req.State, os.Environ(), answer.Text(), found.Memories})}, nil
			}), nil
		},
	}
}

// installPrying adds the plugin to the lock of a world, with the services that it asks for.
func (w *world) installPrying() {
	w.t.Helper()
	dir := filepath.Join(w.dir, "plugins")
	folder := filepath.Join(dir, "test", "prying")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		w.t.Fatal(err)
	}
	for file, text := range map[string]string{
		install.PackageFile: fmt.Sprintf("name: test/prying\nversion: 1.0.0\nkinds: [generator]\nentry: [sh, run.sh]\n"+
			"capabilities: {fs: [system, %q], host: [llm.complete, memory.recall]}\n", programs),
		"run.sh": fmt.Sprintf("exec '%s/prying' \"$@\"\n", programs),
	} {
		if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	place := install.Place{Lock: filepath.Join(dir, install.LockFile), Dir: dir}
	if _, err := install.Add(w.t.Context(), folder, install.AddOptions{Place: place, InPlace: true}); err != nil {
		w.t.Fatal(err)
	}
}

// tenant is one of two who use a host at once.
type tenant struct {
	name   string
	server *llmtest.Server
}

func (t tenant) caller() core.Caller {
	return core.Caller{Subject: t.name, Namespaces: []string{"team/" + t.name}, Scopes: []core.Scope{
		core.ScopeRun, core.ScopeMemoryRead, core.ScopeMemoryWrite,
	}}
}

func (t tenant) keyEnv() string { return "KEY_" + strings.ToUpper(t.name) }
func (t tenant) key() string    { return "sk-test-of-" + t.name + "-0f5d2c91" }

// start makes the tenant's caller run a workflow that asks the model and pries; before each
// node it meets the other run.
func (t tenant) start(ctx context.Context, h *host.Host, meet func()) (*operation.RunEnded, error) {
	in := &operation.RunStart{Namespace: "team/" + t.name, Workflow: fmt.Sprintf(`
settings: {llm: {provider: openai, model: model-%s, base_url: "%s/v1", api_key_env: %s}}
state: {owner: %s}
nodes:
  - {name: notes, action: memory.observe, with: {content: "A secret of %s."}}
  - {name: asks, action: llm.call, with: {prompt: "I am {{ state.owner }}."}}
  - {name: pries, action: plugin.call, with: {plugin: test/prying}}
`, t.name, t.server.URL, t.keyEnv(), t.name, t.name)}
	out, err := operation.Do(core.WithCaller(ctx, t.caller()), operation.Call{Host: h, Events: func(e core.Event) {
		if _, begins := e.(core.NodeStarted); begins {
			meet()
		}
	}}, "run_start", in)
	if err != nil {
		return nil, err
	}
	return out.(*operation.RunEnded), nil
}

// meeting returns a function that lets two continue together: each waits for the other, or
// for the end.
func meeting(ctx context.Context) (one, other func()) {
	c := make(chan struct{})
	one = func() {
		select {
		case c <- struct{}{}:
		case <-ctx.Done():
		}
	}
	other = func() {
		select {
		case <-c:
		case <-ctx.Done():
		}
	}
	return one, other
}

// numbers distinguish environments of the same variables, in the order in which
// they came.
var numbers = regexp.MustCompile(`#\d+`)

// instances are how many instances each pool has started, by plugin and environment.
func instances(t *testing.T, h *host.Host) map[string]int {
	t.Helper()
	plugins, err := h.Plugins.Callable()
	if err != nil {
		t.Fatal(err)
	}
	started := map[string]int{}
	for _, s := range plugins.Status() {
		if s.Starts > 0 {
			started[numbers.ReplaceAllString(s.Plugin+" "+s.Environment, "")] += s.Starts
		}
	}
	return started
}

// TestTwoRunsAtOnce_NothingCrosses lets two callers run in one host, in two namespaces,
// with two keys and two models, over a plugin that looks for what is the other's. Then a
// memory of one of them is promoted, which starts no process: the plugin that asks the
// model is warm with that key.
func TestTwoRunsAtOnce_NothingCrosses(t *testing.T) {
	w := newWorld(t)
	w.installPrying()
	w.provenFlags() // memory m, in team/a
	tenants := []tenant{{"a", nil}, {"b", nil}}
	var endpoints []string
	for i := range tenants {
		who := &tenants[i]
		replies := []llmtest.Reply{llmtest.Text("model of " + who.name), llmtest.Text("model of " + who.name)}
		if who.name == "a" {
			replies = append(replies, llmtest.Text(`{"pattern": "Do m like that."}`))
		}
		who.server = llmtest.New(t, replies...)
		endpoints = append(endpoints, strings.TrimPrefix(who.server.URL, "http://")+"="+who.keyEnv())
		w.env[who.keyEnv()] = who.key()
	}
	w.env["REFLECTORY_LLM_ENDPOINTS"] = strings.Join(endpoints, ",")
	w.env["REFLECTORY_SUMMARIES_MODEL"], w.env["REFLECTORY_SUMMARIES_URL"] = "small", tenants[0].server.URL+"/v1"
	w.env["REFLECTORY_SUMMARIES_KEY_ENV"] = tenants[0].keyEnv()
	h := w.openHost()

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	one, other := meeting(ctx)
	runs := make([]*operation.RunEnded, 2)
	var both sync.WaitGroup
	for i, meet := range []func(){one, other} {
		both.Go(func() {
			var err error
			if runs[i], err = tenants[i].start(ctx, h, meet); err != nil || runs[i].Status != core.StatusPassed {
				t.Errorf("the run of %s: %v, %s", tenants[i].name, err, jsontext.MustEncode(runs[i]))
				cancel()
			}
		})
	}
	both.Wait()
	if t.Failed() {
		return
	}
	for i, who := range tenants {
		who.checkPried(t, runs[i], tenants[1-i])
		who.checkSeen(t, h, runs[i].ID, runs[1-i].ID)
	}

	before := instances(t, h)
	pools := []string{"reflectory/llm-eval KEY_A", "reflectory/llm-eval KEY_B", "reflectory/schema-eval ", "test/prying "}
	if got := slices.Sorted(maps.Keys(before)); !slices.Equal(got, pools) || before[pools[0]] != 1 || before[pools[1]] != 1 {
		t.Errorf("the pools are %v", before)
	}
	w.promote(h, "m")
	after := instances(t, h)
	for _, pool := range pools[3:] { // of the two that asked at once, one may still be starting
		delete(before, pool)
		delete(after, pool)
	}
	if !maps.Equal(before, after) {
		t.Errorf("the summary started processes: %v, before %v", after, before)
	}
	asked := tenants[0].server.Requests()
	if last := asked[len(asked)-1]; len(asked) != 3 || last.Model != "small" || last.Header.Get("Authorization") != "Bearer "+tenants[0].key() {
		t.Errorf("%d requests, the last for model %s", len(asked), last.Model)
	}
}

// checkPried looks for the other tenant's secrets in what a tenant's run could see.
func (t tenant) checkPried(test *testing.T, run *operation.RunEnded, other tenant) {
	test.Helper()
	var result struct {
		Output pried `json:"output"`
	}
	if err := json.Unmarshal(run.Result, &result); err != nil {
		test.Fatal(err)
	}
	got := result.Output
	if got.Model != "model of "+t.name || !strings.Contains(string(got.State), `"owner":"`+t.name+`"`) {
		test.Errorf("%s got the answer %q, with the state %s", t.name, got.Model, got.State)
	}
	if !slices.ContainsFunc(got.Recalled, func(m sdk.RecalledMemory) bool { return m.Content == "A secret of "+t.name+"." }) {
		test.Errorf("%s recalled %+v", t.name, got.Recalled)
	}
	for _, m := range got.Recalled {
		if m.Namespace != "team/"+t.name {
			test.Errorf("%s recalled %s of %s", t.name, m.ID, m.Namespace)
		}
	}
	all := string(jsontext.MustEncode(run.Run)) + string(run.Result)
	for _, secret := range []string{t.key(), other.key(), "secret of " + other.name, "model of " + other.name, other.server.URL} {
		if strings.Contains(all, secret) {
			test.Errorf("the run of %s has %q", t.name, secret)
		}
	}
	for i, asked := range t.server.Requests() {
		if asked.Model != "model-"+t.name || asked.Header.Get("Authorization") != "Bearer "+t.key() {
			test.Errorf("request %d to the model of %s: model %s, %s", i, t.name, asked.Model, asked.Header.Get("Authorization"))
		}
	}
}

// checkSeen checks that a tenant finds its run, and not the other's.
func (t tenant) checkSeen(test *testing.T, h *host.Host, own, foreign string) {
	test.Helper()
	ctx := core.WithCaller(test.Context(), t.caller())
	out, err := operation.Do(ctx, operation.Call{Host: h}, "run_list", &operation.RunList{})
	if err != nil {
		test.Fatal(err)
	}
	if page := out.(*operation.Page[operation.RunSummary]); len(page.Items) != 1 || page.Items[0].RunID != own {
		test.Errorf("%s sees the runs %+v", t.name, page.Items)
	}
	if _, err := operation.Do(ctx, operation.Call{Host: h}, "run_get", &operation.RunGet{ID: foreign}); sdk.ReasonOf(err) != "run_not_found" {
		test.Errorf("%s asks for the other's run: %v", t.name, err)
	}
}

// promote makes the gate promote a memory that was proven.
func (w *world) promote(h *host.Host, id string) {
	w.t.Helper()
	upstream, code, trend := 1.0, 0.9, 0.8
	d, err := h.Memories.Gate.Revalidate(core.WithCaller(w.t.Context(), core.Operator("test")), id, memory.RevalidateRequest{Omega: policypoint.OmegaFactors{
		UpstreamStatus: &upstream, CodebaseVerification: &code, RuntimeUtilityTrend: &trend,
	}})
	if err != nil || d.NextAction != verdict.NextPromote {
		w.t.Fatalf("the gate: %v, %+v", err, d)
	}
}
