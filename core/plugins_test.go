package core_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/sdk"
)

// reply is what a fake plugin answers, and single calls it once through the
// adapter of each kind.
type reply struct {
	results int
	empty   bool
	itemErr error
	callErr error
}

func (r reply) plugins(t *testing.T, want core.Target) *coretest.Plugins {
	check := func(got core.Target, requests int) {
		t.Helper()
		if got.Plugin != want.Plugin || string(got.Config) != string(want.Config) || got.Digest != want.Digest || got.Timeout != want.Timeout {
			t.Errorf("target = %+v, want %+v", got, want)
		}
		if requests != 1 {
			t.Errorf("%d requests, want 1", requests)
		}
	}
	return &coretest.Plugins{
		EvaluateFn: func(_ context.Context, target core.Target, reqs []*sdk.EvaluateRequest) ([]sdk.EvaluateResult, error) {
			check(target, len(reqs))
			results := make([]sdk.EvaluateResult, r.results)
			for i := range results {
				results[i].Err = r.itemErr
				if !r.empty {
					results[i].Response = &sdk.EvaluateResponse{Verdict: sdk.Verdict{Feedback: "seen " + string(reqs[0].Output)}}
				}
			}
			return results, r.callErr
		},
		GenerateFn: func(_ context.Context, target core.Target, reqs []*sdk.GenerateRequest) ([]sdk.GenerateResult, error) {
			check(target, len(reqs))
			results := make([]sdk.GenerateResult, r.results)
			for i := range results {
				results[i].Err = r.itemErr
				if !r.empty {
					results[i].Response = &sdk.GenerateResponse{Output: reqs[0].State}
				}
			}
			return results, r.callErr
		},
		CorrectFn: func(_ context.Context, target core.Target, reqs []*sdk.CorrectRequest) ([]sdk.CorrectResult, error) {
			check(target, len(reqs))
			results := make([]sdk.CorrectResult, r.results)
			for i := range results {
				results[i].Err = r.itemErr
				if !r.empty {
					results[i].Response = &sdk.CorrectResponse{Output: reqs[0].Output}
				}
			}
			return results, r.callErr
		},
	}
}

func TestPluginAdapters(t *testing.T) {
	boom := errors.New("boom")
	tests := map[string]struct {
		reply  reply
		want   string // the output that comes back
		reason string
		is     error
	}{
		"a response":          {reply: reply{results: 1}, want: `{"a":1}`},
		"an item's error":     {reply: reply{results: 1, empty: true, itemErr: boom}, reason: "internal", is: boom},
		"the call's error":    {reply: reply{callErr: boom}, reason: "internal", is: boom},
		"no result":           {reply: reply{}, reason: "response_invalid"},
		"too many results":    {reply: reply{results: 2}, reason: "response_invalid"},
		"a result of nothing": {reply: reply{results: 1, empty: true}, reason: "response_invalid"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			plugins := tt.reply.plugins(t, core.Target{Plugin: "p", Config: json.RawMessage(`{}`), Digest: core.Digest(json.RawMessage(`{}`)), Timeout: 5})
			target := core.Target{Plugin: "p", Timeout: 5}
			value := json.RawMessage(`{"a":1}`)
			check := func(kind sdk.Kind, got string, err error) {
				t.Helper()
				if got != tt.want || sdk.ReasonOf(err) != tt.reason || tt.is != nil && !errors.Is(err, tt.is) {
					t.Errorf("%s: got %q, %v (%s); want %q, %s", kind, got, err, sdk.ReasonOf(err), tt.want, tt.reason)
				}
			}

			evaluated, err := core.PluginEvaluator(plugins, target).Evaluate(t.Context(), &sdk.EvaluateRequest{Output: value})
			var got string
			if evaluated != nil {
				got = evaluated.Verdict.Feedback[len("seen "):]
			}
			check(sdk.KindEvaluator, got, err)

			generated, err := core.PluginGenerator(plugins, target).Generate(t.Context(), &sdk.GenerateRequest{State: value})
			got = ""
			if generated != nil {
				got = string(generated.Output)
			}
			check(sdk.KindGenerator, got, err)

			corrected, err := core.PluginCorrector(plugins, target).Correct(t.Context(), &sdk.CorrectRequest{Output: value})
			got = ""
			if corrected != nil {
				got = string(corrected.Output)
			}
			check(sdk.KindCorrector, got, err)
		})
	}
}

func TestTargetWithDigest(t *testing.T) {
	config := json.RawMessage(`{"schema":{}}`)
	tests := map[string]struct{ give, want core.Target }{
		"absent config is an empty object":    {core.Target{}, core.Target{Config: json.RawMessage(`{}`), Digest: core.Digest(json.RawMessage(`{}`))}},
		"a digest of nothing is not believed": {core.Target{Digest: "sha256:x"}, core.Target{Config: json.RawMessage(`{}`), Digest: core.Digest(json.RawMessage(`{}`))}},
		"a config is digested":                {core.Target{Config: config}, core.Target{Config: config, Digest: core.Digest(config)}},
		"a given digest stands":               {core.Target{Config: config, Digest: "sha256:x"}, core.Target{Config: config, Digest: "sha256:x"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := tt.give.WithDigest()
			if string(got.Config) != string(tt.want.Config) || got.Digest != tt.want.Digest {
				t.Errorf("got %s %s, want %s %s", got.Config, got.Digest, tt.want.Config, tt.want.Digest)
			}
		})
	}
}
