package plugin_test

import (
	"context"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

func response(u sdk.Usage) sdk.EvaluateResult {
	return sdk.EvaluateResult{Response: &sdk.EvaluateResponse{Usage: u}}
}

// What services spend during a call is a part of that call's usage, once.
func TestServicesAreChargedToTheCallingRun(t *testing.T) {
	spent := sdk.Usage{TokensIn: 10, TokensOut: 1, CostUSD: 0.5}
	failed := func() sdk.EvaluateResult {
		return sdk.EvaluateResult{Err: sdk.Errorf(sdk.Invalid, "x", "no").WithDetail("usage", 3)}
	}
	tests := map[string]struct {
		results []sdk.EvaluateResult
		failed  error             // the whole call
		usage   map[int]sdk.Usage // by result; if there is none, the first error has it
	}{
		"one response": {
			results: []sdk.EvaluateResult{response(sdk.Usage{TokensIn: 5})},
			usage:   map[int]sdk.Usage{0: {TokensIn: 25, TokensOut: 2, CostUSD: 1}},
		},
		"the first of many": {
			results: []sdk.EvaluateResult{failed(), response(sdk.Usage{}), response(sdk.Usage{TokensOut: 7})},
			usage:   map[int]sdk.Usage{1: {TokensIn: 20, TokensOut: 2, CostUSD: 1}, 2: {TokensOut: 7}},
		},
		"no response": {results: []sdk.EvaluateResult{failed(), failed()}},
		"no result":   {failed: sdk.Errorf(sdk.Exhausted, "message_too_large", "too large")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := &driver{}
			d.callFn = func(ctx context.Context, _ *instance) error {
				plugin.Charge(ctx, spent)
				plugin.Charge(ctx, spent)
				return tt.failed
			}
			d.evaluateFn = func(context.Context, *instance, plugin.Config, []*sdk.EvaluateRequest) []sdk.EvaluateResult {
				return tt.results
			}
			supervise(t, d, plugin.Limits{}, func(t *testing.T, s *plugin.Supervisor) {
				results, err := s.Evaluate(t.Context(), core.Target{Plugin: "p"}, requests[sdk.EvaluateRequest](len(tt.results)))
				for i, want := range tt.usage {
					if got := results[i].Response.Usage; got != want {
						t.Errorf("result %d has %+v, want %+v", i, got, want)
					}
				}
				if len(results) > 0 && len(tt.usage) == 0 {
					err = results[0].Err
				}
				if (err != nil) != (len(tt.usage) == 0) || err != nil && sdk.AsError(err).Details["usage"] != spent.Add(spent) {
					t.Errorf("got %v with %v", err, sdk.AsError(err))
				}
			})
		})
	}
}

func TestACallThatIsMadeAgainPaysForBoth(t *testing.T) {
	d := &driver{}
	d.callFn = func(ctx context.Context, i *instance) error {
		plugin.Charge(ctx, sdk.Usage{TokensIn: 4})
		if i.n == 1 { // the host ends it, for a size
			i.end(sdk.Errorf(sdk.Exhausted, "message_too_large", "9 MB"))
			return i.exited()
		}
		return nil
	}
	d.evaluateFn = func(context.Context, *instance, plugin.Config, []*sdk.EvaluateRequest) []sdk.EvaluateResult {
		return []sdk.EvaluateResult{response(sdk.Usage{})}
	}
	supervise(t, d, plugin.Limits{}, func(t *testing.T, s *plugin.Supervisor) {
		results, err := s.Evaluate(t.Context(), core.Target{Plugin: "p", Timeout: time.Second}, []*sdk.EvaluateRequest{{}})
		if err != nil || results[0].Response.Usage.TokensIn != 8 {
			t.Errorf("%v, %+v", err, results)
		}
	})
}

// Nothing is charged where nobody asks.
func TestChargeOutsideACall(t *testing.T) { plugin.Charge(t.Context(), sdk.Usage{TokensIn: 1}) }
