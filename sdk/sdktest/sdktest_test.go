package sdktest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/sdktest"
)

// evaluate is the one function of the plugins here.
type evaluate = func(ctx context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error)

// limited is a correct plugin: it refuses texts that are longer than its config allows.
func limited() sdk.Plugin {
	return sdk.Plugin{
		Manifest: sdk.Manifest{
			Name: "limited", Version: "1.0.0", Parallel: 2,
			ConfigSchema: json.RawMessage(`{"type":"object","required":["max"],"properties":{"max":{"type":"integer"}},"additionalProperties":false}`),
		},
		Evaluator: func(_ context.Context, config json.RawMessage) (sdk.Evaluator, error) {
			var c struct {
				Max     int             `json:"max"`
				Unknown json.RawMessage `json:"sdktest_unknown"`
			}
			if err := json.Unmarshal(config, &c); err != nil || c.Max < 1 || c.Unknown != nil {
				return nil, sdk.Errorf(sdk.Invalid, "config_invalid", "max must be 1 or more, and nothing else")
			}
			return sdk.EvaluatorFunc(func(_ context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
				return judge(c.Max, req)
			}), nil
		},
	}
}

func judge(most int, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
	var text string
	if err := json.Unmarshal(req.Output, &text); err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "output_invalid", "the output is no text")
	}
	if len(text) <= most {
		return verdict(sdk.Verdict{Valid: true, Score: 1})
	}
	return verdict(sdk.Verdict{
		Score:  float64(most) / float64(len(text)),
		Errors: []sdk.Finding{{Message: fmt.Sprintf("%d bytes", len(text)), Code: "too_long", Path: ""}},
	})
}

func verdict(v sdk.Verdict) (*sdk.EvaluateResponse, error) {
	return &sdk.EvaluateResponse{Verdict: v}, nil
}

// with is the correct plugin with another way to judge.
func with(f evaluate) sdk.Plugin {
	p := limited()
	p.Evaluator = func(context.Context, json.RawMessage) (sdk.Evaluator, error) { return sdk.EvaluatorFunc(f), nil }
	p.Manifest.ConfigSchema = nil
	return p
}

// fixtures are the fixtures of the correct plugin.
func fixtures() fstest.MapFS {
	return fstest.MapFS{
		"tests/long.json":  {Data: []byte(`{"config":{"max":4},"request":{"output":"12345678"},"want":{"valid":false,"score":0.5,"errors":[{"code":"too_long"}]}}`)},
		"tests/short.json": {Data: []byte(`{"config":{"max":4},"request":{"output":"1234"},"want":{"valid":true,"score":1,"errors":[]}}`)},
		"tests/zero.json":  {Data: []byte(`{"config":{"max":0},"want":{"error":"config_invalid"}}`)},
		"tests/list.json":  {Data: []byte(`{"config":{"max":1},"request":{"output":[1]},"want":{"error":"output_invalid"}}`)},
	}
}

// check runs the kit in a synctest bubble, where a busy machine can't make a call late.
func check(t *testing.T, s sdktest.Subject, fixtures fstest.MapFS) (results map[string]sdktest.Result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { results = checkNow(t, s, fixtures) })
	return results
}

func checkNow(t *testing.T, s sdktest.Subject, fixtures fstest.MapFS) map[string]sdktest.Result {
	t.Helper()
	list, err := sdktest.Load(fixtures)
	if err != nil {
		t.Fatal(err)
	}
	results := map[string]sdktest.Result{}
	for _, r := range sdktest.Check(t.Context(), s, list, sdktest.Options{}) {
		if r.Rule == "" || r.Status == sdktest.Passed != (r.Detail == "") {
			t.Errorf("a result is incomplete: %+v", r)
		}
		results[r.Case] = r
	}
	return results
}

func TestASoundPluginPassesEveryCase(t *testing.T) {
	for name, r := range check(t, sdktest.InProcess(limited()), fixtures()) {
		if r.Status != sdktest.Passed && name != "restart" {
			t.Errorf("%s: %s: %s", name, r.Status, r.Detail)
		}
	}
	sdktest.Run(t, sdktest.InProcess(limited()), fixtures())
}

// broken is one fault, and the case that finds it.
type broken struct {
	finds  string
	plugin func() sdk.Plugin
}

func faults() map[string]broken {
	var calls atomic.Int64
	return map[string]broken{
		"no name": {"manifest", func() sdk.Plugin { p := limited(); p.Manifest.Name = "No Name"; return p }},
		"a schema that is no object": {"manifest", func() sdk.Plugin {
			p := limited()
			p.Manifest.ConfigSchema = json.RawMessage(`"any"`)
			return p
		}},
		"no config is good": {"config/taken", func() sdk.Plugin {
			p := limited()
			p.Evaluator = func(context.Context, json.RawMessage) (sdk.Evaluator, error) { return nil, errors.New("no") }
			return p
		}},
		"any config is good": {"config/refused", func() sdk.Plugin {
			p := with(func(_ context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) { return judge(4, req) })
			p.Manifest.ConfigSchema = limited().Manifest.ConfigSchema
			return p
		}},
		"another verdict": {"tests/long.json", func() sdk.Plugin {
			return with(func(_ context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) { return judge(7, req) })
		}},
		"a score over 1": {"answer", func() sdk.Plugin {
			return with(func(context.Context, *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
				return verdict(sdk.Verdict{Score: 80})
			})
		}},
		"a score that is no number": {"answer", func() sdk.Plugin {
			return with(func(context.Context, *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
				return verdict(sdk.Verdict{Score: math.NaN()})
			})
		}},
		"an output that is no JSON": {"answer", func() sdk.Plugin {
			return with(func(context.Context, *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
				return verdict(sdk.Verdict{Output: json.RawMessage("{")})
			})
		}},
		"a finding without a message": {"answer", func() sdk.Plugin {
			return with(func(context.Context, *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
				return verdict(sdk.Verdict{Errors: []sdk.Finding{{Code: "x"}}})
			})
		}},
		"another score each time": {"same", func() sdk.Plugin {
			return with(func(context.Context, *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
				return verdict(sdk.Verdict{Score: 1 / float64(calls.Add(1))})
			})
		}},
		"a key only once": {"key", func() sdk.Plugin {
			var seen sync.Map
			return with(func(_ context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
				if _, again := seen.LoadOrStore(req.IdempotencyKey, true); req.IdempotencyKey != "" && again {
					return nil, sdk.Errorf(sdk.Conflict, "seen", "this key was used")
				}
				return judge(4, req)
			})
		}},
		"a batch in another order": {"batch", func() sdk.Plugin {
			p := limited()
			p.Evaluator = func(context.Context, json.RawMessage) (sdk.Evaluator, error) { return backwards{}, nil }
			return p
		}},
		"a shared variable": {"parallel", func() sdk.Plugin {
			var busy atomic.Bool
			return with(func(_ context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
				if busy.Swap(true) {
					return nil, sdk.Errorf(sdk.Internal, "busy", "two calls at a time")
				}
				<-time.After(time.Millisecond)
				busy.Store(false)
				return judge(4, req)
			})
		}},
		"unknown keys of the state": {"state", func() sdk.Plugin {
			return with(func(_ context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
				if strings.Contains(string(req.State), "reflection_sdktest") {
					return nil, sdk.Errorf(sdk.Invalid, "state_invalid", "an unknown key")
				}
				return judge(4, req)
			})
		}},
		"a panic without text":   {"input/empty", panics(func(s string) bool { return s == `""` })},
		"a panic on a surrogate": {"input/text", panics(func(s string) bool { return strings.Contains(s, "ud800") })},
		"a panic on a number":    {"input/number", panics(func(s string) bool { return strings.HasPrefix(s, "1e308") })},
		"a panic when deep":      {"input/deep", panics(func(s string) bool { return strings.HasPrefix(s, "[[[") })},
		"a panic when large":     {"input/large", panics(func(s string) bool { return len(s) > 1<<20 })},
		"work after the cancellation": {"cancel", func() sdk.Plugin {
			return with(func(ctx context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
				if _, bounded := ctx.Deadline(); !bounded {
					<-time.After(2100 * time.Millisecond)
				}
				return judge(4, req)
			})
		}},
		"too many configs": {"forgotten", func() sdk.Plugin {
			p, prepared := limited(), 0
			whole := p.Evaluator
			p.Evaluator = func(ctx context.Context, config json.RawMessage) (sdk.Evaluator, error) {
				if prepared++; prepared > 50 {
					return nil, sdk.Errorf(sdk.Exhausted, "full", "no more configs")
				}
				return whole(ctx, config)
			}
			return p
		}},
	}
}

func panics(when func(output string) bool) func() sdk.Plugin {
	return func() sdk.Plugin {
		return with(func(_ context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
			if when(string(req.Output)) {
				panic("not this one")
			}
			return judge(4, req)
		})
	}
}

// backwards judges single outputs correctly and a batch in the wrong order.
type backwards struct{}

func (backwards) Evaluate(_ context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
	return judge(4, req)
}

func (backwards) EvaluateBatch(ctx context.Context, reqs []*sdk.EvaluateRequest) []sdk.EvaluateResult {
	results := make([]sdk.EvaluateResult, len(reqs))
	for i, req := range reqs {
		results[len(reqs)-1-i].Response, _ = judge(4, req)
	}
	if len(reqs) > 1 { // the copies at the end are as the first
		results[0].Response, _ = verdict(sdk.Verdict{})
	}
	return results
}

func TestEachFaultIsFoundByItsCase(t *testing.T) {
	for name, fault := range faults() {
		t.Run(name, func(t *testing.T) {
			r := check(t, sdktest.InProcess(fault.plugin()), fixtures())[fault.finds]
			if r.Status != sdktest.Failed {
				t.Errorf("%s ended as %q: %s", fault.finds, r.Status, r.Detail)
			}
		})
	}
}
