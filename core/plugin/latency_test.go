package plugin_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

// TestSupervisor_RemembersLatencies: of the last hour, by two minutes, in all environments, with
// those that failed by themselves.
func TestSupervisor_RemembersLatencies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		takes, fails := time.Millisecond, error(nil)
		d := &driver{callFn: func(context.Context, *instance) error {
			time.Sleep(takes)
			return fails
		}}
		s := plugin.NewSupervisor(plugin.Options{Installed: []plugin.Installed{{Name: "p"}}, Driver: d})
		defer s.Close()
		evaluate := func(times int) {
			for range times {
				_, _ = s.Evaluate(t.Context(), core.Target{Plugin: "p"}, []*sdk.EvaluateRequest{{}})
			}
		}
		read := func() *plugin.Latency { return s.Status()[0].Latency }
		if got := read(); got != nil {
			t.Fatalf("before the first call: %+v", got)
		}
		time.Sleep(30 * time.Minute)
		evaluate(98)
		takes = 5 * time.Second
		evaluate(2)
		fails = sdk.Errorf(sdk.Unavailable, "down", "down")
		evaluate(3)
		l := read()
		if l.Calls != 100 || l.Failed != 3 || l.P50Micros < 1000 || l.P50Micros > 1190 || l.P99Micros < 5_000_000 || l.P99Micros > 5_950_000 {
			t.Errorf("%+v", l)
		}
		last := l.Columns[len(l.Columns)-1]
		if len(l.Columns) != 30 || l.StepSeconds != 120 || last.Failed != 3 || last.Calls[0] != 98 || last.Calls[len(last.Calls)-1] != 2 || len(last.Calls) != len(l.BoundsMicros) {
			t.Errorf("%+v of %v", last, l.BoundsMicros)
		}
		if first := l.BoundsMicros[0]; first < 1000 || first > 2000 {
			t.Errorf("the first row goes up to %d µs", first)
		}
		fails = nil
		time.Sleep(40 * time.Minute)
		evaluate(1)
		if l := read(); l.Calls != 101 || l.Columns[9].Calls[0]+l.Columns[8].Calls[0] != 98 {
			t.Errorf("after 40 minutes: %+v", l)
		}
		time.Sleep(30 * time.Minute)
		if l := read(); l.Calls != 1 || l.Failed != 0 {
			t.Errorf("after 70 minutes: %+v", l)
		}
		time.Sleep(time.Hour)
		if l := read(); l != nil {
			t.Errorf("after two hours: %+v", l)
		}
	})
}
