package plugin_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
	tests := map[string]struct {
		results []sdk.EvaluateResult
		failed  error // the whole call
		usage   []sdk.Usage
		detail  int // the result whose error tells of it; -1 is the call's
	}{
		"one response":      {results: []sdk.EvaluateResult{response(sdk.Usage{TokensIn: 5})}, usage: []sdk.Usage{{TokensIn: 25, TokensOut: 2, CostUSD: 1}}},
		"the first of many": {results: []sdk.EvaluateResult{{Err: errors.New("no")}, response(sdk.Usage{}), response(sdk.Usage{TokensOut: 7})}, usage: []sdk.Usage{{}, {TokensIn: 20, TokensOut: 2, CostUSD: 1}, {TokensOut: 7}}},
		"no response":       {results: []sdk.EvaluateResult{{Err: sdk.Errorf(sdk.Invalid, "x", "no").WithDetail("usage", 3)}}, usage: []sdk.Usage{{}}, detail: 0},
		"no result":         {failed: sdk.Errorf(sdk.Exhausted, "message_too_large", "too large"), detail: -1},
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
				results, err := s.Evaluate(t.Context(), core.Target{Plugin: "p"}, make([]*sdk.EvaluateRequest, len(tt.results)))
				for i, want := range tt.usage {
					if r := results[i].Response; r != nil {
						if diff := cmp.Diff(want, r.Usage); diff != "" {
							t.Errorf("result %d: %s", i, diff)
						}
					}
				}
				carries := err
				if tt.failed == nil && results[0].Err != nil && tt.detail == 0 && len(results) == 1 {
					carries = results[0].Err
				}
				if carries != nil {
					if got := sdk.AsError(carries).Details["usage"]; got != spent.Add(spent) {
						t.Errorf("the error tells of %v", got)
					}
				}
				if (carries == nil) != (name == "one response" || name == "the first of many") {
					t.Errorf("error %v", carries)
				}
			})
		})
	}
}

func TestACallThatIsMadeAgainPaysForBoth(t *testing.T) {
	d := &driver{}
	d.callFn = func(ctx context.Context, i *instance) error {
		plugin.Charge(ctx, sdk.Usage{TokensIn: 4})
		if i.n == 1 {
			return i.crash("out of memory")
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
