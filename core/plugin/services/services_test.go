package services_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/services"
	"github.com/reflectory/reflectory/sdk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// author is a plugin that asks a host: the context that its calls have.
func author(t *testing.T, h *services.Host, name string, granted ...plugin.Service) context.Context {
	t.Helper()
	return authorIn(t, &plugin.Scope{}, nil, h, name, granted...)
}

// authorIn is an author whose calls are made under a scope, through plugins.
func authorIn(t *testing.T, scope *plugin.Scope, plugins core.Plugins, h *services.Host, name string, granted ...plugin.Service) context.Context {
	t.Helper()
	p := &plugin.Installed{Name: name, Env: []string{"KEY=sesame-open"}, Granted: plugin.Capabilities{Host: granted}}
	return sdk.WithHost(plugin.WithScope(t.Context(), scope), sdk.HostFunc(func(ctx context.Context, s sdk.Service, body json.RawMessage) (json.RawMessage, error) {
		return plugin.Ask(ctx, h, p, plugin.ServiceRequest{Service: s, RunID: "run-1", Body: body, Plugins: plugins})
	}))
}

// completing is an author who asks the operator's model.
func completing(t *testing.T, h *services.Host, plugins core.Plugins) context.Context {
	t.Helper()
	return authorIn(t, &plugin.Scope{LLM: settings}, plugins, h, "judge", sdk.ServiceLLM)
}

func wantReason(t *testing.T, err error, code sdk.Code, reason string) {
	t.Helper()
	if sdk.CodeOf(err) != code || sdk.ReasonOf(err) != reason {
		t.Fatalf("got %s, %s (%v), want %s, %s", sdk.CodeOf(err), sdk.ReasonOf(err), err, code, reason)
	}
	if sdk.AsError(err).Hint == "" {
		t.Errorf("no hint: %v", err)
	}
}

func TestWhatWasNotGrantedIsRefused(t *testing.T) {
	ctx := author(t, services.New(services.Options{}), "acme/judge", sdk.ServiceCache)
	calls := map[sdk.Service]func() error{
		sdk.ServiceLog:    func() error { return sdk.Log(ctx, &sdk.LogRequest{}) },
		sdk.ServiceLLM:    func() error { _, err := sdk.Complete(ctx, &sdk.LLMRequest{}); return err },
		sdk.ServiceRecall: func() error { _, err := sdk.Recall(ctx, &sdk.RecallRequest{}); return err },
	}
	for service, call := range calls {
		err := call()
		wantReason(t, err, sdk.Denied, "capability_missing")
		if e := sdk.AsError(err); !strings.Contains(e.Message, "acme/judge was not granted host:"+string(service)) ||
			!strings.Contains(e.Hint, "grant it host:"+string(service)) {
			t.Errorf("%q, hint %q", e.Message, e.Hint)
		}
	}
	if _, _, err := sdk.CacheGet(ctx, "k"); err != nil {
		t.Errorf("what was granted is refused: %v", err)
	}
	_, err := sdk.HostFrom(ctx).Ask(ctx, "memory.recal", json.RawMessage(`{}`))
	wantReason(t, err, sdk.Invalid, "service_unknown")
	if hint := sdk.AsError(err).Hint; hint != `did you mean "memory.recall"?` {
		t.Errorf("hint %q", hint)
	}
	_, err = sdk.HostFrom(t.Context()).Ask(t.Context(), sdk.ServiceLog, nil)
	wantReason(t, err, sdk.Internal, "no_host")
}

func TestLogLinesAreTaggedRedactedAndLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []plugin.LogLine
		h := services.New(services.Options{Log: func(l plugin.LogLine) { lines = append(lines, l) }})
		ctx := author(t, h, "judge", sdk.ServiceLog)
		for i := range 150 {
			r := &sdk.LogRequest{Level: "warn", Message: fmt.Sprint("line ", i), Fields: map[string]any{"key": "sesame-open"}}
			if err := sdk.Log(ctx, r); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		if err := sdk.Log(ctx, &sdk.LogRequest{Level: "loud", Message: "sesame-open and " + strings.Repeat("é", plugin.MaxLogLine)}); err != nil {
			t.Fatal(err)
		}
		if len(lines) != plugin.LogLinesPerSecond+1 {
			t.Fatalf("%d lines", len(lines))
		}
		want := plugin.LogLine{Plugin: "judge", RunID: "run-1", Level: "warn", Message: "line 3", Fields: map[string]any{"key": "***"}}
		got := lines[3]
		got.Time = time.Time{}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		last := lines[len(lines)-1]
		if last.Dropped != 50 || last.Level != "info" || !strings.HasPrefix(last.Message, "*** and éé") || len(last.Message) > plugin.MaxLogLine+3 {
			t.Errorf("%d dropped, level %s, %d bytes: %.40s", last.Dropped, last.Level, len(last.Message), last.Message)
		}
	})
}

func TestLinesDroppedAtTheEndAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last plugin.LogLine
		h := services.New(services.Options{Log: func(l plugin.LogLine) { last = l }})
		ctx := author(t, h, "judge", sdk.ServiceLog)
		for range plugin.LogLinesPerSecond + 7 {
			if err := sdk.Log(ctx, &sdk.LogRequest{Message: "m"}); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if err := h.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if last.Dropped != 7 || last.Plugin != "judge" || last.Level != "warn" {
			t.Errorf("%+v", last)
		}
	})
}

func TestEachPluginHasItsOwnBoundedCache(t *testing.T) {
	h := services.New(services.Options{CacheBytes: 2000})
	a, b := author(t, h, "a", sdk.ServiceCache), author(t, h, "b", sdk.ServiceCache)
	get := func(ctx context.Context, key string) string {
		value, found, err := sdk.CacheGet(ctx, key)
		if err != nil || found != (value != nil) {
			t.Fatalf("%v, %s, %v", err, value, found)
		}
		return string(value)
	}
	put := func(ctx context.Context, key, value string) {
		if err := sdk.CachePut(ctx, key, json.RawMessage(value)); err != nil {
			t.Fatal(err)
		}
	}
	put(a, "k", `{"n":1}`)
	put(a, "k", `{"n":2}`)
	if get(a, "k") != `{"n":2}` || get(b, "k") != "" {
		t.Errorf("a has %s, b has %s", get(a, "k"), get(b, "k"))
	}
	big := `"` + strings.Repeat("x", 500) + `"`
	for i := range 4 { // of which two fit next to k
		put(a, fmt.Sprint(i), big)
		get(a, "k")
	}
	if get(a, "k") == "" || get(a, "0") != "" || get(a, "1") != "" || get(a, "2") == "" || get(a, "3") == "" {
		t.Error("not the least recently used ones are gone")
	}
	wantReason(t, sdk.CachePut(a, "k", json.RawMessage(`"`+strings.Repeat("x", 2000)+`"`)), sdk.Exhausted, "cache_value_too_large")
	if get(a, "k") == "" {
		t.Error("a value that doesn't fit took another's place")
	}
	wantReason(t, sdk.CachePut(a, "", json.RawMessage(`1`)), sdk.Invalid, "request_invalid")
	wantReason(t, sdk.CachePut(a, strings.Repeat("k", 257), json.RawMessage(`1`)), sdk.Invalid, "request_invalid")
	wantReason(t, sdk.CachePut(a, "k", nil), sdk.Invalid, "request_invalid")
	_, err := sdk.HostFrom(a).Ask(a, sdk.ServiceCache, json.RawMessage(`{"op":"clear","key":"k"}`))
	wantReason(t, err, sdk.Invalid, "request_invalid")
	_, err = sdk.HostFrom(a).Ask(a, sdk.ServiceCache, json.RawMessage(`[]`))
	wantReason(t, err, sdk.Invalid, "request_invalid")
}

func TestCache_IsOfItsScope(t *testing.T) {
	h := services.New(services.Options{})
	in := func(s *plugin.Scope) context.Context { return authorIn(t, s, nil, h, "judge", sdk.ServiceCache) }
	put := func(s *plugin.Scope) {
		t.Helper()
		if err := sdk.CachePut(in(s), "k", json.RawMessage(`1`)); err != nil {
			t.Fatal(err)
		}
	}
	has := func(s *plugin.Scope) bool {
		_, found, err := sdk.CacheGet(in(s), "k")
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	key := func(key string) map[string][]string { return map[string][]string{"llm-eval": {"KEY=" + key}} }
	put(&plugin.Scope{Namespace: "a", RunID: "run-1", LLM: settings, Env: key("1")})
	for name, tt := range map[string]struct {
		scope *plugin.Scope
		found bool
	}{
		"another run":       {&plugin.Scope{Namespace: "a", RunID: "run-2", LLM: settings, Env: key("1")}, true},
		"another namespace": {&plugin.Scope{Namespace: "b", RunID: "run-1", LLM: settings, Env: key("1")}, false},
		"another key":       {&plugin.Scope{Namespace: "a", RunID: "run-1", LLM: settings, Env: key("2")}, false},
		"another model":     {&plugin.Scope{Namespace: "a", RunID: "run-1", Env: key("1")}, false},
		"no scope":          {&plugin.Scope{}, false},
	} {
		if found := has(tt.scope); found != tt.found {
			t.Errorf("%s: found %v, want %v", name, found, tt.found)
		}
	}
	space := func(n int) *plugin.Scope { return &plugin.Scope{Namespace: fmt.Sprint("n", n)} }
	for n := range 33 { // one more than are kept
		put(space(n))
		if !has(space(0)) {
			t.Fatalf("the cache that is used most is gone after %d others", n)
		}
	}
	if has(space(1)) || !has(space(32)) {
		t.Error("the cache that was used least recently was kept, or the newest not")
	}
}

func TestTheCacheIsSafeForConcurrentUse(t *testing.T) {
	h := services.New(services.Options{CacheBytes: 5000})
	ctx := author(t, h, "a", sdk.ServiceCache)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 200 {
				key := fmt.Sprint((i + j) % 40)
				if err := sdk.CachePut(ctx, key, json.RawMessage(key)); err != nil {
					t.Error(err)
				}
				if value, found, err := sdk.CacheGet(ctx, key); err != nil || found && string(value) != key {
					t.Errorf("%s holds %s, %v", key, value, err)
				}
			}
		})
	}
	all.Wait()
}

// model is a generator behind llm.complete that notes what it is asked.
func model(got *core.Target, run *string, result sdk.GenerateResult) *coretest.Plugins {
	return &coretest.Plugins{GenerateFn: func(_ context.Context, t core.Target, reqs []*sdk.GenerateRequest) ([]sdk.GenerateResult, error) {
		*got, *run = t, reqs[0].RunID
		return []sdk.GenerateResult{result}, nil
	}}
}

var settings = core.Target{Plugin: "llm-eval", Config: json.RawMessage(`{"llm":{"base_url":"http://127.0.0.1:1"}}`)}

func TestACompletionGoesToTheOperatorsModel(t *testing.T) {
	var target core.Target
	var run string
	h := services.New(services.Options{})
	ctx := completing(t, h, model(&target, &run, sdk.GenerateResult{Response: &sdk.GenerateResponse{
		Output: json.RawMessage(`"three"`), Usage: sdk.Usage{TokensIn: 5, TokensOut: 1}, Metadata: map[string]string{"model": "m"},
	}}))
	r, err := sdk.Complete(ctx, &sdk.LLMRequest{Prompt: "how many?", MaxTokens: 9})
	if err != nil {
		t.Fatal(err)
	}
	if r.Text() != "three" || r.Usage.Tokens() != 6 || r.Metadata["model"] != "m" {
		t.Errorf("%+v", r)
	}
	if target.Plugin != "llm-eval" || run != "run-1" || target.Digest != core.Digest(target.Config) ||
		string(target.Config) != `{"llm":{"base_url":"http://127.0.0.1:1"},"max_tokens":9,"prompt":"how many?"}` {
		t.Errorf("asked %s of %s with digest %s", target.Config, run, target.Digest)
	}
}

func TestTheModelLeavesThePluginTimeToAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var target core.Target
		var run string
		h := services.New(services.Options{})
		answers := model(&target, &run, sdk.GenerateResult{Response: &sdk.GenerateResponse{Output: json.RawMessage(`1`)}})
		ctx, cancel := context.WithTimeout(completing(t, h, answers), time.Minute)
		defer cancel()
		if _, err := sdk.Complete(ctx, &sdk.LLMRequest{Prompt: "p"}); err != nil || target.Timeout != 54*time.Second {
			t.Errorf("%v, the model has %s", err, target.Timeout)
		}
	})
}

// A question is data: it can't bring another endpoint along.
func TestAQuestionCannotChooseTheEndpoint(t *testing.T) {
	var target core.Target
	var run string
	h := services.New(services.Options{})
	ctx := completing(t, h, model(&target, &run, sdk.GenerateResult{Response: &sdk.GenerateResponse{Output: json.RawMessage(`1`)}}))
	_, err := sdk.HostFrom(ctx).Ask(ctx, sdk.ServiceLLM, json.RawMessage(`{"prompt":"p","llm":{"base_url":"http://evil.example"},"model":"dear"}`))
	if err != nil {
		t.Fatal(err)
	}
	if string(target.Config) != `{"llm":{"base_url":"http://127.0.0.1:1"},"prompt":"p"}` {
		t.Errorf("asked %s", target.Config)
	}
}

func TestCompletionsThatCannotBe(t *testing.T) {
	failed := sdk.Errorf(sdk.Exhausted, "llm_reply_cut", "cut off").WithHint("raise max_tokens")
	var target core.Target
	var run string
	working := model(&target, &run, sdk.GenerateResult{Err: failed})
	tests := map[string]struct {
		llm     core.Target
		plugins core.Plugins
		asks    string
		code    sdk.Code
		reason  string
	}{
		"no endpoint":        {core.Target{}, working, "judge", sdk.Invalid, "llm_not_configured"},
		"no plugins":         {settings, nil, "judge", sdk.Invalid, "llm_not_configured"},
		"the model's plugin": {settings, working, "llm-eval", sdk.Denied, "service_recursion"},
		"the model fails":    {settings, working, "judge", sdk.Exhausted, "llm_reply_cut"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			ctx := authorIn(t, &plugin.Scope{LLM: tt.llm}, tt.plugins, services.New(services.Options{}), tt.asks, sdk.ServiceLLM)
			_, err := sdk.Complete(ctx, &sdk.LLMRequest{Prompt: "p"})
			wantReason(t, err, tt.code, tt.reason)
		})
	}
}

// recaller is a memory.
type recaller func(runID string, r *sdk.RecallRequest) (*sdk.RecallResponse, error)

func (f recaller) Recall(_ context.Context, runID string, r *sdk.RecallRequest) (*sdk.RecallResponse, error) {
	return f(runID, r)
}

func TestMemoriesAreThoseOfTheRun(t *testing.T) {
	_, err := sdk.Recall(author(t, services.New(services.Options{}), "judge", sdk.ServiceRecall), &sdk.RecallRequest{Query: "q"})
	wantReason(t, err, sdk.Unavailable, "memory_not_available")

	scope := &plugin.Scope{RunID: "run-2", Recall: recaller(func(runID string, r *sdk.RecallRequest) (*sdk.RecallResponse, error) {
		return &sdk.RecallResponse{Memories: []sdk.RecalledMemory{{ID: runID, Content: r.Query, Score: 0.5}}}, nil
	})}
	h := services.New(services.Options{})
	r, err := sdk.Recall(authorIn(t, scope, nil, h, "judge", sdk.ServiceRecall), &sdk.RecallRequest{Query: "q"})
	if err != nil || len(r.Memories) != 1 || r.Memories[0].ID != "run-2" || r.Memories[0].Content != "q" {
		t.Errorf("%v, %+v", err, r)
	}
}

func FuzzRequestsAreAnsweredOrRefused(f *testing.F) {
	f.Add("cache", []byte(`{"op":"put","key":"k","value":[1]}`))
	f.Add("llm.complete", []byte(`{"messages":[{"role":"user"}],"temperature":1e99}`))
	f.Add("log", []byte(`{"level":"info","message":"m","fields":{"a":{"b":[]}}}`))
	f.Add("memory.recall", []byte(`null`))
	f.Fuzz(func(t *testing.T, service string, body []byte) {
		var target core.Target
		var run string
		h := services.New(services.Options{CacheBytes: 1000})
		answers := model(&target, &run, sdk.GenerateResult{Response: &sdk.GenerateResponse{Output: json.RawMessage(`1`)}})
		ctx := plugin.WithScope(t.Context(), &plugin.Scope{LLM: settings})
		answer, err := h.Serve(ctx, plugin.ServiceRequest{Plugin: "p", Service: sdk.Service(service), Body: body, Plugins: answers})
		if err == nil && !json.Valid(answer) {
			t.Errorf("answered %q", answer)
		}
		if err != nil && sdk.CodeOf(err) == sdk.Internal {
			t.Error(err)
		}
	})
}
