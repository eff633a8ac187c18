package scaffold_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/services"
	"github.com/reflectory/reflectory/core/plugin/wasm"
	"github.com/reflectory/reflectory/sdk"
)

// host has the real cache and log, a model and a memory.
type host struct {
	*services.Host
	asked []string
}

func (h *host) Serve(ctx context.Context, r plugin.ServiceRequest) (json.RawMessage, error) {
	var body any
	if err := json.Unmarshal(r.Body, &body); err != nil {
		return nil, err
	}
	question, err := json.Marshal(body) // each language has its own escapes
	if err != nil {
		return nil, err
	}
	h.asked = append(h.asked, string(r.Service)+" "+string(question))
	switch {
	case string(question) == `{"prompt":"down"}`:
		return nil, sdk.Errorf(sdk.Unavailable, "llm_unavailable", "it \"sleeps\"").WithHint("wait").WithDetail("retry_after_ms", 7)
	case r.Service == sdk.ServiceLLM:
		return json.RawMessage(`{"output": "\"so\" it is\n\u2028"}`), nil
	case r.Service == sdk.ServiceRecall:
		return json.RawMessage(`{"memories": [{"title": "a"}, {"title": "b"}]}`), nil
	}
	return h.Host.Serve(ctx, r)
}

// The libraries in the templates can ask the host for each of its services, also several
// times within a call and in each item of a batch.
func TestTemplatesAskTheHost(t *testing.T) {
	for _, language := range []string{"c", "assemblyscript"} {
		t.Run(language, func(t *testing.T) {
			var lines []plugin.LogLine
			h := &host{Host: services.New(services.Options{})}
			asks := startAsks(t, language, sdk.Services(), wasm.Options{Services: h, Log: func(l plugin.LogLine) { lines = append(lines, l) }})
			results := asks(
				`{"ask": "complete", "with": "why \"so\"?\n"}`, `{"ask": "recall", "with": "é"}`, `{"ask": "get", "with": "k"}`,
				`{"ask": "put", "with": "k"}`, `{"ask": "get", "with": "k"}`, `{"ask": "log", "with": "look"}`, `{"ask": "complete", "with": "down"}`,
			)
			for i, want := range []string{`"\"so\" it is\n\u2028"`, `[{"title": "a"}, {"title": "b"}]`, `null`, `null`, `[1]`, `null`} {
				if results[i].Err != nil || !sameJSON(t, results[i].Response.Output, want) {
					t.Errorf("item %d: %+v, want %s", i, results[i], want)
				}
			}
			down := sdk.AsError(results[6].Err)
			if down.Code != sdk.Unavailable || down.Reason != "llm_unavailable" || down.Message != `it "sleeps"` || down.Hint != "the plugin says: wait" ||
				!maps.Equal(down.Details, map[string]any{"retry_after_ms": 7.0}) {
				t.Errorf("the model's error came as %s, %s, %q, %q, %v", down.Code, down.Reason, down.Message, down.Hint, down.Details)
			}
			if len(lines) != 1 || lines[0].Level != "warn" || lines[0].Message != "look" {
				t.Errorf("logged %+v", lines)
			}
			want := []string{
				`llm.complete {"prompt":"why \"so\"?\n"}`, `memory.recall {"limit":2,"query":"é"}`, `cache {"key":"k","op":"get"}`,
				`cache {"key":"k","op":"put","value":[1]}`, `cache {"key":"k","op":"get"}`, `llm.complete {"prompt":"down"}`,
			}
			if !slices.Equal(h.asked, want) {
				t.Errorf("asked for %q", h.asked)
			}
		})
	}
}

// The log alone needs no grant.
func TestTemplatesAskTheHost_WithinTheirGrants(t *testing.T) {
	for _, language := range []string{"c", "assemblyscript"} {
		h := &host{Host: services.New(services.Options{})}
		asks := startAsks(t, language, nil, wasm.Options{Services: h})
		for _, ask := range []string{"complete", "recall", "get", "put"} {
			if r := asks(`{"ask": "` + ask + `", "with": "x"}`)[0]; sdk.CodeOf(r.Err) != sdk.Denied || sdk.ReasonOf(r.Err) != "capability_missing" {
				t.Errorf("%s: %s: %+v", language, ask, r)
			}
		}
		if r := asks(`{"ask": "log", "with": "x"}`)[0]; r.Err != nil {
			t.Errorf("%s: log: %v", language, r.Err)
		}
	}
}

// startAsks starts testdata/asks in a language, and returns what generates from states.
func startAsks(t *testing.T, language string, granted []plugin.Service, o wasm.Options) func(states ...string) []sdk.GenerateResult {
	t.Helper()
	o.CacheDir = t.TempDir()
	driver, err := wasm.New(o)
	if err != nil {
		t.Fatal(err)
	}
	i, err := driver.Start(t.Context(), plugin.Installed{
		Name: "acme/asks", Runtime: plugin.RuntimeWASM, Path: filepath.Join("testdata", "asks", language+".wasm"),
		Granted: plugin.Capabilities{Host: granted},
		Limits:  plugin.Limits{StartTimeout: 1e12}, // a cold compilation under the race detector takes minutes
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Close(); err != nil {
			t.Error(err)
		}
		if err := driver.Close(); err != nil {
			t.Error(err)
		}
	})
	config := plugin.Config{JSON: json.RawMessage(`{}`), Digest: core.Digest(json.RawMessage(`{}`))}
	return func(states ...string) []sdk.GenerateResult {
		var reqs []*sdk.GenerateRequest
		for _, state := range states {
			reqs = append(reqs, &sdk.GenerateRequest{Call: sdk.Call{RunID: "r"}, State: json.RawMessage(state)})
		}
		results, err := i.Generate(t.Context(), config, reqs)
		if err != nil {
			t.Fatal(err)
		}
		return results
	}
}

// sameJSON reports whether two JSON values are the same, however they are written.
func sameJSON(t *testing.T, got json.RawMessage, want string) bool {
	t.Helper()
	var g, w any
	if err := errors.Join(json.Unmarshal(got, &g), json.Unmarshal([]byte(want), &w)); err != nil {
		t.Fatal(err)
	}
	return reflect.DeepEqual(g, w)
}
