package loop_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/loop"
	"github.com/reflectory/reflectory/sdk"
)

func TestAGeneratorIsAskedAgainWhenItsEndpointWantsToBeAsked(t *testing.T) {
	for name, c := range map[string]struct {
		millis any
		code   sdk.Code
		calls  int
		least  time.Duration // active time, as a whole
		most   time.Duration
	}{
		"it doesn't say":           {nil, sdk.Unavailable, 3, 300 * time.Millisecond, 600 * time.Millisecond},
		"in 5 s":                   {5000.0, sdk.Unavailable, 3, 10 * time.Second, 10 * time.Second},
		"sooner than a pause":      {1.0, sdk.Unavailable, 3, 300 * time.Millisecond, 600 * time.Millisecond},
		"later than anybody waits": {120_001.0, sdk.Unavailable, 1, 0, 0},
		"a deadline isn't passing": {nil, sdk.Timeout, 1, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				o := &loop.Options{
					Generator: sdk.GeneratorFunc(func(context.Context, *sdk.GenerateRequest) (*sdk.GenerateResponse, error) {
						calls++
						err := sdk.Errorf(c.code, "busy", "busy")
						if c.millis != nil {
							err.WithDetail(sdk.RetryAfterDetail, c.millis)
						}
						return nil, err
					}),
					Evaluator: says("any", true, 1).Evaluator, State: json.RawMessage(`{}`),
				}
				r, err := loop.Run(t.Context(), o)
				if sdk.ReasonOf(err) != "busy" || r.Status != core.StatusError || r.StopReason != core.StopGeneratorError || len(r.History) != 0 {
					t.Errorf("%s by %s after %d attempts: %v", r.Status, r.StopReason, len(r.History), err)
				}
				took := time.Duration(r.Usage.WallMillis) * time.Millisecond
				if calls != c.calls || took < c.least || took > c.most {
					t.Errorf("%d calls in %s", calls, took)
				}
			})
		})
	}
}
